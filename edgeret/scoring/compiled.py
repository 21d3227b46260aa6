"""A step's arithmetic in compiled calls (step.c), where the package was built with a C compiler.

Everything works without; numpy then does the same (graph.py, experts.py), and takes longer. Knows nothing of text.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.scoring.increments import HISTORY, MAX_SCORE
from edgeret.scoring.memory import ALIKE, NONE, Neighbours
from edgeret.scoring.offsets import LEAST_LOG

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


def _library() -> ctypes.CDLL | None:
    """The library, or None where it was not built or cannot be loaded here."""
    try:
        found = ctypes.CDLL(str(FILE))
        step, walk = found.edgeret_step, found.edgeret_walk
    except (OSError, AttributeError):
        return None
    step.argtypes = (_POINTER, _POINTER, _POINTER, ctypes.c_double, ctypes.c_double, ctypes.c_double, _POINTER)
    walk.argtypes = (_POINTER,) * 5
    step.restype = walk.restype = None
    return found


LIBRARY = _library()
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

    __slots__ = ("_address", "_kept", "_n", "_row_of", "_step", "history")

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
        self._step = library.edgeret_step

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
