"""ACEBench, English: requests with functions of their own, which make one set here, and with the calls that are right.

A function that is called more than once has numbers behind its name in the answers, `name_1`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from edgeret_bench.datasets.collect import UNREADABLE, Collector, Dataset, DirtyError, field
from edgeret_bench.datasets.files import read_lines
from edgeret_bench.datasets.schema import object_of

_ATOMS = ("bool", "enum", "list", "number", "object_deep", "object_short")
NORMAL = (
    *(f"normal_atom_{kind}" for kind in _ATOMS),
    "normal_multi_turn_user_adjust",
    "normal_multi_turn_user_switch",
    "normal_similar_api",
    "normal_single_turn_parallel_function",
    "normal_single_turn_single_function",
)
IRRELEVANT = "special_irrelevant"
_SPEAKER = re.compile(r"^(user|system):", re.MULTILINE)
_NUMBER = re.compile(r"_\d+$")


def read(folder: Path) -> Dataset:
    """Categories whose answers are calls, as demonstrations. Calls of one answer are free in order.

    Raises InputError."""
    collector = Collector("acebench")
    entries = {category: _entries(folder, category, collector) for category in NORMAL}
    for category, listed in entries.items():
        file = folder / "possible_answer" / f"data_{category}.json"
        answers = {a.get("id"): a for a in read_lines(file, "ACEBench's answers") if isinstance(a, dict)}
        for entry in listed:
            with collector.record():
                identity = field(entry, str, "id")
                own = [f.get("name") for f in field(entry, list, "function") if isinstance(f, dict)]
                truth = field(answers.get(identity), dict, "ground_truth")
                calls = [(_name(key, own), _arguments(values)) for key, values in truth.items()]
                collector.plan(identity, _said(field(entry, str, "question")), calls, ())
    return collector.dataset()


def read_irrelevant(folder: Path) -> Dataset:
    """Requests that none of their own functions fits, as queries without tools. Raises InputError."""
    collector = Collector("acebench-irrelevant")
    for entry in _entries(folder, IRRELEVANT, collector):
        with collector.record():
            collector.query(field(entry, str, "id"), _said(field(entry, str, "question")), ())
    return collector.dataset()


def _entries(folder: Path, category: str, collector: Collector) -> list[Any]:
    """A category's entries, after their functions were added."""
    entries = list(read_lines(folder / f"data_{category}.json", "ACEBench's entries"))
    for entry in entries:
        with collector.record():
            for function in field(entry, list, "function"):
                with collector.record():
                    _tool(collector, function)
    return entries


def _tool(collector: Collector, function: Any) -> None:
    name, about = field(function, str, "name"), str(function.get("description") or "")
    collector.tool(name, about, object_of(function.get("parameters")))


def _said(question: str) -> str:
    """What the user said, a turn a line; what the system said in between is left out."""
    parts = _SPEAKER.split(question)
    if len(parts) < 3:
        return question
    return "\n".join(text.strip() for who, text in zip(parts[1::2], parts[2::2], strict=True) if who == "user")


def _name(key: str, own: Collection[Any]) -> str:
    return key if key in own else _NUMBER.sub("", key)


def _arguments(values: Any) -> Mapping[str, Any]:
    if not isinstance(values, dict):
        raise DirtyError(UNREADABLE)
    return values
