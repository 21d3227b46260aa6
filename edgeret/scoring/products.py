"""Products of a few rows with many vectors, in pieces that stay fast. Knows nothing of what they mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PIECE = 400_000
"""Multiplications in one matrix product. Above some 500,000 OpenBLAS packs its operands and wakes its threads, for four
rows: 1,000 tools took 160 us at once and 41 in pieces (docs/DESIGN.md, decisions)."""

Pieces = tuple[NDArray[np.float32], ...]


def pieces(vectors: NDArray[np.float32], rows: int) -> Pieces:
    """Vectors (n, dimension) as `product` takes them: transposed, and cut so that a product of `rows` rows stays
    small."""
    step = max(1, PIECE // (rows * vectors.shape[1]))
    return tuple(vectors[start : start + step].T for start in range(0, len(vectors), step)) or (vectors.T,)


def product(rows: NDArray[np.float32], cut: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """rows (m, dimension) times all vectors: float32 (m, n)."""
    if len(cut) == 1:
        found: NDArray[np.float32] = rows @ cut[0]
        return found
    return np.concatenate([rows @ piece for piece in cut], axis=1)
