"""A conditional logit: weights that make the right one of several choices likeliest. Knows nothing of tools."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

PENALTY = 1e-3
"""Of the weights, per decision."""
DIGITS = 5


def conditional_logit(
    rows: Sequence[NDArray[np.float32]],
    targets: Sequence[NDArray[np.float32]],
    weights: NDArray[np.float64],
    bounds: Sequence[tuple[float | None, float | None]],
    offsets: Sequence[NDArray[np.floating]] = (),
) -> list[float]:
    """The weights of features (choices, features) that make the `targets` (choices,) likeliest, over decisions that
    weigh `weights`; scores start at `offsets` (choices,), if there are any."""
    features, target = np.concatenate(rows).astype(np.float64), np.concatenate(targets).astype(np.float64)
    sizes = np.array([len(row) for row in rows])
    starts, segment = np.concatenate(([0], np.cumsum(sizes)[:-1])), np.repeat(np.arange(len(sizes)), sizes)
    weight = (weights / weights.sum())[segment]
    begun = np.concatenate(offsets).astype(np.float64) if len(offsets) else np.zeros(len(target))

    def objective(found: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = begun + features @ found
        best = np.maximum.reduceat(scores, starts)
        shares = np.exp(scores - best[segment])
        total = np.add.reduceat(shares, starts)
        log_p = scores - best[segment] - np.log(total)[segment]
        slope = (shares / total[segment] - target) * weight
        loss = -float((weight * target * log_p).sum()) + PENALTY * float(found @ found)
        return loss, features.T @ slope + 2 * PENALTY * found

    start = np.full(features.shape[1], 0.1)
    best = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return [round(float(weight), DIGITS) for weight in best.x]
