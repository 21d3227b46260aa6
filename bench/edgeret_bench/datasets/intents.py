"""What readers of requests with an intent share: intents as tools, and values that are marked inside a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from edgeret_bench.datasets.collect import Collector
from edgeret_bench.datasets.schema import make_object

_SLOT = re.compile(r"\[\s*([^\[\]:]+?)\s*:\s*([^\[\]]*?)\s*\]")
SECOND_VALUE = "mended: a second value of the same slot was left out"


@dataclass(frozen=True, slots=True)
class Annotated:
    """A request with its intent. `marked` is the same sentence with its values as `[slot : value]`; a request that is
    `asked` becomes a query, the others become demonstrations."""

    identity: str
    text: str
    intent: str
    marked: str
    asked: bool


def words(label: str) -> str:
    """A label as words: "book_flight" is "book flight"."""
    return " ".join(label.replace("_", " ").split())


def slots(marked: str) -> Iterator[tuple[str, str]]:
    """Names and values out of "wake me at [time : five am]"."""
    for match in _SLOT.finditer(marked):
        yield match[1], match[2]


def labelled(collector: Collector, identity: str, text: str, label: str, asked: bool) -> None:
    """Adds a request whose intent is its one tool, as a query or as a demonstration. Raises DirtyError."""
    if asked:
        collector.query(identity, text, [label])
    else:
        collector.plan(identity, text, [(label, {})])


def annotated(collector: Collector, rows: Iterable[Annotated]) -> None:
    """Adds intents as tools, by name, with the slots of all their requests as parameters; then the requests."""
    rows = list(rows)
    parameters: dict[str, dict[str, None]] = {}
    for row in rows:
        parameters.setdefault(row.intent, {}).update(dict.fromkeys(name for name, _ in slots(row.marked)))
    for intent in sorted(parameters):
        properties = {name: {"type": "string", "description": words(name)} for name in sorted(parameters[intent])}
        collector.tool(intent, words(intent), make_object(properties))
    for row in rows:
        with collector.record():
            if row.asked:
                collector.query(row.identity, row.text, [row.intent])
            else:
                collector.plan(row.identity, row.text, [(row.intent, _arguments(collector, row.marked))])


def _arguments(collector: Collector, marked: str) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for name, value in slots(marked):
        if name in found:
            collector.skip(SECOND_VALUE)
        found.setdefault(name, value)
    return found
