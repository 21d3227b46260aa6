"""Results of `abstain` as tables. Knows no way of writing them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgeret_bench.results.intervals import span_text
from edgeret_bench.results.table import SURE, Result, Table, lines

PARTS = {"sizes": "demonstrations", "among": "tools to choose among", "learned": "plans learned"}
"""Keys of a result that hold figures by a number, and what that counts."""


def tables(result: Result) -> list[Table]:
    """The figures of the bundle as it is and by what was varied; and what risks that were asked for gave."""
    levels = list(result["declined_at"])
    at = [f"declined at {float(level):.0%} lost" for level in levels]
    header = ("declined", SURE, "lost", SURE, "auroc", SURE, *at)
    note = lines(
        f"{result['n_foreign']} requests that no tool fits, {result['n_inside']} that one does; first decisions",
        "declined: of those that no tool fits; lost: declined of the others; at: by the best threshold on `<end>`",
    )
    found = [Table("what is declined", ("bundle", *header), [["as it ships", *_cells(result, levels)]], note)]
    for key, what in PARTS.items():
        if key in result:
            rows = [[number, *_cells(row, levels)] for number, row in result[key].items()]
            found.append(Table(f"what is declined by {what}", (what, *header), rows))
    if "risk" in result:
        rows = [[risk, *kept.values()] for risk, kept in result["risk"].items()]
        text = "answered: of requests in scope; wrong: of the calls made, for these alone and with the foreign ones"
        found.append(Table("risk", ("asked", "answered", "wrong", "wrong with foreign"), rows, text))
    return found


def headline(result: Result) -> Iterator[tuple[str, float, str | None]]:
    """The figures that a reader looks for first."""
    for key, what in (("declined", "of foreign requests"), ("lost", "of requests in scope")):
        yield f"declined {what}", result[key], span_text(result["intervals"][key])
    yield "AUROC of `<end>`", result["auroc"], span_text(result["intervals"]["auroc"])


def _cells(row: Mapping[str, Any], levels: list[str]) -> list[Any]:
    sure = row["intervals"]
    told = [cell for key in ("declined", "lost", "auroc") for cell in (row[key], span_text(sure[key]))]
    return [*told, *(row["declined_at"][level] for level in levels)]
