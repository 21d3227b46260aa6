"""How a training went, as a picture: one HTML file without scripts, which loads nothing. Knows nothing of what was
trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.cli.pages import render

WIDTH, HEIGHT, MARGIN = 640, 200, 40
COLOURS = ("#3b6fc4", "#b4530f", "#2e8b57", "#8a3ba8", "#b02a50", "#6b7280")
Lines = Mapping[str, Sequence[tuple[int, float]]]
"""Values by step, by what they are."""


def draw_curves(
    target: Path,
    name: str,
    facts: str,
    plots: Mapping[str, Lines],
    steps: int,
    table: Sequence[Sequence[str]] = (),
    table_title: str = "",
) -> None:
    """Writes the page: `facts` in a sentence, `plots` by title, each over `steps`, and a table whose first row is its
    header. Raises MissingExtraError without jinja2."""
    values = {
        "name": name,
        "facts": facts,
        "plots": [(title, _plot(lines, steps)) for title, lines in plots.items()],
        "table": table,
        "table_title": table_title,
    }
    target.write_text(
        render("curves.html", extra="html", needed_for="the picture of a training", package="edgeret_export", **values),
        encoding="utf-8",
    )


def _plot(lines: Lines, steps: int) -> dict[str, Any]:
    """Lines in a frame: their points as SVG takes them, and what its edges stand for."""
    values = [value for line in lines.values() for _, value in line]
    low, high = min(values), max(values)
    span = (high - low) or 1.0

    def place(step: int, value: float) -> str:
        x = MARGIN + (WIDTH - 2 * MARGIN) * step / steps
        return f"{x:.1f},{HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (value - low) / span:.1f}"

    drawn = [
        {"name": name, "colour": COLOURS[i % len(COLOURS)], "points": " ".join(place(*point) for point in line)}
        for i, (name, line) in enumerate(lines.items())
    ]
    return {"lines": drawn, "low": f"{low:.4f}", "high": f"{high:.4f}", "steps": steps}
