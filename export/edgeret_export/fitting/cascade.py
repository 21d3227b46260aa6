"""From which probability on a small encoder's decision stands without asking the large one. Fits on held-out decisions
of both; knows nothing of encoders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.scoring.cascade import NOTHING, Thresholds
from edgeret.types import END
from edgeret_export.fitting.held_out import HeldOut
from edgeret_export.fitting.training_set import TrainingSet

LOSSES = (0.0, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03)
"""Of accuracy, that a caller may allow; thresholds are kept for each."""
ERRORS = 1.0
"""Standard errors by which a loss may be larger than it was measured, and still be within what is allowed."""


def fit_thresholds(training: TrainingSet, small: HeldOut, large: HeldOut) -> tuple[Thresholds, Mapping[str, Any]]:
    """The least probability for each of LOSSES, and what the cascade then does to held-out decisions. Both predicted
    the same rows of the training set."""
    if not np.array_equal(small.rows, large.rows):
        raise ValueError("thresholds need both encoders' decisions about the same rows")
    judged = np.zeros(len(training.decisions), bool)
    judged[small.rows] = True
    decisions = training.decisions.select(judged)
    acceptable, first = decisions.acceptable(), decisions.first()
    confidence, chosen = small.probabilities.max(axis=1), small.probabilities.argmax(axis=1)
    right = [_right(found, acceptable) for found in (small, large)]
    # What the runtime hands on whatever the probability: that nothing may fit, and tools that were never called.
    nothing = first & (small.probabilities[:, small.names.index(END)] >= NOTHING)
    sure = (chosen < acceptable.shape[1]) & ~nothing
    offered = np.where(sure, confidence, -1.0)
    order = np.argsort(-offered, kind="stable")
    lost = (right[1].astype(np.float64) - right[0])[order]
    found = [_least(offered[order], lost, allowed) for allowed in LOSSES]
    thresholds = Thresholds(LOSSES, tuple(found))
    return thresholds, {
        "right": {"small": float(right[0].mean()), "large": float(right[1].mean())},
        "by_loss": [
            _told(allowed, least, offered, first, right[0], right[1], decisions.plan)
            for allowed, least in zip(LOSSES, found, strict=True)
        ],
    }


def _right(found: HeldOut, acceptable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    best = found.probabilities.argmax(axis=1)
    known = best < acceptable.shape[1]
    right: NDArray[np.bool_] = known & acceptable[np.arange(len(best)), np.where(known, best, 0)]
    return right


def _least(offered: NDArray[np.floating], lost: NDArray[np.float64], allowed: float) -> float:
    """The least probability down to which accepting costs no more than is allowed, all decisions counted; `offered`
    (rows,) falls, `lost` is 1 where only the large one is right, -1 where only the small one is."""
    n = len(offered)
    total, squares = np.cumsum(lost), np.cumsum(lost * lost)
    bound = (total + ERRORS * np.sqrt(squares)) / n
    # Never past the first place that is not allowed: what lies behind it by luck would not hold.
    over = np.flatnonzero((bound > allowed) | (offered < 0))
    last = (int(over[0]) if len(over) else n) - 1
    while last >= 0 and last + 1 < n and offered[last + 1] == offered[last]:
        last -= 1
    return float(offered[last]) if last >= 0 else Thresholds.NEVER


def _told(
    allowed: float,
    least: float,
    offered: NDArray[np.floating],
    first: NDArray[np.bool_],
    small: NDArray[np.bool_],
    large: NDArray[np.bool_],
    plans: NDArray[np.intp],
) -> dict[str, float]:
    taken = offered >= least
    handed = np.bincount(plans[~taken], minlength=plans.max() + 1)[np.unique(plans)] > 0
    return {
        "allowed": allowed,
        "least_probability": round(least, 6),
        "small": round(float(taken.mean()), 5),
        "small_first": round(float(taken[first].mean()), 5),
        "small_plans": round(float(1 - handed.mean()), 5),
        "lost": round(float((large[taken].astype(float) - small[taken]).sum() / len(taken)), 6),
    }
