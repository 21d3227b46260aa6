"""Rows of weights rounded to few bits, two numbers in a byte or one. `edgeret.bundle.few_bits` reads the latter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.few_bits import from_bytes


def to_bytes(rows: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows (n, m) as whole numbers from -127 to 127, int8 (n, m), and their scales, float32 (n,): a row's largest
    magnitude becomes 127."""
    return _rounded(rows, 127)


def to_halves(rows: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows (n, m), m even, as whole numbers from -7 to 7, two in a byte: int8 (n, m / 2), whose lower half is the
    number at an even place, and whose upper half the one behind it; and their scales, float32 (n,)."""
    numbers, scales = _rounded(rows, 7)
    return (numbers[:, ::2] & 15 | numbers[:, 1::2] << 4).astype(np.int8), scales


def from_halves(pairs: NDArray[np.int8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """What `to_halves` rounded, float32 (n, m)."""
    return from_bytes(unpaired(pairs), scales)


def unpaired(pairs: NDArray[np.int8]) -> NDArray[np.int8]:
    """The whole numbers that `to_halves` put two in a byte, int8 (n, m)."""
    numbers = np.empty((len(pairs), 2 * pairs.shape[1]), np.int8)
    numbers[:, ::2] = (pairs << 4) >> 4  # the shift back brings the sign along
    numbers[:, 1::2] = pairs >> 4
    return numbers


def _rounded(rows: NDArray[np.float32], most: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    scales = (np.abs(rows).max(axis=1, initial=0.0) / most).astype(np.float32)
    return np.rint(rows / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8), scales
