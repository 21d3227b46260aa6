"""How far confidence can be trusted: calibration error, and accuracy among the surest. Needs numpy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ECE_BINS = 15
DRAWS, COVERED = 1000, (0.05, 0.95)
"""Of `ece_by_chance`: how often outcomes are drawn, and between which quantiles of their errors nine of ten lie."""


def expected_calibration_error(confidence: NDArray[np.floating], correct: NDArray[np.bool_]) -> float:
    """ECE over equal-mass bins: the mean gap between confidence and accuracy, weighted by bin size."""
    order = np.argsort(confidence, kind="stable")
    return _error(confidence[order], correct[order])


def _error(confidence: NDArray[np.floating], correct: NDArray[np.bool_]) -> float:
    """The same of rows in the order of their confidence. A bin's gap times its size is a difference of sums."""
    size, more = divmod(len(confidence), ECE_BINS)
    begins = np.arange(ECE_BINS) * size + np.minimum(np.arange(ECE_BINS), more)
    gaps = np.add.reduceat(confidence - correct, begins[begins < len(confidence)])
    return float(np.abs(gaps).sum() / len(confidence))


def ece_by_chance(confidence: NDArray[np.floating], seed: int = 0) -> tuple[float, float]:
    """Between which errors nine of ten lie if decisions are right exactly as often as their confidence (rows,) says.
    A few hundred decisions show an error, however exact they are: bins' shares scatter, and the gaps' size adds up."""
    rng, rising = np.random.default_rng(seed), np.sort(confidence)
    errors = [_error(rising, rng.random(len(rising)) < rising) for _ in range(DRAWS)]
    low, high = np.quantile(errors, COVERED).tolist()
    return low, high


def calibration_errors(confidence: NDArray[np.floating], correct: NDArray[np.bool_]) -> dict[str, Any]:
    """`ece`, and `ece_by_chance` to judge it by."""
    return {
        "ece": expected_calibration_error(confidence, correct),
        "ece_by_chance": list(ece_by_chance(confidence)),
    }


def refusal_curve(confidence: NDArray[np.floating], correct: NDArray[np.bool_]) -> list[dict[str, float]]:
    """Accuracy among the most confident share of decisions, for shares from 10 % to all."""
    order = np.argsort(-confidence, kind="stable")
    return [
        {"share": share / 10, "accuracy": round(float(correct[order[: max(1, len(order) * share // 10)]].mean()), 4)}
        for share in range(1, 11)
    ]
