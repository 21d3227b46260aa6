"""Decisions that were predicted by heads which had not seen their plans. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Calibrated probabilities (rows, labels) of decisions whose plans the predicting heads had not seen; `rows` are
    their numbers in the training set."""

    rows: NDArray[np.intp]
    probabilities: NDArray[np.float32]
