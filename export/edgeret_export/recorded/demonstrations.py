"""Demonstrations of several files, checked against their tools; and the orders that a plan's links allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from edgeret.inputs.demonstrations import Demonstration, placed
from edgeret.types import Tool
from edgeret_export.recorded.fit import Misfits


def read_and_check(paths: Sequence[str | Path], tools: Sequence[Tool]) -> tuple[list[Demonstration], Misfits]:
    """The demonstrations of several files, as `read_demonstrations` reads them, with a count of the arguments that do
    not fit their tools' parameters: public data has many, and for the choice of a tool they do no harm."""
    by_name, counted = {tool.name: tool for tool in tools}, Misfits()
    found: list[Demonstration] = []
    for path in paths:
        for where, demonstration in placed(Path(path), by_name):
            counted.check(where, demonstration.calls, by_name)
            found.append(demonstration)
    return found, counted


def linear_extensions(demonstration: Demonstration, limit: int) -> Iterator[tuple[int, ...]]:
    """Up to `limit` orders of the calls that respect the links, the written one first, then lexicographic ones."""
    count = len(demonstration.calls)
    written = tuple(range(count))
    yield written
    found = 1
    pending: list[tuple[int, ...]] = [()]
    while pending and found < limit:
        prefix = pending.pop()
        if len(prefix) == count:
            if prefix != written:
                found += 1
                yield prefix
            continue
        pending.extend((*prefix, i) for i in reversed(demonstration.ready(prefix)))
