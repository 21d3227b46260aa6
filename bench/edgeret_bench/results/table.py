"""A table of figures, as plain data. Knows no result and no way of writing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SURE = "95 %"
"""Head of the columns that hold confidence intervals."""
Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header; the first column names the row. Every line of `note` is a remark. `best` are the row and the
    column of cells to be written bold; the last `quoted` rows were not measured but are reported elsewhere."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    best: frozenset[tuple[int, int]] = frozenset()
    quoted: int = 0


def lines(*given: str) -> str:
    """A note of those lines that say something."""
    return "\n".join(line for line in given if line)


def missing(reasons: Mapping[str, str]) -> list[str]:
    """A line for each thing that could not be measured, and why."""
    return [f"no {name}: {reason}" for name, reason in reasons.items()]


def without_empty(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
    """A header and rows without the columns that say nothing of any row."""
    kept = [j for j in range(len(header)) if any(row[j] is not None for row in rows)]
    return [header[j] for j in kept], [[row[j] for j in kept] for row in rows]
