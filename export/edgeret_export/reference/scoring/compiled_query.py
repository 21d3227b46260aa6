"""What a new query needs before its first step, in compiled calls (first.c), where there was a C compiler.

Everything works without; numpy then does the same (graph.py, head.py, reading.py), and takes longer. Knows nothing of
text.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.kernel import COUNT, DOUBLE, FLOAT, POINTER, Kept, address, layout

MOST_NEAREST, MOST_DIMENSION = 64, 4096
"""Clusters that the library reads at most, and the numbers of a vector; as in first.c. Beyond, numpy does it."""
_POSTINGS = layout(  # as in first.c
    ("tools", COUNT), ("starts", POINTER), ("places", POINTER), ("rarity", POINTER), ("per_name", POINTER),
    ("per_parameters", POINTER), ("per_text", POINTER),
)  # fmt: skip
_FLOW = (("pairs", COUNT), ("takers", POINTER), ("givers", POINTER), ("shares", POINTER), ("weight", DOUBLE))
_TOOLS = layout(  # as in first.c
    ("tools", COUNT), ("end", COUNT), ("name", FLOAT), ("parameters", FLOAT), ("coverage", FLOAT), ("text", FLOAT),
    ("window", FLOAT), ("clause", FLOAT), ("third", FLOAT), ("next_clause", FLOAT), ("later", FLOAT), ("owed", POINTER),
    *_FLOW, *_FLOW,
)  # fmt: skip
_CENTROIDS = layout(  # as in first.c
    ("rows", COUNT), ("dimension", COUNT), ("exact", POINTER), ("few", POINTER), ("scales", POINTER),
    ("errors", POINTER),
)  # fmt: skip
_BEGINNING = layout(  # as in first.c
    ("row", COUNT), ("row_stop", COUNT), ("labels", COUNT), ("row_clusters", POINTER), ("stops", POINTER),
    ("targets", POINTER), ("counts", POINTER), ("anywhere", POINTER), ("cluster_prior", DOUBLE),
    ("temperature", DOUBLE),
)  # fmt: skip
_LOGITS = layout(  # as in first.c
    ("labels", COUNT), ("calls", COUNT), ("mixed", COUNT), ("dimension", COUNT), ("weights", POINTER),
    ("by_calls", POINTER), ("stages", POINTER), ("mixture", POINTER), ("spelling", POINTER), ("scales", POINTER),
    ("prior_weight", DOUBLE),
)  # fmt: skip


class CompiledWords:
    """Where the words of a set of tools are. It keeps what the library reads, so that all of it stays in its place."""

    __slots__ = ("_kept", "_overlaps", "_postings", "_tools")

    def __init__(self, library: ctypes.CDLL, starts: Any, places: Any, by_number: Sequence[NDArray[Any]]) -> None:
        """`starts` and `places` as in `_Postings` of the lexicon; `by_number` are the rarity of words, and what
        tools' names', parameters' and texts' words are multiplied with."""
        self._kept = Kept((starts, np.int64), (places, np.int64), *((numbers, np.float32) for numbers in by_number))
        self._tools, self._overlaps = len(by_number[1]), library.edgeret_overlaps
        self._postings = _POSTINGS.pack(self._tools, *self._kept.at)

    def overlaps(self, words: NDArray[np.int64]) -> tuple[NDArray[np.float32], np.float32]:
        """What different words, by number (k,), share with every tool (4, tools), as in `Overlaps.shared`, and what
        all of them weigh."""
        found = np.empty((4, self._tools), np.float32)
        total = self._overlaps(self._postings, address(words), len(words), address(found))
        return found, np.float32(total)


class CompiledTools:
    """The tools that a query is read among. It keeps what the library reads, so that all of it stays in its place."""

    __slots__ = ("_kept", "_n", "_static", "_tools")

    def __init__(
        self,
        library: ctypes.CDLL,
        tools: int,
        end: int,
        weights: Sequence[float],
        owed: NDArray[np.float32] | None,
        flows: Sequence[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64], float]],
    ) -> None:
        """`weights` are those of name, parameters, coverage, text, window and clause, and of third, next clause and
        later windows before any call; `owed` what tools then lack (tools,); `flows` are two: takers, givers, what one
        giver counts for, and the weight of giving to what is wanted."""
        # Every request that a search narrows down has tools of its own, and no flow among them.
        kept = [Kept((t, np.int64), (g, np.int64), (share, np.float32)) if len(t) else None for t, g, share, _ in flows]
        packed = [(len(flow[0]), *(a.at if a else (0, 0, 0)), flow[3]) for flow, a in zip(flows, kept, strict=True)]
        kept.append(None if owed is None else Kept((owed, np.float32)))
        at = 0 if kept[-1] is None else kept[-1].at[0]
        self._tools = _TOOLS.pack(tools, end, *weights, at, *packed[0], *packed[1])
        self._kept, self._n, self._static = kept, tools, library.edgeret_static

    def over(self, tools: int, end: int) -> CompiledTools:
        """The same weights and flows for so many other tools; for whoever has no flow."""
        other = object.__new__(CompiledTools)
        other._tools = _TOOLS.pack(tools, end, *_TOOLS.unpack(self._tools)[2:])
        other._kept, other._n, other._static = self._kept, tools, self._static
        return other

    def static(
        self, products: NDArray[np.float32], rows: int, windows: int, shared: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """The best window's and the best clause's cosine, the part of the scores that no call changes, and the scores
        before any call (4, tools): from cosines of so many rows and windows, and of clauses behind them, to all tools,
        and `Overlaps.shared`."""
        n = self._n
        found = np.empty((5, n), np.float32)
        at, room = address(products), address(found)
        begin, behind = at + 4 * n * rows, at + 4 * n * (rows + windows)
        self._static(
            self._tools, at, rows - 1, begin, windows, behind, len(products) - rows - windows, address(shared),
            room + 4 * 4 * n, room,
        )  # fmt: skip
        return found[:4]


class CompiledClusters:
    """What locates a query among a graph's clusters. It keeps what the library reads, so that it stays in its place.

    Bytes stand for the centroids, a quarter of the memory: after an encoding all of it comes from far away. Rows that
    may be among the nearest for all that their bytes are off are compared exactly.
    """

    __slots__ = ("_beginning", "_centroids", "_kept", "_labels", "_locate", "_most", "_rows")

    def __init__(
        self,
        library: ctypes.CDLL,
        centroids: NDArray[np.float32],
        beginning: Sequence[int],
        arrays: Sequence[NDArray[Any]],
        numbers: tuple[int, float, float],
    ) -> None:
        """`beginning` is the shortest context's rows, from and to; `arrays` are the rows' clusters, where their counts
        begin, the labels counted, the counts, and what follows anywhere (labels,); `numbers` are how many clusters are
        read, the clusters' prior and the temperature."""
        scales = np.maximum(np.abs(centroids).max(axis=1), np.float32(1e-12)) / np.float32(127)
        rows = centroids / scales[:, None]
        few = np.rint(rows).astype(np.int8)
        rows -= few
        errors = np.sqrt(np.einsum("ij,ij->i", rows, rows)) * scales * np.float32(1.001)
        dtypes = (np.int64, np.int64, np.int64, np.float32, np.float32)
        self._kept = (
            Kept((centroids, np.float32), (few, np.int8), (scales, np.float32), (errors, np.float32)),
            Kept(*zip(arrays, dtypes, strict=True)),
        )
        self._rows, self._labels, self._most = len(centroids), len(arrays[-1]), numbers[0]
        self._centroids = _CENTROIDS.pack(*centroids.shape, *self._kept[0].at)
        self._beginning = _BEGINNING.pack(*beginning, self._labels, *self._kept[1].at, *numbers[1:])
        self._locate = library.edgeret_locate

    def locate(
        self, vector: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], float, NDArray[np.float32], tuple[int, int]]:
        """A `GraphPosition`'s fields, of a vector (dimension,)."""
        rows, labels = self._rows, self._labels
        clusters, room = np.empty(self._most, np.int64), np.empty(2 * rows + 1 + labels, np.float32)
        given = np.ascontiguousarray(vector, np.float32)
        at_shares = address(room)
        at_pooled = at_shares + 4 * (rows + 1)
        similarity = self._locate(
            self._centroids, self._beginning, address(given), self._most, at_pooled + 4 * labels, address(clusters),
            at_shares, at_pooled,
        )  # fmt: skip
        return clusters, room[: rows + 1], similarity, room[rows + 1 : rows + 1 + labels], (at_shares, at_pooled)


class CompiledLogits:
    """What a head makes of a query. It keeps what the library reads, so that all of it stays in its place."""

    __slots__ = ("_calls", "_kept", "_labels", "_logits", "_made")

    def __init__(
        self,
        library: ctypes.CDLL,
        weights: NDArray[np.float32],
        by_calls: NDArray[np.float32],
        stages: NDArray[np.intp],
        mixture: NDArray[np.float32],
        spelling: NDArray[np.int8],
        scales: NDArray[np.float32],
        prior_weight: float,
    ) -> None:
        """Weights (labels, dimension); by numbers of calls, two at least, (calls, labels), their rows of the mixture
        (calls,), the mixture (stages, 1 + SEGMENTS), the weights of the spelling (buckets, labels) and their scales
        (labels,)."""
        self._calls, self._labels = by_calls.shape
        self._kept = Kept(
            *((weights, np.float32), (by_calls, np.float32), (stages, np.int64), (mixture, np.float32)),
            *((spelling, np.int8), (scales, np.float32)),
        )
        sizes = (self._labels, self._calls, mixture.shape[1], weights.shape[1])
        self._logits = _LOGITS.pack(*sizes, *self._kept.at, prior_weight)
        self._made = library.edgeret_query_logits

    def made(
        self,
        vector: NDArray[np.float32],
        static: NDArray[np.float32],
        cosines: NDArray[np.float32],
        spelt: tuple[NDArray[np.intp], NDArray[np.float32]],
    ) -> NDArray[np.float32]:
        """As `FactoredHead.query_logits`."""
        buckets, values = spelt
        given = np.ascontiguousarray(vector, np.float32)
        found = np.empty((self._calls, self._labels), np.float32)
        self._made(
            self._logits, address(given), address(static), address(cosines), cosines.shape[1], address(buckets),
            address(values), len(buckets), address(found),
        )  # fmt: skip
        return found
