"""Seal-Tools: plans with variables. Every output of a call is a variable `API_call_k`, with k over the whole plan."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret_bench.datasets.collect import Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_lines
from edgeret_bench.datasets.plans import BACKWARDS, refer
from edgeret_bench.datasets.schema import make_object

_VARIABLE = re.compile(r"\b(API_call_\d+)\b")
SPLITS = ("train", "dev", "test_in_domain", "test_out_domain")


def read(folder: Path) -> Dataset:
    """`tool.jsonl` and those of the splits that are there, in the new form or the old one. Raises InputError."""
    collector = Collector("seal-tools")
    for record in read_lines(folder / "tool.jsonl", "Seal-Tools' tools"):
        with collector.record():
            properties = field(record, dict, "parameters")
            required = record.get("required")
            schema = make_object(properties, required if isinstance(required, list) else ())
            collector.tool(field(record, str, "api_name"), field(record, str, "api_description"), schema)
    files = [folder / f"{split}.jsonl" for split in SPLITS if (folder / f"{split}.jsonl").is_file()]
    if not files:
        raise InputError(f"{folder}: none of Seal-Tools' splits in it ({', '.join(SPLITS)}, each as .jsonl)")
    for file in files:
        for number, record in enumerate(read_lines(file, "Seal-Tools' plans")):
            with collector.record():
                _plan(collector, f"{file.stem}-{number}", record)
    return collector.dataset()


def _plan(collector: Collector, identity: str, record: Any) -> None:
    match record:
        case [list(written), str(query)]:
            pass
        case {"query": str(query), "calling": list(written)}:
            identity = str(record.get("id", identity))
        case _:
            raise DirtyError("a record of neither of the two forms")
    owner: dict[str, int] = {}

    def find(variable: str) -> int:
        if variable not in owner:
            raise DirtyError(BACKWARDS)
        return owner[variable]

    calls: list[tuple[str, dict[str, Any]]] = []
    links: set[tuple[int, int]] = set()
    for position, entry in enumerate(written):
        arguments, sources = refer(field(entry, dict, "parameters"), _VARIABLE, find)
        links |= {(i, position) for i in sources}
        calls.append((field(entry, str, "api").strip(), arguments))
        owner.update((name, position) for name in entry.get("responses") or [] if isinstance(name, str))
    collector.plan(identity, query, calls, sorted(links))
