"""What quantising a planner may cost, and by how many questions that is told."""

from __future__ import annotations

from dataclasses import dataclass

QUESTIONS, SHOWN = 40, 8
"""Choices that are asked for, and functions (or the end) on offer in each."""
MAX_PERPLEXITY_RATIO, MIN_KEPT = 1.10, 0.75
"""What quantising may cost unless somebody says otherwise."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the gate lets through: perplexity over that before, and the share of choices that stay."""

    perplexity_ratio: float = MAX_PERPLEXITY_RATIO
    kept: float = MIN_KEPT
