"""The ranking of search and decision: what is probable, and what words want. Knows nothing of how either is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, log

from edgeret.types import Hit

FOUND = 0.4
"""What the logarithm of hybrid search's share counts for beside that of a probability, as in ranking.c."""
UNLIKELY, UNSHARED = 0.01, 1e-6
"""Added to probabilities, and the least share: below both, tools are all the same."""


def mixed(found: Sequence[Hit], likely: Mapping[str, float], first: str | None = None) -> list[Hit]:
    """Hits of hybrid search by their shares and by how probable each tool is, best first; equal ones as they were, but
    for the one that is to be `first`, which has at least as much as any. The shares are then those of both."""
    if not found:
        return []
    scores = [log(likely.get(h.tool, 0.0) + UNLIKELY) + FOUND * log(max(h.share or 0.0, UNSHARED)) for h in found]
    top = max(scores)
    scores = [top if hit.tool == first else score for hit, score in zip(found, scores, strict=True)]
    weights = [exp(score - top) for score in scores]
    total = sum(weights)
    order = sorted(range(len(found)), key=lambda i: (-scores[i], found[i].tool != first))
    return [replace(found[i], share=weights[i] / total) for i in order]
