"""MCPToolBench++: requests of six domains with the tools of their MCP servers, and the call that is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeret_bench.datasets.collect import Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_list
from edgeret_bench.datasets.schema import object_of

FILES = (
    "browser/browser_0724_single_v3.json",
    "file_system/filesystem_0723_single.json",
    "search/search_0725_single_v2.json",
    "map/map_0717_single_multi_lang_500.json",
    "pay/pay_0723_single.json",
    "finance/finance_0724_single_v3.json",
)


def read(folder: Path) -> Dataset:
    """The files of the six domains. Every request becomes a demonstration, in which calls are a chain by their steps,
    and a query. Raises InputError."""
    collector = Collector("mcptoolbench")
    records = {file: read_list(folder / file, "MCPToolBench++'s requests") for file in FILES}
    for record in (record for listed in records.values() for record in listed):
        with collector.record():
            for tool in field(record, list, "tools"):
                with collector.record():
                    _tool(collector, tool)
    for file, listed in records.items():
        for number, record in enumerate(listed):
            with collector.record():
                _request(collector, f"{file.partition('/')[0]}-{number}", record)
    return collector.dataset()


def _tool(collector: Collector, tool: Any) -> None:
    name, about = field(tool, str, "name"), str(tool.get("description") or "")
    collector.tool(name, about, object_of(tool.get("input_schema")))


def _request(collector: Collector, identity: str, record: Any) -> None:
    """Tools that a call names as similar are not read: they would do as well, and no format of ours says "or"."""
    labels = field(record, list, "function_call_label")
    if not labels:
        raise DirtyError('"function_call_label" of a record is empty')
    calls = [(field(label, str, "name").strip(), field(label, dict, "input")) for label in sorted(labels, key=_step)]
    query = field(record, str, "query")
    collector.plan(identity, query, calls)
    collector.query(identity, query, [name for name, _ in calls])


def _step(label: Any) -> int:
    """A step's number; what has none comes first."""
    number = str(label.get("step")) if isinstance(label, dict) else ""
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
