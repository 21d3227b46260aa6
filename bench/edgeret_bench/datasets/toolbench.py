"""ToolBench: queries with the web APIs that are relevant. A tool is a pair (tool_name, api_name)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret_bench.datasets.collect import Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_list
from edgeret_bench.datasets.schema import make_object


def read(folder: Path) -> Dataset:
    """Every `G*.json` of the folder, in the form of `G1_query.json` and of the test instructions. Raises InputError."""
    collector = Collector("toolbench")
    files = sorted(folder.glob("G*.json"))
    if not files:
        raise InputError(f"{folder}: no G*.json in it; expected ToolBench's queries, such as G1_instruction.json")
    records = {file.stem: read_list(file, "ToolBench's queries") for file in files}
    for record in (record for listed in records.values() for record in listed):
        with collector.record():
            for api in field(record, list, "api_list"):
                _tool(collector, api)
    for stem, listed in records.items():
        for number, record in enumerate(listed):
            with collector.record():
                pairs = field(record, list, "relevant APIs")
                if not pairs:
                    raise DirtyError('"relevant APIs" of a record is empty')
                identity = f"{stem}-{record.get('query_id', number)}"
                collector.query(identity, field(record, str, "query"), [_pair(pair) for pair in pairs])
    return collector.dataset()


def _tool(collector: Collector, api: Any) -> None:
    tool, name = field(api, str, "tool_name"), field(api, str, "api_name")
    description = api.get("api_description")
    if not isinstance(description, str) or not description.strip():
        description = f"{name} of {tool} ({api.get('category_name', 'no category')})"
    needed, free = (
        [p for p in api.get(key) or [] if isinstance(p, dict) and isinstance(p.get("name"), str)]
        for key in ("required_parameters", "optional_parameters")
    )
    properties = {p["name"]: {"type": p.get("type"), "description": p.get("description")} for p in [*free, *needed]}
    collector.tool(_name(tool, name), description, make_object(properties, [p["name"] for p in needed]))


def _pair(pair: Any) -> str:
    match pair:
        case [str(tool), str(name)]:
            return _name(tool, name)
    raise DirtyError('"relevant APIs" of a record holds something else than pairs of names')


def _name(tool: str, api: str) -> str:
    return f"{tool.strip()}: {api.strip()}"
