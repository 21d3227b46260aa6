"""The arithmetic of a step and of a lesson in compiled calls (step.c, teach.c), where there was a C compiler.

Everything works without; numpy then does the same (graph.py, experts.py), and takes longer. Knows nothing of text.
"""

from __future__ import annotations

import ctypes
import hashlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.scoring.memory import ALIKE, NONE, Neighbours
from edgeret.scoring.offsets import LEAST_LOG, LEAST_REST, Offsets

HISTORY = np.float32(0.5)
"""What a row of the increments' history counts for, in what it adds and in how it moves."""
MAX_SCORE = 20.0
"""What is learned moves a log-probability by at most this."""
MOST_SHARE = 0.999
"""Of the probability that newcomers have together."""
LEAST = 1e-30
"""Keeps a logarithm and a quotient finite."""
FILE = Path(__file__).with_name("_step.so")
"""Where building the package puts the library."""
_POINTER, _COUNT = ctypes.c_void_p, ctypes.c_int64


class _Query(ctypes.Structure):
    """As in step.c."""

    _fields_ = (
        ("n", _COUNT), ("rows", _COUNT), ("width", _COUNT), ("scores", _POINTER), ("rows_at", _POINTER),
        ("history", _POINTER), ("count", _COUNT), ("exponents", _POINTER), ("calls", _POINTER), ("last", _POINTER),
        ("bag_sizes", _POINTER), ("bags", _POINTER), ("votes_at", _POINTER), ("newcomers", _COUNT),
        ("newcomers_at", _POINTER), ("room", _POINTER), ("stride", _COUNT), ("trust", ctypes.c_double),
        ("prior", ctypes.c_double), ("least_log", ctypes.c_float), ("most_score", ctypes.c_float),
        ("history_share", ctypes.c_float), ("alike", ctypes.c_float), ("most_share", ctypes.c_float),
        ("least", ctypes.c_float),
    )  # fmt: skip


class _Graph(ctypes.Structure):
    """As in step.c."""

    _fields_ = (
        ("labels", _COUNT), ("row_clusters", _POINTER), ("row_totals", _POINTER), ("stops", _POINTER),
        ("targets", _POINTER), ("counts", _POINTER), ("anywhere", _POINTER), ("cluster_prior", ctypes.c_double),
        ("global_prior", ctypes.c_double), ("cluster_share", ctypes.c_double), ("repeat_factor", ctypes.c_double),
    )  # fmt: skip


class _Increments(ctypes.Structure):
    """As in teach.c."""

    _fields_ = (
        ("rows", _COUNT), ("width", _COUNT), ("dimension", _COUNT), ("weights", _POINTER), ("bias", _POINTER),
        ("squares", _POINTER), ("history", _POINTER), ("row_at", _POINTER), ("row_at_length", _COUNT),
        ("labels", _COUNT), ("kept", _COUNT), ("rate", ctypes.c_float), ("bias_rate", ctypes.c_float),
        ("history_share", ctypes.c_float), ("least_residual", ctypes.c_float), ("most_norm", ctypes.c_float),
        ("most_score", ctypes.c_float), ("discount", ctypes.c_float), ("least_rest", ctypes.c_float),
        ("least", ctypes.c_float),
    )  # fmt: skip


class _Lessons(ctypes.Structure):
    """As in teach.c."""

    _fields_ = (
        ("lessons", _COUNT), ("steps", _COUNT), ("lengths", _POINTER), ("features", _POINTER), ("targets", _POINTER),
        ("kept_labels", _POINTER), ("kept_log_p", _POINTER), ("vectors", _POINTER), ("weights", _POINTER),
        ("query_scores", _POINTER),
    )  # fmt: skip


def teach(
    library: ctypes.CDLL,
    rows: int,
    arrays: Sequence[NDArray[Any]],
    numbers: Sequence[float | np.float32],
    labels: int,
    lessons: Lessons,
) -> None:
    """As `Increments.learn`. `arrays` are weights, bias, squares and history, float32 and contiguous, and the rows by
    label + 1, int64; `numbers` those of `_Increments` from `rate` on."""
    weights, _, _, history, row_at = arrays
    steps, kept = lessons.labels.shape
    integers = (array("q", lessons.lengths), array("q", lessons.features), array("q", lessons.targets))
    shown = array("f", lessons.weights)
    kept_labels, log_p = np.ascontiguousarray(lessons.labels, np.int32), np.ascontiguousarray(lessons.log_p, np.float32)
    vectors, scores = (np.ascontiguousarray(each, np.float32) for each in (lessons.vectors, lessons.query_scores))
    room, active = np.empty((steps, rows + 1), np.float32), np.empty(rows, np.uint8)
    increments = _Increments(
        rows, history.shape[1], weights.shape[1], *(each.ctypes.data for each in arrays), len(row_at), labels, kept,
        *numbers,
    )  # fmt: skip
    told = _Lessons(
        len(lessons.lengths), steps, *(each.buffer_info()[0] for each in integers), kept_labels.ctypes.data,
        log_p.ctypes.data, vectors.ctypes.data, shown.buffer_info()[0], scores.ctypes.data,
    )  # fmt: skip
    addresses = (ctypes.addressof(increments), ctypes.addressof(told))
    library.edgeret_teach(*addresses, room.ctypes.data, active.ctypes.data)


@dataclass(frozen=True, slots=True)
class Lessons:
    """Lessons, one behind the other: how many steps each has; per step how many rows of the history it adds, and these;
    what was right; of the base the labels (steps, kept) and their log-probabilities; and per lesson its query's vector
    (lessons, dimension), its weight, and its scores (lessons, rows)."""

    lengths: Sequence[int]
    features: Sequence[int]
    targets: Sequence[int]
    labels: NDArray[np.int32]
    log_p: NDArray[np.float16]
    vectors: NDArray[np.float32]
    weights: Sequence[float]
    query_scores: NDArray[np.float32]


def _sources(default: str) -> str:
    """The hash of the sources, where they are: in a checkout. A wheel has none, and a library made of its own."""
    files = [FILE.with_name(name) for name in ("step.c", "teach.c", "arithmetic.h")]
    if not all(file.exists() for file in files):
        return default
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def load() -> ctypes.CDLL | None:
    """The library, or None where it was not built or cannot be loaded here."""
    try:
        found = ctypes.CDLL(str(FILE))
        made_of = (ctypes.c_char * 65).in_dll(found, "edgeret_sources").value.decode()
        step, walk = found.edgeret_step, found.edgeret_walk
        teach, judge = found.edgeret_teach, found.edgeret_judge
    except (OSError, AttributeError, ValueError):
        return None
    if made_of != _sources(made_of):
        return None
    step.argtypes = (_POINTER, _POINTER, _POINTER, ctypes.c_double, ctypes.c_double, ctypes.c_double, _POINTER)
    walk.argtypes = (_POINTER,) * 5
    judge.argtypes = (
        *(_POINTER, _COUNT, _POINTER, _POINTER, _POINTER, _POINTER, _COUNT),
        *(ctypes.c_double,) * 4,
        *(_POINTER, _POINTER),
    )
    teach.argtypes = (_POINTER,) * 4
    step.restype = walk.restype = judge.restype = teach.restype = None
    return found


LIBRARY = load()
"""None if all is numpy's."""


class CompiledGraph:
    """The walks of one graph. It keeps what the library reads, so that all of it stays in its place."""

    __slots__ = ("_address", "_kept", "_labels", "_walk")

    def __init__(self, library: ctypes.CDLL, arrays: Sequence[NDArray[Any]], numbers: Sequence[float]) -> None:
        """`arrays` are, of the tables, the rows' clusters, the sums of their counts, where their counts begin (rows +
        1,), the labels counted, the counts, and what follows anywhere (labels,); `numbers` are the smoothing's."""
        dtypes = (np.int64, np.float64, np.int64, np.int64, np.float32, np.float32)
        kept = [np.ascontiguousarray(numbers, dtype) for numbers, dtype in zip(arrays, dtypes, strict=True)]
        self._labels = len(kept[-1])
        graph = _Graph(self._labels, *(column.ctypes.data for column in kept), *numbers)
        self._kept = (graph, kept)
        self._address = ctypes.addressof(graph)
        self._walk = library.edgeret_walk

    def walk(
        self,
        shares: int,
        unconditional: int,
        contexts: Sequence[tuple[int, int, int]],
        called: Sequence[int],
    ) -> NDArray[np.float32]:
        """Probabilities (labels,) up to a factor: of the addresses of a `GraphPosition`'s arrays, contexts as rows from
        and to (-1 where there are none) and how many lengths they stand for, the longest first, and the labels
        called."""
        asked = array("q", (len(contexts), len(called), *chain.from_iterable(contexts), *called))
        found = np.empty(self._labels, np.float32)
        self._walk(self._address, shares, unconditional, asked.buffer_info()[0], found.ctypes.data)
        return found


class Compiled:
    """The steps of one query. It keeps what the library reads, so that all of it stays in its place.

    `history` are the rows of the history that the increments had; `row_of` the neighbours' labels to their bags.
    """

    __slots__ = ("_address", "_judge", "_kept", "_n", "_row_of", "_step", "history")

    def __init__(
        self,
        library: ctypes.CDLL,
        near: Neighbours,
        scores: NDArray[np.float32],
        rows_at: NDArray[np.int64],
        votes_at: NDArray[np.int64],
        newcomers_at: NDArray[np.int64],
        history: NDArray[np.float32],
        candidates: int,
        trust: float,
        prior: float,
    ) -> None:
        """`scores` and `rows_at` (rows,), `votes_at` (count,), `newcomers_at` (newcomers,) and `history` (features,
        at least rows) as in `Query`, for so many candidates."""
        count, rows = len(near.targets), len(scores)
        stride = max(candidates + 1, count, rows)
        floats = (scores, history, near.exponents, near.calls, near.bag_sizes, near.bags)
        places = (rows_at, votes_at, newcomers_at)
        kept: list[NDArray[Any]] = [
            *(np.ascontiguousarray(numbers, np.float32) for numbers in floats),
            *(np.ascontiguousarray(numbers, np.int64) for numbers in places),
            np.ascontiguousarray(near.last, np.int32),
            np.zeros(4 * stride, np.float32),
        ]
        addresses = [numbers.ctypes.data for numbers in kept]
        at_scores, at_history, exponents, calls, bag_sizes, bags, at_rows, at_votes, at_newcomers, last, room = (
            addresses
        )
        query = _Query(
            candidates, rows, history.shape[1], at_scores, at_rows, at_history, count, exponents, calls, last,
            bag_sizes, bags, at_votes, len(newcomers_at), at_newcomers, room, stride, trust, prior, LEAST_LOG,
            MAX_SCORE, HISTORY, ALIKE, MOST_SHARE, LEAST,
        )  # fmt: skip
        self.history = history
        self._kept = (query, kept)
        self._n, self._row_of = candidates, near.bag_rows
        self._address = ctypes.addressof(query)
        self._step, self._judge = library.edgeret_step, library.edgeret_judge

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
        address = found.ctypes.data
        self._step(self._address, address, asked.buffer_info()[0], *weights, address)
        return found

    def judge(
        self,
        features: Sequence[Sequence[int]],
        targets: Sequence[int],
        kept: Offsets,
        weights: Sequence[float],
    ) -> NDArray[np.float64]:
        """All steps of a plan over the labels: by how much increments, memory and base each say more of what was right
        than the mixture expects of them, and what it gains over the base, float64 (steps, 4). `features` are the rows
        of every step's history, `kept` what was kept of the base."""
        asked: list[int] = []
        bag, rows = set[int](), list[int]()
        last = NONE
        for step, (target, added) in enumerate(zip(targets, features, strict=True)):
            asked += (step, last, len(bag), len(added), len(rows), *added, *rows)
            last = target
            if target not in bag:
                bag.add(target)
                if target in self._row_of:
                    rows.append(self._row_of[target])
        told, right = array("q", asked), array("q", targets)
        log_p, steps = kept.log_p.astype(np.float32), len(targets)
        spare, found = np.empty(3 * self._n, np.float32), np.empty((steps, 4))
        self._judge(
            self._address, steps, told.buffer_info()[0], right.buffer_info()[0], kept.labels.ctypes.data,
            log_p.ctypes.data, log_p.shape[1], LEAST_REST, *weights, spare.ctypes.data, found.ctypes.data,
        )  # fmt: skip
        return found
