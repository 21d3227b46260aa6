"""The few figures of all results that a reader looks for first, and what spoils any of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgeret_bench.results import abstaining, arguments
from edgeret_bench.results.compare import BUSY
from edgeret_bench.results.files import others_share
from edgeret_bench.results.first_decisions import without_encoder
from edgeret_bench.results.intervals import interval_text, span_text
from edgeret_bench.results.table import SURE, Table

Results = Sequence[tuple[str, Mapping[str, Any]]]
Figure = tuple[str, float, str | None]
"""What it is, with its unit; its value; its interval if its samples were kept."""
COLD = ("import_ms", "load_ms", "first_answer_ms")


def headline_rows(name: str, result: Mapping[str, Any]) -> list[list[Any]]:
    """A row a figure of one result: what, value, interval, the result's `name`."""
    return [[*figure, name] for figure in _figures(result)]


def headline(rows: Sequence[Sequence[Any]], results: Results) -> Table:
    """Those rows of all results; busy machines are in the note."""
    return Table("in short", ("what", "value", SURE, "of"), rows, "\n".join(warnings(results)))


def warnings(results: Results) -> list[str]:
    """A line for every result in whose time other programs took more of the CPU than can be overlooked."""
    found = []
    for name, result in results:
        others = others_share(result)
        if others is not None and others > BUSY:
            found.append(
                f"{name}: other programs took {others:.0%} of the CPU while this was measured, so its times are too "
                "long; measure again when the machine is idle"
            )
    return found


def _figures(result: Mapping[str, Any]) -> Iterator[Figure]:
    kind = result["kind"]
    if kind == "latency":
        yield from _times(result)
    if kind in ("next-tool", "methods") and "fused" in result["methods"]:
        yield "top-1, fused", result["methods"]["fused"]["top1"], interval_text(result, "fused top1")
    if kind == "abstain":
        yield from abstaining.headline(result)
    if kind == "arguments":
        yield from arguments.headline(result)
    if kind == "few":
        for size in dict.fromkeys((next(iter(result["sizes"])), next(reversed(result["sizes"])))):
            row = result["sizes"][size]
            yield f"top-1, {size} demonstrations", row["top1"], span_text(row["intervals"]["top1"])
    if kind == "stream":
        row = result["cumulative"]["all"]
        yield "top-1 while learning", row["top1"], span_text(row["intervals"]["top1"])
        yield "to learn a plan p50, µs", result["update_us"]["p50"], None
    if kind == "plan":
        for policy in ("heads", "auto"):
            if policy in result["methods"]:
                yield f"function selection accuracy, {policy}", result["methods"][policy]["fsa"], None
    if kind == "retrieval":
        for name, metrics in result["methods"].items():
            yield f"nDCG@5, {name}", metrics["ndcg@5"], None
    if kind == "peers":
        for name, system in result["systems"].items():
            yield f"nDCG@5, {name}", system["accuracy"]["ndcg@5"], None


def _times(result: Mapping[str, Any]) -> Iterator[Figure]:
    first, later, cold = result["stages"]["first_select"], result["stages"]["next_select"], result["cold_start"]
    yield "first decision p50, ms", first["p50"], interval_text(result, "first_select")
    yield "first decision p99, ms", first["p99"], None
    if firsts := result.get("first_decisions"):
        yield "first decision mean, ms", first["mean"], None
        yield "first decisions without the encoder, share", without_encoder(firsts), None
    yield "further decision p50, ms", later["p50"], interval_text(result, "next_select")
    if all(part in cold for part in COLD):
        yield "cold start to first answer, ms", sum(cold[part]["p50"] for part in COLD), None
    yield "memory after load, MB", result["rss_mb"], None
    yield "bundle, MB", result["bundle_mb"], None
