"""How far confidence can be trusted: calibration error, and accuracy among the surest. Needs numpy alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ECE_BINS = 15


def expected_calibration_error(confidence: NDArray[np.floating], correct: NDArray[np.bool_]) -> float:
    """ECE over equal-mass bins: the mean gap between confidence and accuracy, weighted by bin size."""
    order = np.argsort(confidence, kind="stable")
    bins = [b for b in np.array_split(order, ECE_BINS) if len(b)]
    gaps = [abs(float(confidence[b].mean()) - float(correct[b].mean())) * len(b) for b in bins]
    return float(sum(gaps) / len(order))


def refusal_curve(confidence: NDArray[np.floating], correct: NDArray[np.bool_]) -> list[dict[str, float]]:
    """Accuracy among the most confident share of decisions, for shares from 10 % to all."""
    order = np.argsort(-confidence, kind="stable")
    return [
        {"share": share / 10, "accuracy": round(float(correct[order[: max(1, len(order) * share // 10)]].mean()), 4)}
        for share in range(1, 11)
    ]
