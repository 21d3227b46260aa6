"""Decisions that were predicted by heads which had not seen their plans. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Calibrated probabilities (rows, n) of decisions whose plans the predicting heads had not seen, over `names` (n,);
    `rows` are their numbers in the training set, `alone` (rows,) what the head by itself gave the most probable one;
    `sayings` (sayings,) that no tool fits what few tools serve."""

    names: tuple[str, ...]
    rows: NDArray[np.intp]
    probabilities: NDArray[np.float32]
    alone: NDArray[np.float32]
    sayings: NDArray[np.float64]
