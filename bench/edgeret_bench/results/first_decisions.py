"""First decisions apart by the stage that made them: where the time of each went. Runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgeret_bench.metrics import quantiles

STAGES = ("static", "full", "planner")
"""As decisions name them, the cheapest first."""
AROUND = "around"
"""The part of a decision in which no stage ran: the task was made, arguments were checked."""


@dataclass(frozen=True, slots=True)
class First:
    """One first decision: the `stage` that made it, ms as a whole, and ms by part as the decision itself tells them."""

    stage: str
    ms: float
    parts: Mapping[str, float]


def by_stage(firsts: Sequence[First]) -> dict[str, Any]:
    """For each stage that decided: its `share` of all, `ms` of its decisions, and the mean ms of their `parts`.

    Every part belongs to the very decisions whose mean it is a part of, so the parts add up to the mean, and none is
    below 0. Medians of different decisions do neither.
    """
    found: dict[str, Any] = {}
    for stage in STAGES:
        own = [first for first in firsts if first.stage == stage]
        if not own:
            continue
        names = dict.fromkeys(name for first in own for name in first.parts if name != "total")
        parts = {name: float(np.mean([first.parts.get(name, 0.0) for first in own])) for name in names}
        ms = quantiles([first.ms for first in own])
        found[stage] = {
            "share": len(own) / len(firsts),
            "ms": ms,
            "parts": {**parts, AROUND: ms["mean"] - sum(parts.values())},
        }
    return found


def without_encoder(found: Mapping[str, Any]) -> float:
    """Share of first decisions that the full encoder had no part in, of what `by_stage` gave."""
    return float(found["static"]["share"]) if "static" in found else 0.0
