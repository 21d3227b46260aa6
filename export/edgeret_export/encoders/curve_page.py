"""How a tuning went, as a picture: one HTML file without scripts, which loads nothing. Knows a tuning's card alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.cli.pages import render

WIDTH, HEIGHT, MARGIN = 640, 200, 40
COLOURS = ("#3b6fc4", "#b4530f", "#2e8b57", "#8a3ba8", "#b02a50", "#6b7280")


def draw(card: Mapping[str, Any], name: str, target: Path) -> None:
    """Writes the page. Raises MissingExtraError without jinja2."""
    curve = card["curve"]
    loss = [(point["step"], point["loss"]) for point in curve]
    # Step 0 is the encoder before: without it nobody sees whether it got better.
    measured = [(0, {each: card["figures"][each]["before"] for each in card["left_out"]})]
    measured += [(point["step"], point["ndcg5"]) for point in curve if point.get("ndcg5")]
    ways = [(each, way) for each in card["left_out"] for way in ("dense", "clauses")]
    lines = {f"{each}, {way}": [(step, found[each][way]) for step, found in measured] for each, way in ways}
    plots = [("Loss", _plot({"loss": loss}, card["steps"]))]
    plots += [("nDCG@5 of the sets left out", _plot(lines, card["steps"]))] if lines else []
    rows = [
        (each, "left out" if each in card["left_out"] else "trained on", *_cells(found))
        for each, found in card["figures"].items()
    ]
    facts = f"{card['base']['card']}, {card['steps']} steps, the model after step {card['step']} was kept."
    values = {"name": name, "facts": facts, "plots": plots, "rows": rows}
    target.write_text(
        render("tuning.html", extra="html", needed_for="the picture of a tuning", package="edgeret_export", **values),
        encoding="utf-8",
    )


def _cells(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    return [f"{found['before'][way]:.4f} → {found['after'][way]:.4f}" for way in ("dense", "clauses")]


def _plot(lines: Mapping[str, Sequence[tuple[int, float]]], steps: int) -> dict[str, Any]:
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
