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
    bins = [b for b in np.array_split(order, ECE_BINS) if len(b)]
    gaps = [abs(float(confidence[b].mean()) - float(correct[b].mean())) * len(b) for b in bins]
    return float(sum(gaps) / len(order))


def ece_by_chance(confidence: NDArray[np.floating], seed: int = 0) -> tuple[float, float]:
    """Between which errors nine of ten lie if decisions are right exactly as often as their confidence (rows,) says.
    A few hundred decisions show an error, however exact they are: bins' shares scatter, and the gaps' size adds up."""
    drawn = np.random.default_rng(seed).random((DRAWS, len(confidence))) < confidence
    low, high = np.quantile([expected_calibration_error(confidence, right) for right in drawn], COVERED).tolist()
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
