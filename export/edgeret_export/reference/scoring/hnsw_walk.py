"""Walks an HNSW graph over rows in bytes, as the library does (core/src/hnsw.c). Knows nothing of files and tools."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.few_bits import to_bytes
from edgeret_export.reference.scoring.hnsw_file import Links

_SUM = 2**31 - 1
"""The largest sum of products that 32 bits hold."""


class Walk:
    """A graph that is searched with `ef` candidates. Immutable and thread-safe."""

    def __init__(self, links: Links, vectors: NDArray[np.float32], ef: int) -> None:
        """Of links that were checked, over unit rows (rows, dimension)."""
        self._links, self._ef = links, ef
        numbers, self._scales = to_bytes(vectors)
        self._numbers = numbers.astype(np.int32)  # so that products are exact
        rows, highest = len(vectors), int(links.levels.max())
        members = [np.flatnonzero(links.levels >= level).tolist() for level in range(1, highest + 1)]
        firsts = np.cumsum([rows, *map(len, members)]).tolist()
        self._above = [{row: first + i for i, row in enumerate(of)} for first, of in zip(firsts, members, strict=False)]

    def nearest(self, vector: NDArray[np.float32]) -> NDArray[np.intp]:
        """Positions (at most ef,), nearest first, of the rows that are found nearest to a vector (dimension,), by what
        the rows are in bytes. None for a vector that is not finite."""
        if not np.isfinite(vector @ vector):
            return np.empty(0, np.intp)
        largest = max(np.abs(vector).max(), np.float32(1e-12))
        step = largest / np.float32(min(32767, _SUM // (127 * len(vector))))
        asked = np.rint(vector / step).astype(np.int32)
        value, at = self._descend(asked)
        values, rows, closed, seen = [-value], [at], set[int](), {at}  # values turned round, so that they rise
        while (at := next((row for row in rows if row not in closed), -1)) >= 0:
            closed.add(at)
            fresh = [row for row in dict.fromkeys(self._targets(at)) if row not in seen]
            seen.update(fresh)
            for value, row in zip(self._values(asked, fresh), fresh, strict=True):
                if len(rows) < self._ef or -value < values[-1]:
                    place = bisect_right(values, -value)  # of equal ones the first stays ahead
                    values.insert(place, -value)
                    rows.insert(place, row)
                    del values[self._ef :], rows[self._ef :]
        return np.array(rows, np.intp)

    def _descend(self, asked: NDArray[np.int32]) -> tuple[float, int]:
        """From the entry down to level 1, always on to the nearest: where the search of level 0 begins, and its
        product."""
        at = self._links.entry
        best = self._values(asked, [at])[0]
        for lists in reversed(self._above):
            came_from = -1
            while came_from != at and at in lists:
                came_from, targets = at, self._targets(lists[at])
                for value, row in zip(self._values(asked, targets), targets, strict=True):
                    if value > best:
                        best, at = value, row
        return best, at

    def _targets(self, number: int) -> list[int]:
        """Where a list leads to."""
        links = self._links
        found: list[int] = links.targets[links.starts[number] : links.starts[number + 1]].tolist()
        return found

    def _values(self, asked: NDArray[np.int32], rows: list[int]) -> list[float]:
        """The products of some rows with a vector in whole numbers."""
        sums = self._numbers[rows] @ asked
        found: list[float] = (sums.astype(np.float32) * self._scales[rows]).tolist()
        return found
