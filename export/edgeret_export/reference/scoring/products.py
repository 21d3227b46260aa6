"""Products of a few rows with many vectors, in pieces that stay fast. Knows nothing of what they mean."""

from __future__ import annotations

from ctypes import CDLL

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.kernel import LIBRARY, Kept, address

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


class Columns:
    """Vectors that rows are multiplied with again and again, arranged for that: OpenBLAS's product of 17 rows with 260
    vectors takes three to five times as long. It keeps what the library reads, so that it stays in its place."""

    LEAST, MOST = 32, 1024  # vectors; OpenBLAS is as fast with fewer, and with more

    __slots__ = ("_dimension", "_kept", "_n", "_products")

    def __init__(self, library: CDLL, vectors: NDArray[np.float32]) -> None:
        """`vectors` (n, dimension) are copied."""
        self._n, self._dimension = vectors.shape
        self._kept, self._products = Kept((vectors.T, np.float32)), library.edgeret_products

    def product(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """As `product` of these vectors; `rows` are contiguous."""
        found = np.empty((len(rows), self._n), np.float32)
        self._products(address(rows), len(rows), self._kept.at[0], self._n, self._dimension, address(found))
        return found


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
    positions = np.ascontiguousarray(positions, np.int64)
    if LIBRARY is not None and vectors.dtype == np.float32 and vectors.flags.c_contiguous:
        # numpy waits for each of these far places of memory before it goes to the next one.
        LIBRARY.edgeret_rows(address(vectors), found.shape[1], address(positions), len(positions), address(found))
        return found
    np.take(vectors, np.maximum(positions, 0), axis=0, out=found)
    found[positions < 0] = 0.0
    return found


def with_others(first: int, others: NDArray[np.intp]) -> NDArray[np.intp]:
    """The positions below `first` and those of few `others` (m,), rising, each once."""
    if LIBRARY is not None:
        found, given = np.empty(first + len(others), np.int64), np.ascontiguousarray(others, np.int64)
        return found[: LIBRARY.edgeret_union(first, address(given), len(given), address(found))]
    return np.concatenate((np.arange(first), np.unique(others[others >= first])))
