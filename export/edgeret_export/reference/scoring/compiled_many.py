"""What a request among very many tools needs, in compiled calls (many.c), where there was a C compiler.

Everything works without; hnswlib and numpy then do the same (index.py, lexicon.py), and take longer. Knows nothing of
text.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.kernel import COUNT, POINTER, Kept, address, layout
from edgeret_export.reference.scoring.hnsw_file import Links

MOST_FOUND, MOST_LINKS = 64, 32
"""Rows or tools that one call finds, and links of a list, at most; as in many.c."""
_LINE = 64
"""Bytes that processors fetch from memory at once."""
_LINKS = layout(  # as in many.c
    ("rows", COUNT), ("dimension", COUNT), ("entry", COUNT), ("levels", COUNT), ("few", POINTER),
    ("scales", POINTER), ("starts", POINTER), ("targets", POINTER), ("members", POINTER), ("begins", POINTER),
)  # fmt: skip
_WORDS = layout(  # as in many.c
    ("tools", COUNT), ("tools_starts", POINTER), ("tools_of", POINTER), ("starts", POINTER), ("numbers", POINTER),
    ("rarity", POINTER),
)  # fmt: skip


class CompiledLinks:
    """An HNSW graph over an index's rows in bytes. It keeps what the library reads, so that all of it stays in its
    place. Thread-safe."""

    __slots__ = ("_dimension", "_kept", "_links", "_most", "_nearest")

    def __init__(self, library: ctypes.CDLL, links: Links, vectors: NDArray[np.float32], most: int) -> None:
        """`links` that were checked, over unit rows float32 (elements, dimension); a search keeps `most` candidates.
        Raises ValueError for more of them than MOST_FOUND, and for a list of more than MOST_LINKS."""
        if most > MOST_FOUND or np.diff(links.starts).max() > MOST_LINKS:
            raise ValueError(f"the library has room for {MOST_FOUND} candidates and {MOST_LINKS} links of a list")
        (rows, dimension), levels = vectors.shape, int(links.levels.max())
        members = [np.flatnonzero(links.levels >= level) for level in range(1, levels + 1)]
        begins = np.cumsum([0, *map(len, members)])
        room = np.empty(vectors.size + _LINE, np.int8)
        few = room[-room.ctypes.data % _LINE :][: vectors.size]  # a row in as few cache lines as can be
        scales, given = np.empty(rows, np.float32), np.ascontiguousarray(vectors, np.float32)
        library.edgeret_few(address(given), rows, dimension, address(few), address(scales))
        self._kept = Kept(
            (few, np.int8), (scales, np.float32), (links.starts, np.int32), (links.targets, np.int32),
            (np.concatenate((np.empty(0, np.int32), *members)), np.int32), (begins, np.int64),
        )  # fmt: skip
        self._most, self._dimension, self._nearest = most, dimension, library.edgeret_nearest
        self._links = _LINKS.pack(rows, dimension, links.entry, levels, *self._kept.at)

    def nearest(self, vector: NDArray[np.float32]) -> NDArray[np.intp]:
        """As `Neighbours.nearest`."""
        found, given = np.empty(self._most, np.int64), np.ascontiguousarray(vector, np.float32)
        asked = np.empty(self._dimension, np.int16)
        count = self._nearest(self._links, address(given), self._most, address(asked), address(found))
        return found[: max(count, 0)]


class CompiledPostings:
    """Which words some tools have. It keeps what the library reads, so that all of it stays in its place. Thread-safe.

    Words are given by different numbers.
    """

    __slots__ = ("_covering", "_kept", "_shared", "_words")

    def __init__(self, library: ctypes.CDLL, tools: int, arrays: Sequence[NDArray[Any]]) -> None:
        """`arrays` are where the tools of each word begin, and the tools whose texts have it; where the words of each
        place begin, and the words; and the rarity of words."""
        self._kept = Kept(*((numbers, np.int32) for numbers in arrays[:4]), (arrays[4], np.float32))
        self._words = _WORDS.pack(tools, *self._kept.at)
        self._covering, self._shared = library.edgeret_covering, library.edgeret_shared

    def covering(self, words: NDArray[np.int64], k: int) -> NDArray[np.intp]:
        """As `Lexicon.covering`, of at most MOST_FOUND tools."""
        found, cursors = np.empty(k, np.int64), np.empty(len(words), np.int32)
        count = self._covering(self._words, address(words), len(words), k, address(cursors), address(found))
        return found[:count]

    def shared(
        self, words: NDArray[np.int64], total: float, positions: NDArray[np.intp]
    ) -> tuple[NDArray[np.float32], list[int]]:
        """What words that together weigh `total` share with the tools at these positions, (4, positions), as in
        `Overlaps.shared`; and which of the tools have them for a name, numbered from 0."""
        n, asked, given = len(positions), np.sort(words), np.ascontiguousarray(positions, np.int64)
        out, said = np.empty((4, n), np.float32), np.empty(n, np.int64)
        count = self._shared(
            self._words, address(given), n, address(asked), len(words), total, address(out), address(said)
        )
        return out, said[:count].tolist()
