"""Results of `arguments` as drawings (plotly)."""

from __future__ import annotations

from edgeret_bench.results.drawing import Figure, bar_chart, line_chart, with_axes
from edgeret_bench.results.table import Result


def figures(result: Result) -> list[Figure]:
    """How many are right of the arguments that are taken when only the surest are; precision and recall by kind."""
    points = result["curve"]
    drawing = line_chart({"surest first": ([p["coverage"] for p in points], [p["precision"] for p in points])})
    sure = [f"confidence {p['confidence']:.2f} and more" for p in points]
    drawing.update_traces(text=sure, hovertemplate="%{x:.2f} taken, %{y:.3f} right<br>%{text}")
    drawing.update_xaxes(range=[0, 1.02])
    taken = (
        "Share of the arguments read that are taken, the surest first, and how many of these are right. Up is better."
    )
    kinds = result["by_kind"]
    bars = bar_chart(list(kinds), {key: [row[key] for row in kinds.values()] for key in ("precision", "recall")})
    told = "By what a parameter takes. Precision: of those read; recall: of the true ones."
    return [
        Figure("coverage and precision", taken, with_axes(drawing, "taken, of those read", "right, of those taken")),
        Figure("arguments by kind", told, bars),
    ]
