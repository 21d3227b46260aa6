"""The arithmetic of a step and of a lesson in compiled calls (step.c, teach.c), where there was a C compiler.

Everything works without; numpy then does the same (graph.py, experts.py), and takes longer. Knows nothing of text.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.kernel import COUNT, DOUBLE, FLOAT, POINTER, address, layout
from edgeret_export.reference.scoring.memory import ALIKE, NONE, Neighbours
from edgeret_export.reference.scoring.offsets import KEPT, LEAST_LOG, LEAST_REST, Offsets, ordered

HISTORY = np.float32(0.5)
"""What a row of the increments' history counts for, in what it adds and in how it moves."""
MAX_SCORE = 20.0
"""What is learned moves a log-probability by at most this."""
MOST_SHARE = 0.999
"""Of the probability that newcomers have together."""
LEAST = 1e-30
"""Keeps a logarithm and a quotient finite."""


_QUERY = layout(  # as in step.c
    ("n", COUNT), ("rows", COUNT), ("width", COUNT), ("scores", POINTER), ("rows_at", POINTER),
    ("history", POINTER), ("count", COUNT), ("exponents", POINTER), ("calls", POINTER), ("last", POINTER),
    ("bag_sizes", POINTER), ("bags", POINTER), ("votes_at", POINTER), ("newcomers", COUNT),
    ("newcomers_at", POINTER), ("room", POINTER), ("stride", COUNT), ("trust", DOUBLE), ("prior", DOUBLE),
    ("least_log", FLOAT), ("most_score", FLOAT), ("history_share", FLOAT), ("alike", FLOAT),
    ("most_share", FLOAT), ("least", FLOAT),
)  # fmt: skip
_GRAPH = layout(  # as in step.c
    ("labels", COUNT), ("row_clusters", POINTER), ("row_totals", POINTER), ("stops", POINTER),
    ("targets", POINTER), ("counts", POINTER), ("anywhere", POINTER), ("cluster_prior", DOUBLE),
    ("global_prior", DOUBLE), ("cluster_share", DOUBLE), ("repeat_factor", DOUBLE),
)  # fmt: skip
_HISTORY = layout(("labels", COUNT), ("stops", POINTER), ("followers", POINTER), ("values", POINTER))  # as in step.c
_ROWS = layout(("at", POINTER), ("length", COUNT), ("counts", COUNT))  # as in arithmetic.h
_INCREMENTS = layout(  # as in teach.c
    ("rows", COUNT), ("width", COUNT), ("dimension", COUNT), ("weights", POINTER), ("bias", POINTER),
    ("squares", POINTER), ("history", POINTER), ("labels", COUNT), ("kept", COUNT), ("row_at", POINTER),
    ("row_at_length", COUNT), ("counts", COUNT), ("rate", FLOAT), ("bias_rate", FLOAT),
    ("history_share", FLOAT), ("least_residual", FLOAT), ("most_norm", FLOAT), ("most_score", FLOAT),
    ("discount", FLOAT), ("least_rest", FLOAT), ("least", FLOAT),
)  # fmt: skip
_LESSONS = layout(  # as in teach.c
    ("lessons", COUNT), ("steps", COUNT), ("lengths", POINTER), ("targets", POINTER), ("kept_labels", POINTER),
    ("kept_log_p", POINTER), ("vectors", POINTER), ("weights", POINTER), ("query_scores", POINTER),
    ("first", POINTER), ("features", POINTER),
)  # fmt: skip


def teach(
    library: ctypes.CDLL,
    rows: int,
    arrays: Sequence[NDArray[Any]],
    row_at: NDArray[np.int64],
    counts: int,
    numbers: Sequence[float | np.float32],
    labels: int,
    lessons: Lessons,
) -> None:
    """As `Increments.learn`. `arrays` are weights, bias, squares and history, float32 and contiguous; `row_at` the rows
    by label + 1, `counts` as in `Rows` (arithmetic.h), and `numbers` those of `_Increments` from `rate` on."""
    weights, _, _, history = arrays
    steps, kept = lessons.kept.labels.shape
    lengths, targets = array("q", lessons.lengths), array("q", lessons.targets)
    shown, log_p = array("f", lessons.weights), lessons.kept.log_p.astype(np.float32)
    first = np.empty(steps, np.int64)
    features = np.empty(sum([length * (length + 5) // 2 for length in lessons.lengths]), np.int64)
    room, active = np.empty((steps, rows + 1), np.float32), np.empty(rows, np.uint8)
    increments = _INCREMENTS.pack(
        rows, history.shape[1], weights.shape[1], *map(address, arrays), labels, kept, address(row_at), len(row_at),
        counts, *numbers,
    )  # fmt: skip
    told = _LESSONS.pack(
        len(lengths), steps, lengths.buffer_info()[0], targets.buffer_info()[0], address(lessons.kept.labels),
        address(log_p), address(lessons.vectors), shown.buffer_info()[0], address(lessons.query_scores),
        address(first), address(features),
    )  # fmt: skip
    library.edgeret_teach(increments, told, address(room), address(active))


def keep_compiled(
    library: ctypes.CDLL, log_p: NDArray[np.float32], positions: NDArray[np.int64], targets: Sequence[int]
) -> Offsets:
    """As `keep` (offsets.py), of arrays that may be written."""
    steps, candidates = log_p.shape
    log_p, order = np.ascontiguousarray(log_p, np.float32), np.ascontiguousarray(ordered(log_p), np.int64)
    positions, right = np.ascontiguousarray(positions, np.int64), array("q", targets)
    labels_at = np.empty(candidates, np.int32)
    labels, found = np.empty((steps, KEPT), np.int32), np.empty((steps, KEPT), np.float32)
    library.edgeret_keep(
        address(log_p), address(order), steps, candidates, min(KEPT, candidates), address(positions),
        len(positions), right.buffer_info()[0], KEPT, LEAST_LOG, address(labels_at), address(labels), address(found),
    )  # fmt: skip
    return Offsets(labels, found.astype(np.float16))


class Lessons(NamedTuple):
    """Lessons, one behind the other: how many steps each has; what was right; what was `kept` of the base; and per
    lesson its query's vector (lessons, dimension), its weight, and its scores (lessons, rows), contiguous."""

    lengths: Sequence[int]
    targets: Sequence[int]
    kept: Offsets
    vectors: NDArray[np.float32]
    weights: Sequence[float]
    query_scores: NDArray[np.float32]


def asked(contexts: Sequence[tuple[int, int, int]], called: Collection[int]) -> array[int]:
    """What a graph is asked: contexts as rows from and to (-1 where there are none) and how many lengths they stand
    for, the longest first, and the labels called."""
    return array("q", (len(contexts), len(called), *chain.from_iterable(contexts), *called))


class CompiledGraph:
    """The walks of one graph. It keeps what the library reads, so that all of it stays in its place."""

    __slots__ = ("_graph", "_kept", "_labels", "_walk")

    def __init__(self, library: ctypes.CDLL, arrays: Sequence[NDArray[Any]], numbers: Sequence[float]) -> None:
        """`arrays` are, of the tables, the rows' clusters, the sums of their counts, where their counts begin (rows +
        1,), the labels counted, the counts, and what follows anywhere (labels,); `numbers` are the smoothing's."""
        dtypes = (np.int64, np.float64, np.int64, np.int64, np.float32, np.float32)
        kept = [np.ascontiguousarray(numbers, dtype) for numbers, dtype in zip(arrays, dtypes, strict=True)]
        self._labels = len(kept[-1])
        self._graph = _GRAPH.pack(self._labels, *(column.ctypes.data for column in kept), *numbers)
        self._kept = kept
        self._walk = library.edgeret_walk

    def walk(self, shares: int, unconditional: int, question: array[int]) -> NDArray[np.float32]:
        """Probabilities (labels,) up to a factor, of the addresses of a `GraphPosition`'s arrays, and what `asked`
        gives."""
        found = np.empty(self._labels, np.float32)
        self._walk(self._graph, shares, unconditional, question.buffer_info()[0], address(found))
        return found


class CompiledRows:
    """The sparse rows of one head's history. It keeps what the library reads, so that all of it stays in its place."""

    __slots__ = ("_add", "_history", "_kept", "_labels")

    def __init__(
        self,
        library: ctypes.CDLL,
        starts: NDArray[np.int64],
        followers: NDArray[np.int64],
        values: NDArray[np.float32],
    ) -> None:
        """The rows as in `HeadArrays`."""
        given, dtypes = (starts, followers, values), (np.int64, np.int64, np.float32)
        self._kept = [np.ascontiguousarray(numbers, dtype) for numbers, dtype in zip(given, dtypes, strict=True)]
        self._labels = (len(starts) - 1) // 2
        self._history = _HISTORY.pack(self._labels, *(column.ctypes.data for column in self._kept))
        self._add = library.edgeret_add_rows

    def add(self, begun: NDArray[np.float32], rows: Sequence[int]) -> NDArray[np.float32]:
        """`begun` (labels,), contiguous and writable, with these rows added: a fresh array."""
        asked, found = array("q", rows), np.empty(self._labels, np.float32)
        self._add(self._history, address(begun), asked.buffer_info()[0], len(rows), address(found))
        return found


class Given:
    """What the library reads of a query, whatever its candidates are. It keeps the arrays, so that all of them stay in
    their places: the query is predicted for one list of candidates and judged over another."""

    __slots__ = ("at", "history", "library", "near", "scores")

    def __init__(
        self, library: ctypes.CDLL, near: Neighbours, scores: NDArray[np.float32], history: NDArray[np.float32]
    ) -> None:
        """`scores` (rows,) and `history` (features, at least rows) are the increments'."""
        self.library, self.near, self.scores, self.history = library, near, scores, history
        read = (scores, history, near.exponents, near.calls, near.bag_sizes, near.bags)
        self.at = (*map(address, read), address(near.last))


class Compiled:
    """The steps of one query. It keeps what the library reads, so that all of it stays in its place.

    `history` are the rows of the history that the increments had; `row_of` the neighbours' labels to their bags.
    """

    __slots__ = ("_judge", "_kept", "_n", "_query", "_row_of", "_step", "history")

    def __init__(
        self,
        given: Given,
        rows_at: NDArray[np.int64],
        votes_at: NDArray[np.int64],
        newcomers_at: NDArray[np.int64],
        candidates: int,
        trust: float,
        prior: float,
    ) -> None:
        """`rows_at` (rows,), `votes_at` (count,) and `newcomers_at` (newcomers,) as in `Query`, for so many
        candidates."""
        near, history = given.near, given.history
        count, rows = len(near.targets), len(given.scores)
        stride = max(candidates + 1, count, rows)
        places = [np.ascontiguousarray(numbers, np.int64) for numbers in (rows_at, votes_at, newcomers_at)]
        room = np.empty(4 * stride, np.float32)
        at_scores, at_history, exponents, calls, bag_sizes, bags, last = given.at
        at_rows, at_votes, at_newcomers = map(address, places)
        self._query = _QUERY.pack(
            candidates, rows, history.shape[1], at_scores, at_rows, at_history, count, exponents, calls, last,
            bag_sizes, bags, at_votes, len(newcomers_at), at_newcomers, address(room), stride, trust, prior, LEAST_LOG,
            MAX_SCORE, HISTORY, ALIKE, MOST_SHARE, LEAST,
        )  # fmt: skip
        self.history = history
        self._kept = (given, places, room)
        self._n, self._row_of = candidates, near.bag_rows
        self._step, self._judge = given.library.edgeret_step, given.library.edgeret_judge

    def step(
        self, base: NDArray[np.float32], features: Sequence[int], history: Sequence[int], weights: Sequence[float]
    ) -> NDArray[np.float32]:
        """Log-probabilities (n,) up to a constant after a history of labels, whose rows are `features`, from the base's
        (n,); `weights` are those of increments, memory and base."""
        bag = set(history)
        rows = [self._row_of[label] for label in bag if label in self._row_of]
        last = history[-1] if history else NONE
        asked = array("q", (len(history), last, len(bag), len(features), len(rows), *features, *rows))
        found = np.empty(self._n, np.float32)
        np.copyto(found, base)  # in its place: the library reads a number before it writes the same one
        at = address(found)
        self._step(self._query, at, asked.buffer_info()[0], *weights, at)
        return found

    def judge(
        self,
        row_at: NDArray[np.int64],
        counts: int,
        targets: Sequence[int],
        kept: Offsets,
        weights: Sequence[float],
    ) -> NDArray[np.float64]:
        """All steps of a plan over the labels: by how much increments, memory and base each say more of what was right
        than the mixture expects of them, and what it gains over the base, float64 (steps, 4). `row_at` and `counts` as
        in `teach`, `kept` what was kept of the base."""
        steps, row_of = len(targets), self._row_of
        right, bag_of = array("q", targets), array("q", [row_of.get(target, NONE) for target in targets])
        rows, log_p = _ROWS.pack(address(row_at), len(row_at), counts), kept.log_p.astype(np.float32)
        spare, asked, found = np.empty(3 * self._n, np.float32), np.empty(3 * steps + 8, np.int64), np.empty((steps, 4))
        self._judge(
            self._query, rows, steps, right.buffer_info()[0], bag_of.buffer_info()[0],
            address(kept.labels), address(log_p), log_p.shape[1], LEAST_REST, *weights, address(spare),
            address(asked), address(found),
        )  # fmt: skip
        return found
