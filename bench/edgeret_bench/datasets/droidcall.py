"""DroidCall: requests to a phone with the calls of Android's functions that serve them. What an earlier call gave is
written `#0`, by that call's id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret_bench.datasets.collect import Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_lines
from edgeret_bench.datasets.plans import BACKWARDS, refer
from edgeret_bench.datasets.schema import make_object

FUNCTIONS, SPLITS = "annotated_api.jsonl", ("train", "test")
_OUTPUT = re.compile(r"^#(\d{1,9})$")
_OPTIONAL = re.compile(r"Optional\[(.*)\]")
_LIST = re.compile(r"list\[(\w+)\]", re.IGNORECASE)


def read(folder: Path) -> Dataset:
    """`annotated_api.jsonl` and those of `DroidCall_train.jsonl` and `DroidCall_test.jsonl` that are there; plans are
    called by their split. Raises InputError."""
    collector = Collector("droidcall")
    for record in read_lines(folder / FUNCTIONS, "DroidCall's functions"):
        with collector.record():
            _tool(collector, record)
    files = {split: folder / f"DroidCall_{split}.jsonl" for split in SPLITS}
    found = {split: file for split, file in files.items() if file.is_file()}
    if not found:
        raise InputError(f"{folder}: neither of DroidCall's splits in it ({', '.join(f.name for f in files.values())})")
    for split, file in found.items():
        for number, record in enumerate(read_lines(file, "DroidCall's requests")):
            with collector.record():
                _plan(collector, f"{split}-{number}", record)
    return collector.dataset()


def _tool(collector: Collector, record: Any) -> None:
    given = field(record, dict, "arguments")
    required = [name for name, spec in given.items() if isinstance(spec, Mapping) and spec.get("required") is True]
    parameters = make_object({name: _schema(spec) for name, spec in given.items()}, required)
    collector.tool(field(record, str, "name"), str(record.get("description") or ""), parameters)


def _schema(spec: Any) -> Any:
    """A parameter in the way that other originals describe theirs: Python's types and a default that may be None."""
    if not isinstance(spec, Mapping):
        return spec
    kind = str(spec.get("type", ""))
    if match := _OPTIONAL.fullmatch(kind.strip()):
        kind = match[1]
    found = {key: value for key, value in spec.items() if key != "default" or value is not None} | {"type": kind}
    return found | {"items": match[1]} if (match := _LIST.fullmatch(kind.strip())) else found


def _plan(collector: Collector, identity: str, record: Any) -> None:
    """Calls that take nothing of each other are free in order."""
    calls: list[tuple[str, dict[str, Any]]] = []
    links: set[tuple[int, int]] = set()
    places: dict[int, int] = {}

    def find(number: str) -> int:
        if int(number) not in places:
            raise DirtyError(BACKWARDS)
        return places[int(number)]

    for place, answer in enumerate(field(record, list, "answers")):
        arguments, sources = refer(field(answer, dict, "arguments"), _OUTPUT, find)
        links |= {(source, place) for source in sources}
        calls.append((field(answer, str, "name"), {k: v for k, v in arguments.items() if v is not None}))
        number = answer.get("id")
        places[number if isinstance(number, int) else place] = place
    collector.plan(identity, field(record, str, "query"), calls, sorted(links))
