"""From which probability on a small encoder's decision stands without asking the large one. Fits on held-out decisions
of both; knows nothing of encoders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.types import END
from edgeret_export.fitting.decisions import Decisions
from edgeret_export.fitting.held_out import HeldOut
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.reference.fits import SURELY_SHOWN
from edgeret_export.reference.scoring.cascade import ALONE, LATER, Thresholds, contradicted

LOSSES = (0.0, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03)
"""Of accuracy, that a caller may allow; thresholds are kept for each."""
ERRORS = 1.0
"""Standard errors by which a loss may be larger than it was measured, and still be within what is allowed."""
LOST_REFUSALS = 0.12
"""Of the requests that no tool fits and that the large encoder declines: those that the small one may give a tool."""
LOST_OFFERS = 0.002
"""Of the requests that a tool fits: those that the small encoder may decline where the large one chose rightly."""


def fit_thresholds(
    training: TrainingSet, words: NDArray[np.float32], small: HeldOut, large: HeldOut
) -> tuple[Thresholds, Mapping[str, Any]]:
    """The least probability for each of LOSSES, and what the cascade then does to held-out decisions. Both predicted
    the same rows of the training set; `words` (kept, labels) are what queries' words say of tools, as the small encoder
    reads them."""
    if not np.array_equal(small.rows, large.rows):
        raise ValueError("thresholds need both encoders' decisions about the same rows")
    judged = np.zeros(len(training.decisions), bool)
    judged[small.rows] = True
    decisions = training.decisions.select(judged)
    acceptable, first = decisions.acceptable(), decisions.first()
    confidence, chosen = small.probabilities.max(axis=1), small.probabilities.argmax(axis=1)
    right = [_right(found, acceptable) for found in (small, large)]
    end = small.names.index(END)
    nothing, declines = _bounds(decisions, small, large)
    ended = small.probabilities[:, end]
    # What the runtime hands on whatever the probability: that nothing may fit, and tools that were never called.
    sure = (chosen < acceptable.shape[1]) & ~(first & (ended >= nothing))
    offered = np.where(sure, confidence, -1.0)
    declined = first & (chosen == end) & (ended > declines)
    order = np.argsort(-offered, kind="stable")
    lost = (right[1].astype(np.float64) - right[0])[order]
    found = [_least(offered[order], lost, allowed) for allowed in LOSSES]
    thresholds = Thresholds(LOSSES, tuple(found), nothing, declines)
    # What it is more careful with than any fit asks counts only for what is told.
    stands = confidence >= LATER
    places = training.queries.at(decisions.plan)
    for row in np.flatnonzero(first & (chosen < end)).tolist():
        stands[row] = small.alone[row] >= ALONE or not contradicted(words[places[row]], int(chosen[row]), end)
    return thresholds, {
        "right": {"small": float(right[0].mean()), "large": float(right[1].mean())},
        "nothing": round(nothing, 6),
        "declines": round(declines, 6),
        "by_loss": [
            _told(allowed, least, declined | (stands & (offered >= least)), first, right[0], right[1], decisions.plan)
            for allowed, least in zip(LOSSES, found, strict=True)
        ],
    }


def _bounds(decisions: Decisions, small: HeldOut, large: HeldOut) -> tuple[float, float]:
    """`Thresholds.nothing` and `declines`, from sayings that no demonstration is like and from first decisions whose
    kinds of "nothing fits" both had not seen."""
    end, acceptable = small.names.index(END), decisions.acceptable()
    none, right = decisions.first() & acceptable[:, end], _right(large, acceptable)
    ends, ended = small.probabilities.argmax(axis=1) == end, small.probabilities[:, end].astype(np.float64)
    fits = decisions.first() & ~none
    refused = np.concatenate((small.sayings[large.sayings > 0.5], ended[none & right]))
    called = np.sort(refused[np.concatenate((small.sayings[large.sayings > 0.5] <= 0.5, ~ends[none & right]))])
    nothing = float(np.append(called, 1.0)[_allowed(LOST_REFUSALS * len(refused), len(called))])
    lost = np.sort(ended[fits & right & ends])[::-1]
    declines = float(np.append(lost, 0.0)[_allowed(LOST_OFFERS * int(fits.sum()), len(lost))])
    # Below that, the runtime may ask the tools' own words too.
    return nothing, max(declines, SURELY_SHOWN)


def _allowed(most: float, found: int) -> int:
    """How many of those `found` are at most `most`, their standard error added."""
    numbers = np.arange(found + 1)
    return int(numbers[numbers + ERRORS * np.sqrt(numbers) <= most].max())


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
    taken: NDArray[np.bool_],
    first: NDArray[np.bool_],
    small: NDArray[np.bool_],
    large: NDArray[np.bool_],
    plans: NDArray[np.intp],
) -> dict[str, float]:
    handed = np.bincount(plans[~taken], minlength=plans.max() + 1)[np.unique(plans)] > 0
    return {
        "allowed": allowed,
        "least_probability": round(least, 6),
        "small": round(float(taken.mean()), 5),
        "small_first": round(float(taken[first].mean()), 5),
        "small_plans": round(float(1 - handed.mean()), 5),
        "lost": round(float((large[taken].astype(float) - small[taken]).sum() / len(taken)), 6),
    }
