"""What was measured on a data set as bars beside what others published of it (plotly)."""

from __future__ import annotations

from collections.abc import Sequence

from edgeret_bench.results.drawing import COLOURS, Figure, flat_bars
from edgeret_bench.results.search import TITLE, UNLIKE, Group

_SHOWN = ("ndcg@5", "ndcg@10", "recall@5", "recall@10", "ndcg@1", "recall@1")
"""Metrics by which methods are told apart, the better-known first."""
MEASURED, REPORTED = "measured here", "reported"
Bars = Sequence[tuple[str, float, str]]
"""Name, value, and whether it was measured or is reported."""


def published_figure(group: Group) -> Figure | None:
    """Bars of the metric that most of the published rows have; None where nothing is published or measured of it."""
    metric = _metric(group)
    bars = [] if metric is None else _bars(group, metric)
    if metric is None or all(kind == REPORTED for *_, kind in bars):
        return None
    drawing = flat_bars(bars, {MEASURED: COLOURS[0], REPORTED: COLOURS[9]}).update_layout(template="none")
    drawing.update_xaxes(title=metric)
    known = group.known
    caption = (
        f"{metric} of every method, the best above. {REPORTED.capitalize()}: others' figures, with their own models."
    )
    caption += f" {known.unlike}" if known is not None else ""
    return Figure(
        f"{TITLE} beside published figures: {group.title}", caption + ("" if group.alike else f" {UNLIKE}"), drawing
    )


def _metric(group: Group) -> str | None:
    rows = group.known.rows if group.known is not None else ()
    counts = {metric: sum(metric in row.metrics for row in rows) for metric in _SHOWN}
    best = max(_SHOWN, key=lambda metric: counts[metric])
    return best if counts[best] else None


def _bars(group: Group, metric: str) -> Bars:
    found = [(row.name, value, MEASURED) for row in group.rows if (value := row.value(metric)) is not None]
    if group.known is not None:
        found += [(row.name, row.metrics[metric], REPORTED) for row in group.known.rows if metric in row.metrics]
    return sorted(found, key=lambda bar: bar[1])
