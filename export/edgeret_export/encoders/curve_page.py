"""How a tuning went, as a picture. Knows a tuning's card alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret_export.curves import draw_curves

_HEADER = ("set", "", "nDCG@5, dense", "nDCG@5, clauses")


def draw(card: Mapping[str, Any], name: str, target: Path) -> None:
    """Writes the page. Raises MissingExtraError without jinja2."""
    curve = card["curve"]
    # Step 0 is the encoder before: without it nobody sees whether it got better.
    measured = [(0, {each: card["figures"][each]["before"] for each in card["left_out"]})]
    measured += [(point["step"], point["ndcg5"]) for point in curve if point.get("ndcg5")]
    ways = [(each, way) for each in card["left_out"] for way in ("dense", "clauses")]
    lines = {f"{each}, {way}": [(step, found[each][way]) for step, found in measured] for each, way in ways}
    plots = {"Loss": {"loss": [(point["step"], point["loss"]) for point in curve]}}
    plots |= {"nDCG@5 of the sets left out": lines} if lines else {}
    rows = [
        (each, "left out" if each in card["left_out"] else "trained on", *_cells(found))
        for each, found in card["figures"].items()
    ]
    facts = f"{card['base']['card']}, {card['steps']} steps, the model after step {card['step']} was kept."
    draw_curves(target, name, facts, plots, card["steps"], [_HEADER, *rows], "Before and after")


def _cells(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    return [f"{found['before'][way]:.4f} → {found['after'][way]:.4f}" for way in ("dense", "clauses")]
