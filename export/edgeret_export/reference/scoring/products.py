"""Products of a few rows with many vectors, in pieces that stay fast. Knows nothing of what they mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PIECE = 400_000
"""Multiplications in one matrix product. Above some 500,000 OpenBLAS packs its operands and wakes its threads, for four
rows: 1,000 tools took 160 us at once and 41 in pieces (docs/decisions)."""


def product(rows: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """rows (m, dimension) times all vectors (n, dimension), transposed: float32 (m, n)."""
    step = max(1, PIECE // (len(rows) * vectors.shape[1]))
    if step >= len(vectors):
        found: NDArray[np.float32] = rows @ vectors.T
        return found
    return np.concatenate([rows @ vectors[at : at + step].T for at in range(0, len(vectors), step)], axis=1)


def cosines(vectors: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """All vectors (n, dimension) times one (dimension,) or several (dimension, m), float32 (n,) or (n, m), in pieces of
    the same size: on a busy machine waking OpenBLAS's threads for 1,200 rows took 16 ms, and the pieces 33 us."""
    step = max(1, PIECE // vector.size)
    if step >= len(vectors):
        found: NDArray[np.float32] = vectors @ vector
        return found
    return np.concatenate([vectors[at : at + step] @ vector for at in range(0, len(vectors), step)])


def rows_at(vectors: NDArray[np.float32], positions: NDArray[np.intp]) -> NDArray[np.float32]:
    """Copies of vectors (n, dimension) at `positions` (m,) below n, zeros at a negative one: float32 (m, dimension)."""
    found = np.empty((len(positions), vectors.shape[1]), np.float32)
    np.take(vectors, np.maximum(positions, 0), axis=0, out=found)
    found[positions < 0] = 0.0
    return found


def with_others(first: int, others: NDArray[np.intp]) -> NDArray[np.intp]:
    """The positions below `first` and those of few `others` (m,), rising, each once."""
    return np.concatenate((np.arange(first), np.unique(others[others >= first])))
