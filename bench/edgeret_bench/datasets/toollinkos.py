"""ToolLinkOS (Graph RAG-Tool Fusion): requests with the one tool that answers, and all tools that it depends on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeret_bench.datasets.collect import Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_list
from edgeret_bench.datasets.schema import make_object

FILES = ("core_tools.json", "regular_tools.json", "instances.json")


def read(folder: Path) -> Dataset:
    """`core_tools.json`, `regular_tools.json` and `instances.json`. What depends on what is not read: a query lists all
    of it. Raises InputError."""
    collector = Collector("toollinkos")
    for file in FILES[:2]:
        for record in read_list(folder / file, "ToolLinkOS' tools"):
            with collector.record():
                _tool(collector, record)
    for number, record in enumerate(read_list(folder / FILES[2], "ToolLinkOS' requests")):
        with collector.record():
            names = [name.strip() for name in field(record, list, "golden_function_names") if isinstance(name, str)]
            if not names:
                raise DirtyError('"golden_function_names" of a record is empty')
            collector.query(f"tl{number}", field(record, str, "user_query"), names)
    return collector.dataset()


def _tool(collector: Collector, record: Any) -> None:
    given = record.get("parameters") if isinstance(record, dict) else None
    listed = [p for p in given or [] if isinstance(p, dict) and isinstance(p.get("name"), str)]
    schema = make_object({p["name"]: p for p in listed}, [p["name"] for p in listed if p.get("required") is True])
    collector.tool(field(record, str, "name"), field(record, str, "description"), schema)
