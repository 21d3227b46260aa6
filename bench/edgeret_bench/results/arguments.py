"""Results of `arguments` as tables. Knows no way of writing them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edgeret_bench.results.table import Result, Table, lines

SHARES = ("calls_right", "plans_right", "precision", "recall", "exact", "missing_told")


def tables(result: Result) -> list[Table]:
    """All arguments in sum, beside other ways of reading them, and by source, kind and confidence."""
    note = lines(
        f"{result['n_arguments']} arguments of {result['n_calls']} calls in {result['n_plans']} plans, functions and "
        f"earlier calls given; {result['n_missing']} that a call must have are in no request",
        "as BFCL compares: without `,./-_*^` too",
    )
    rows = [[name.replace("_", " "), result[name], result["normalised"][name]] for name in SHARES]
    rows.append(["us a call, p50", result["us_per_call"]["p50"], None])
    if "of_an_encoding" in result:  # since 2026-11-29
        rows.append(["a call's time by one encoding's, p50", result["of_an_encoding"]["p50"], None])
    keys = ("by_source", "by_kind", "thresholds")
    sources, kinds, sure = ([[name, *one.values()] for name, one in result[key].items()] for key in keys)
    return [
        Table("arguments", ("what", "value", "as BFCL compares"), rows, note),
        _free(result["free"]),
        *_beside(result["beside"]),
        Table("by source", ("source", "arguments", "right"), sources),
        Table("by kind", ("kind", "true arguments", "precision", "recall"), kinds),
        Table("by confidence", ("at least", "share of those read", "right"), sure),
    ]


def headline(result: Result) -> Iterator[tuple[str, float, str | None]]:
    """The figures that a reader looks for first."""
    for name in ("calls_right", "plans_right"):
        if result[name] is not None:
            yield f"{name.replace('_', ' ')}, all arguments, functions given", result[name], None
    yield "plans right, functions and arguments", result["free"]["plans_right"], None


def _free(free: Any) -> Table:
    rows: list[list[Any]] = [[key.replace("_", " "), free[key]] for key in ("functions_right", "plans_right")]
    note = f"{free['n_plans']} requests with calls, {free['n_requests']} in all; no planner is asked"
    return Table(
        "functions by the bundle", ("plans", "share"), [*rows, ["all requests right", free["all_right"]]], note
    )


def _beside(beside: Any) -> list[Table]:
    if not beside:
        return []
    rows = []
    for way, found in beside.items():
        for name, row, us in ((way, found, found["us_per_call"]["p50"]), ("ours", found["ours"], None)):
            rows.append([f"{name}, {found['n_calls']} calls", *(row[key] for key in SHARES[:4]), us])
    header = ("way", *(name.replace("_", " ") for name in SHARES[:4]), "us a call, p50")
    return [Table("beside", header, rows, "ours: the same calls as in the row above")]
