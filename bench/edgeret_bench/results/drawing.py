"""What drawings of results (plotly) are made of: colours, lines, points, bars, and a figure with its caption.

Knows no result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeret.errors import MissingExtraError

try:
    import plotly.graph_objects as go
except ImportError:
    raise MissingExtraError("edgeret-bench", "an HTML report") from None

COLOURS = (
    "#4878d0",
    "#ee854a",
    "#3f9e4d",
    "#d65f5f",
    "#956cb4",
    "#8c613c",
    "#dc7ec0",
    "#a0a000",
    "#2ea3b8",
    "#8a8f98",
    "#c8102e",
    "#00806a",
)
"""All can be told from black and from white paper."""
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "cross")
DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with a heading and a sentence on how to read it."""

    title: str
    caption: str
    drawing: Any


def marker_of(i: int) -> dict[str, str | int]:
    """The i-th trace's colour and symbol, no two alike in one drawing."""
    return {"color": COLOURS[i % len(COLOURS)], "symbol": SYMBOLS[i % len(SYMBOLS)], "size": 9}


def dash_of(i: int) -> str:
    """The i-th trace's line, which changes when the colours begin anew."""
    return DASHES[i // len(COLOURS) % len(DASHES)]


def with_axes(drawing: Any, x: str, y: str, log_x: bool = False, log_y: bool = False) -> Any:
    """The drawing with its axes' titles and kinds."""
    drawing.update_layout(xaxis_title=x, yaxis_title=y)
    drawing.update_xaxes(type="log" if log_x else None)
    drawing.update_yaxes(type="log" if log_y else None)
    return drawing


def line_chart(series: Mapping[str, tuple[Sequence[Any], Sequence[Any]]], mode: str = "lines+markers") -> Any:
    """A line for every name, from its x and y."""
    return go.Figure(
        [
            go.Scatter(x=list(x), y=list(y), name=n, mode=mode, marker=marker_of(i), line_dash=dash_of(i))
            for i, (n, (x, y)) in enumerate(series.items())
        ]
    )


def point_chart(points: Iterable[tuple[str, float, float, tuple[float, float] | None]]) -> Any:
    """A point each of (name, x, y, interval of y). Names are in the legend: beside the points they would overlap."""
    return go.Figure(
        [
            go.Scatter(
                x=[x],
                y=[y],
                name=name,
                mode="markers",
                marker={**marker_of(i), "size": 12},
                error_y=None if sure is None else {"array": [sure[1] - y], "arrayminus": [y - sure[0]]},
            )
            for i, (name, x, y, sure) in enumerate(points)
        ]
    )


def bar_chart(names: Sequence[str], series: Mapping[str, Sequence[Any]]) -> Any:
    """A group of bars for every name, one bar a series."""
    drawn = [
        go.Bar(x=list(names), y=list(values), name=key, marker_color=marker_of(i)["color"])
        for i, (key, values) in enumerate(series.items())
    ]
    return go.Figure(drawn).update_xaxes(type="category")


def flat_bars(bars: Sequence[tuple[str, float, str]], colours: Mapping[str, str]) -> Any:
    """A flat bar for each of (name, value, kind), from below upwards, in its kind's colour. Names are as long as they
    are; there is room for as many as there are."""
    drawn = [
        go.Bar(
            x=[value for _, value, kind in bars if kind == shown],
            y=[name for name, _, kind in bars if kind == shown],
            name=shown,
            orientation="h",
            marker_color=colour,
            texttemplate="%{x:.3f}",
        )
        for shown, colour in colours.items()
    ]
    order = {"categoryorder": "array", "categoryarray": [name for name, *_ in bars]}
    drawing = go.Figure(drawn).update_yaxes(type="category", automargin=True, **order)
    return drawing.update_layout(barmode="overlay", height=140 + 28 * len(bars))


def with_diagonal(drawing: Any, start: float, name: str) -> Any:
    """The drawing with the line on which y is x, from `start` to 1."""
    drawing.add_scatter(x=[start, 1], y=[start, 1], name=name, mode="lines", line={"dash": "dot", "color": COLOURS[9]})
    return drawing


def error_bars(values: Sequence[float], spans: Sequence[Sequence[float] | None]) -> dict[str, Any]:
    """Error bars from intervals; none where there were too few plans for one."""
    known = [(value, value) if span is None else span for value, span in zip(values, spans, strict=True)]
    return {
        "array": [high - value for value, (_, high) in zip(values, known, strict=True)],
        "arrayminus": [value - low for value, (low, _) in zip(values, known, strict=True)],
    }


def curve_chart(rows: Mapping[float, Mapping[str, Any]], keys: Mapping[str, str]) -> Any:
    """A line with error bars for each of `keys` (in the rows, which are by x, to its name), where it was measured."""
    drawing = go.Figure()
    for i, (key, name) in enumerate(keys.items()):
        found = {x: row for x, row in rows.items() if row[key] is not None}
        values = [row[key] for row in found.values()]
        bars = error_bars(values, [row["intervals"][key] for row in found.values()])
        look = {"mode": "lines+markers", "marker": marker_of(i), "line_dash": dash_of(i)}
        drawing.add_scatter(x=list(found), y=values, name=name, error_y=bars, **look)
    return drawing
