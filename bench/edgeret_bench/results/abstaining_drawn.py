"""Results of `abstain` as drawings (plotly)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgeret_bench.results.abstaining import PARTS
from edgeret_bench.results.drawing import Figure, curve_chart, error_bars, line_chart, marker_of, with_axes
from edgeret_bench.results.table import Result

NAMES = {"declined": "declined, of foreign ones", "lost": "declined, of those in scope", "auroc": "AUROC of <end>"}


def figures(result: Result) -> list[Figure]:
    """What every threshold on `<end>` would decline, with the place where the bundle stands; and by what was varied."""
    curve, sure = result["curve"], result["intervals"]
    drawing = line_chart({"any threshold on <end>": (curve["lost"], curve["declined"])}, "lines")
    bars = {f"error_{axis}": error_bars([result[key]], [sure[key]]) for axis, key in (("x", "lost"), ("y", "declined"))}
    drawing.add_scatter(
        x=[result["lost"]], y=[result["declined"]], name="as it ships", mode="markers", marker=marker_of(1), **bars
    )
    drawing.update_xaxes(range=[0, 0.5])
    drawing.update_yaxes(range=[0, 1])
    caption = (
        "Share of the requests that no tool fits which are declined, by the share of the others that is lost with "
        "them. Up and left is better. Bars: 95 % intervals."
    )
    found = [
        Figure(
            "knowing that nothing fits",
            caption,
            with_axes(drawing, "lost, of those in scope", "declined, of foreign ones"),
        )
    ]
    found += [_by(what, result[key]) for key, what in PARTS.items() if key in result]
    return found


def _by(what: str, rows: Mapping[str, Mapping[str, Any]]) -> Figure:
    numbers = {int(number): row for number, row in rows.items()}
    # A logarithmic axis has no 0: that stands half a decade left of the smallest number.
    zero = min((number for number in numbers if number), default=1) / 3
    drawing = with_axes(curve_chart({n or zero: row for n, row in numbers.items()}, NAMES), what, "share", log_x=True)
    drawing.update_xaxes(tickvals=[n or zero for n in numbers], ticktext=[str(n) for n in numbers])
    return Figure(
        f"knowing that nothing fits, by {what}", "The same requests each time. Bars: 95 % intervals.", drawing
    )
