"""One set of a result of `targets` as a table: what every graph of an encoder keeps of the original. Writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgeret_bench.results.intervals import span_text

HEADER = (
    *("graph", "precision", "cosine mean", "least", "ndcg@5", "next-tool top1", "lost", "lost 95 %", "mrr"),
    *("ms p50", "MB"),
)


def rows(result: Mapping[str, Any]) -> list[list[Any]]:
    """A row a graph under HEADER, the original first."""
    return [
        [
            *(name, each["precision"], each["cosine_mean"], each["cosine_min"], each["ndcg@5"], each["top1"]),
            *(each["lost"], span_text(each["lost_interval"]), each["mrr"]),
            *(each["ms"] and each["ms"]["p50"], each["size_mb"]),
        ]
        for name, each in result["graphs"].items()
    ]


def note(result: Mapping[str, Any]) -> str:
    """What was measured, and how."""
    lines = (
        f"{result['n_steps']} decisions of {result['n_plans']} plans, heads fitted on {result['n_train']} by the "
        f"original's vectors; search and time over {result['n_queries']} requests, {result['n_tools']} tools",
        "all on this CPU, one text at a time: half precision and static shapes are for other hardware, which is faster",
        "lost: top-1 of the original less the graph's own",
    )
    return "\n".join(lines)
