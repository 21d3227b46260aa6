"""Products of a few rows with many vectors, in pieces that stay fast. Knows nothing of what they mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PIECE = 400_000
"""Multiplications in one matrix product. Above some 500,000 OpenBLAS packs its operands and wakes its threads, for four
rows: 1,000 tools took 160 us at once and 41 in pieces (docs/DESIGN.md, decisions)."""


def product(rows: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """rows (m, dimension) times all vectors (n, dimension), transposed: float32 (m, n)."""
    step = max(1, PIECE // (len(rows) * vectors.shape[1]))
    if step >= len(vectors):
        found: NDArray[np.float32] = rows @ vectors.T
        return found
    return np.concatenate([rows @ vectors[at : at + step].T for at in range(0, len(vectors), step)], axis=1)


def cosines(vectors: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """All vectors (n, dimension) times one (dimension,), float32 (n,), in pieces of the same size: on a busy machine
    waking OpenBLAS's threads for 1,200 rows took 16 ms, and the pieces 33 us."""
    step = max(1, PIECE // vectors.shape[1])
    if step >= len(vectors):
        found: NDArray[np.float32] = vectors @ vector
        return found
    return np.concatenate([vectors[at : at + step] @ vector for at in range(0, len(vectors), step)])
