"""Scores to shares of one whole, in logarithms. Knows nothing of what they are scores of."""

from __future__ import annotations

from math import inf, log

import numpy as np
from numpy.typing import NDArray


def log_shares(scores: NDArray[np.float32]) -> float:
    """Log-scores (n,), contiguous, become log-probabilities, in place; where all are -inf they stay so. The largest as
    it was."""
    best = scores.item(scores.argmax())
    if best > -inf:
        scores -= np.float32(log(np.add.reduce(np.exp(scores - best)).item()) + best)
    return best
