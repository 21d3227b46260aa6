"""Rows of weights in few bits: whole numbers, and for every row what 1 of them counts for. Knows nothing of what they
weigh."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import get_array
from edgeret.errors import BundleError

MAX_SCALE = 1e6
"""Times 127 it is still far from the largest number that arrays may hold."""


def from_bytes(numbers: NDArray[np.int8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows that were rounded, float32 (n, m)."""
    return numbers * scales[:, None]


def get_scales(value: Mapping[str, Any], key: str, rows: int, where: str) -> NDArray[np.float32]:
    """Stored scales, float32 (rows,). Raises BundleError for sizes that no rounding gives."""
    scales = get_array(value, key, "<f4", (rows,), where)
    if rows and not 0 <= scales.min() <= scales.max() <= MAX_SCALE:
        raise BundleError(f'{where}: "{key}" must lie between 0 and {MAX_SCALE:g}; build the bundle again')
    return scales
