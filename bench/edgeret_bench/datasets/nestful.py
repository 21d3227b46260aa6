"""NESTFUL: sequences of calls in which later ones take earlier ones' outputs.

`$var_1.result$` is that of the call labelled `$var_1`. Every record brings its own functions; here they make one set.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret_bench.datasets.collect import UNREADABLE, Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_lines, read_parquet
from edgeret_bench.datasets.plans import BACKWARDS, refer
from edgeret_bench.datasets.schema import make_object

_REFERENCE = re.compile(r"\$(var_?\d+)(?:\.[^$]*)?\$")
_ENDINGS = ("parquet", "jsonl")


def read(folder: Path) -> Dataset:
    """Every `*.parquet` and `*.jsonl` of the folder, as on the hub and in the repository. Raises InputError."""
    collector = Collector("nestful")
    files = sorted(file for file in folder.rglob("*") if file.suffix[1:] in _ENDINGS and file.is_file())
    if not files:
        raise InputError(f"{folder}: no file of NESTFUL's records in it ({', '.join(_ENDINGS)})")
    records = [record for file in files for record in _records(file)]
    for record in records:
        with collector.record():
            for tool in _list(record, "tools"):
                with collector.record():
                    properties = {name: _kind(about) for name, about in field(tool, dict, "parameters").items()}
                    about = str(tool.get("description") or "")
                    collector.tool(field(tool, str, "name"), about, make_object(properties, properties))
    for number, record in enumerate(records):
        with collector.record():
            _plan(collector, number, record)
    return collector.dataset()


def _plan(collector: Collector, number: int, record: Any) -> None:
    calls: list[tuple[str, dict[str, Any]]] = []
    links: set[tuple[int, int]] = set()
    owner: dict[str, int] = {}

    def find(label: str) -> int:
        if label not in owner:
            raise DirtyError(BACKWARDS)
        return owner[label]

    for step in _list(record, "output"):
        name = field(step, str, "name")
        arguments, sources = refer(field(step, dict, "arguments"), _REFERENCE, find)
        links |= {(i, len(calls)) for i in sources}
        owner[str(step.get("label", "")).strip("$")] = len(calls)
        calls.append((name, arguments))
    collector.plan(str(record.get("sample_id", f"n{number}")), field(record, str, "input"), calls, sorted(links))


def _records(file: Path) -> list[Any]:
    return read_parquet(file) if file.suffix == ".parquet" else list(read_lines(file, "NESTFUL's records"))


def _list(record: Any, name: str) -> list[Any]:
    """A list, which the hub's release has as a string."""
    found = field(record, list | str, name)
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            raise DirtyError(UNREADABLE) from None
    if not isinstance(found, list):
        raise DirtyError(f'"{name}" of a record is no list')
    return found


def _kind(about: Any) -> Any:
    """A parameter's schema. Of several kinds, "int or float" is a number, and all others are left open."""
    kind = about.get("type") if isinstance(about, dict) else None
    if not isinstance(kind, str) or " or " not in kind:
        return about
    numbers = set(kind.split(" or ")) <= {"int", "integer", "float"}
    return {**about, "type": "number" if numbers else None}
