"""The tables of a latency result: stages, who made first decisions, and the same under other conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgeret_bench.results.files import others_share
from edgeret_bench.results.first_decisions import without_encoder
from edgeret_bench.results.gpus import gpu_table
from edgeret_bench.results.intervals import interval_text
from edgeret_bench.results.table import SURE, Result, Table, lines, missing, without_empty

QUANTILES = ("p50", "p90", "p99", "max")
TIMES = (*QUANTILES, "mean")
DECIDERS: Mapping[str, str] = {
    "static": "the table of token vectors",
    "full": "the full encoder",
    "planner": "the planner",
}
"""Stages of a decision in words."""


def latency_tables(result: Result) -> list[Table]:
    """The tables of one result of kind `latency`."""
    stages = result["stages"]
    sure = {name: interval_text(result, name) for name in stages}
    cold = {f"cold {name.removesuffix('_ms')}": row for name, row in result["cold_start"].items()}
    rows = [[name, *times(stage), sure.get(name)] for name, stage in {**stages, **cold}.items()]
    others = others_share(result)
    notes = (
        f"{result['n_queries']} queries; {result['threads']} threads on {', '.join(result['providers']['actual'])}",
        "tokenize and encode: the full encoder alone, timed apart",
        told_of_share(result),
        f"memory after load {result['rss_mb']:.0f} MB, bundle {result['bundle_mb']:.1f} MB",
        ""
        if others is None
        else f"other programs took {others:.0%} of the CPU, the host {result['other_load']['stolen']:.0%}",
    )
    header = ["stage", *TIMES, f"p50 {SURE}"]
    found = [Table("milliseconds", *without_empty(header, rows), lines(*notes))]
    if firsts := result.get("first_decisions"):
        found.append(_by_decider(firsts))
    for key, what in (("threads_sweep", "CPU threads"), ("batches", "batch"), ("providers_sweep", "provider")):
        if key in result:
            done = {k: v for k, v in result[key].items() if "p50" in v}
            lacking = {k: v["unavailable"] for k, v in result[key].items() if "p50" not in v}
            body = [[k, *times(v)] for k, v in done.items()]
            shared = "" if key == "batches" else told_of_share(result)
            found.append(
                Table(f"milliseconds by {what}", *without_empty((what, *TIMES), body), lines(shared, *missing(lacking)))
            )
    if "sustained" in result:
        found.append(_sustained(result["sustained"], told_of_share(result)))
    if "gpu" in result:
        found.append(gpu_table(result["gpu"]))
    return found


def times(row: Mapping[str, float]) -> list[float | None]:
    """TIMES of a set of times; results of before 2026-11-27 have no mean."""
    return [row.get(key) for key in TIMES]


def told_of_share(result: Result) -> str:
    """How many first decisions the full encoder had no part in, in words; nothing where nobody counted."""
    firsts = result.get("first_decisions")
    return f"{without_encoder(firsts):.0%} of first decisions needed no encoder" if firsts else ""


def _by_decider(firsts: Mapping[str, Any]) -> Table:
    parts = list(dict.fromkeys(part for each in firsts.values() for part in each["parts"]))
    rows = [
        [DECIDERS[stage], each["share"], *times(each["ms"]), *(each["parts"].get(part) for part in parts)]
        for stage, each in firsts.items()
    ]
    note = "the columns behind the mean are its parts, and add up to it; around: outside all stages"
    return Table("first decisions by who made them, ms", ("by", "share", *TIMES, *parts), rows, note)


def _sustained(result: Result, shared: str) -> Table:
    energy, slices = result["energy"], result["slices"]
    joules = [[f"{name}, J a query", used] for name, used in energy["joules_per_query"].items()]
    rows = [["last tenth's p50 / first tenth's", result["last_over_first"]], *joules]
    lacking = {f"energy from {name}": why for name, why in energy["unavailable"].items()}
    note = lines(f"{result['n_queries']} first selections in {len(slices)} slices", shared, *missing(lacking))
    return Table("without a pause", ("what", "value"), rows, note)
