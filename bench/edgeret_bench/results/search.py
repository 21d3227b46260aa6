"""All results of tool search side by side, a table a data set, with what papers report of it. Knows no drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgeret_bench.results.published import SETS
from edgeret_bench.results.quoted import PublicSet
from edgeret_bench.results.table import Table, without_empty
from edgeret_bench.results.tables import SEARCH_COLUMNS, search_cells

TITLE = "tool search"
UNLIKE = "Not all of it was measured on the same queries: mind how many they were, and do not trust small differences."
_LEAST = ("ms p50", "ms mean")
_NOT_RANKED = ("answers", "tokens", "kept", "finished")
"""Columns in which no row is best: what quality was bought with, and shares of budgets that differ from run to run."""
Set = tuple[str, bool, int]
"""A data set's name or its file's hash; whether sub-tasks were given; how many tools there are."""


@dataclass(frozen=True, slots=True)
class Row:
    """A method as one result measured it: cells of SEARCH_COLUMNS, and `asked`, which tells queries from others."""

    name: str
    cells: Sequence[Any]
    n_queries: int
    asked: tuple[Any, ...]
    conditions: str

    def value(self, column: str) -> float | None:
        """One of its cells, None where it was not measured."""
        found: float | None = self.cells[list(SEARCH_COLUMNS).index(column)]
        return found


@dataclass(slots=True)
class Group:
    """What was measured on one data set, and what is reported of it."""

    title: str
    known: PublicSet | None
    rows: list[Row] = field(default_factory=list)

    @property
    def alike(self) -> bool:
        """Whether all rows are of the same queries."""
        return len({row.asked for row in self.rows}) < 2

    @property
    def points(self) -> list[tuple[str, float, float]]:
        """Name, median ms and nDCG@5 of every row that has both."""
        found = ((row.name, row.value("ms p50"), row.value("ndcg@5")) for row in self.rows)
        return [(name, ms, score) for name, ms, score in found if ms is not None and score is not None]


def search_rows(name: str, result: Mapping[str, Any]) -> Iterator[tuple[Set, str, Row]]:
    """A row a method of one result, `name` being what its file is called, with its data set and what that is called."""
    if result["kind"] != "retrieval":
        return
    file = result["inputs"]["queries"]
    for method, row in result["methods"].items():
        stepped = method in result.get("with_steps", ())
        of = (str(result.get("dataset") or file["sha256"]), stepped, int(result["n_tools"]))
        called = f"{file['name']}, sub-tasks given" if stepped else str(file["name"])
        asked = (file["sha256"], result.get("limit"), result.get("seed"))
        told = _conditions(method, row, result, str(file["name"]))
        yield of, called, Row(f"{name}: {method}", search_cells(row), result["n_queries"], asked, told)


def search_groups(rows: Sequence[tuple[Set, str, Row]]) -> list[Group]:
    """The rows by data set: those that papers report on come first."""
    found: dict[Set, Group] = {}
    for of, called, row in rows:
        known = SETS.get(of[:2])
        group = found.setdefault(of, Group(known.title if known else called, known))
        group.rows.append(row)
    order = list(SETS)
    return [found[of] for of in sorted(found, key=lambda of: order.index(of[:2]) if of[:2] in SETS else len(order))]


def search_table(group: Group) -> Table:
    """A group's rows, the best that was measured in bold, and below them the papers'."""
    known, empty = group.known, search_cells({})
    quoted = [] if known is None else known.rows
    body = [[row.name, *row.cells, row.n_queries, row.conditions] for row in group.rows]
    for row in quoted:
        cells = [row.metrics.get(column, cell) for column, cell in zip(SEARCH_COLUMNS, empty, strict=True)]
        body.append([row.name, *cells, known.n_queries if known else None, f"reported: {row.conditions}"])
    header, body = without_empty(("method", *SEARCH_COLUMNS, "queries", "conditions"), body)
    notes = ["Bold: the best that was measured."]
    if not group.alike:
        notes.append(UNLIKE)
    if known is not None:
        notes.append(f"Rows of a paper are what it reports. {known.unlike}")
    best = _best(header, body[: len(group.rows)])
    return Table(f"{TITLE}: {group.title}", header, body, "\n".join(notes), best, len(quoted))


def frontier(points: Sequence[tuple[str, float, float]]) -> list[tuple[float, float]]:
    """The points (ms, score) that no other one beats in both, by rising ms."""
    found: list[tuple[float, float]] = []
    for _, ms, score in sorted(points, key=lambda point: (point[1], -point[2])):
        if not found or score > found[-1][1]:
            found.append((ms, score))
    return found


def _best(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> frozenset[tuple[int, int]]:
    """Row and column of every cell that no other one of its column beats as it is written."""
    found = set()
    for j, column in enumerate(header):
        values = {i: round(row[j], 4) for i, row in enumerate(rows) if isinstance(row[j], float)}
        if column in SEARCH_COLUMNS and column not in _NOT_RANKED and len(values) > 1:
            top = (min if column in _LEAST else max)(values.values())
            found |= {(i, j) for i, value in values.items() if value == top}
    return frozenset(found)


def _conditions(method: str, row: Mapping[str, Any], result: Mapping[str, Any], file: str) -> str:
    """What the row was measured with, in words."""
    encoder = " ".join(str(result[key]) for key in ("encoder", "precision") if result.get(key))
    budget, limit = result.get("budget_ms"), result.get("limit")
    told = (
        encoder if method != "bm25" else "",
        f"{result.get('planner')} asked" if row.get("answers") else "",
        "" if budget is None else f"budget {budget:g} ms",
        file if limit is None else f"{file}, drawn by seed {result.get('seed')}",
    )
    return "; ".join(part for part in told if part)
