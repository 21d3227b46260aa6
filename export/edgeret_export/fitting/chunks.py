"""Decisions in chunks, so that no fit holds decisions times labels numbers. Fits nothing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from edgeret_export.fitting.decisions import Decisions
from edgeret_export.fitting.history import Pairs

MAX_COUNT = 6
"""Calls from which on their number makes no difference."""
STAGES = 3
"""First call, second call, all later ones: how finely the weights of a query's parts follow the plan."""
CHUNK, LEAST_ROWS = 1 << 20, 1 << 10
"""Numbers of a chunk's logits, and its rows where labels are so many that these would be few."""
SAMPLE, LEAST_PLANS = 6, 600
"""One of so many plans is fitted first, where there are enough: from there the others take half as many steps."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Plans and their decisions, so few that what is computed of them stays in a processor's caches.

    `plans` (plans,) and `rows` (rows,) number them in the training set, and `plan` the plan of every row from 0 on.
    `staged` are the rows of every stage, and `sums` (plans, rows) add theirs up by plan. `called` (rows, 2·labels) are
    the histories' tools, and `turned` (features, rows) the same of the features that are there; `pairs` are the numbers
    of these features' pairs, and where they are in a table (features, labels). `repeats` are rows and labels of tools
    that were called, `calls` (rows,) how many were, `counted` (counts, rows) that as 1 and 0, and `targets` are rows,
    labels and shares.
    """

    plans: NDArray[np.intp]
    rows: NDArray[np.intp]
    plan: NDArray[np.intp]
    staged: list[NDArray[np.intp]]
    sums: list[sp.csr_matrix]
    called: sp.csr_matrix
    turned: sp.csr_matrix
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]]
    repeats: tuple[NDArray[np.intp], NDArray[np.intp]]
    calls: NDArray[np.intp]
    counted: sp.csr_matrix
    targets: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]]


def cut(decisions: Decisions, called: sp.csr_matrix, pairs: Pairs) -> tuple[list[Chunk], int]:
    """All decisions, chunk by chunk, and how many chunks are the sample that is fitted first; `called` are the
    histories' tools (rows, 2·labels). Plans are shuffled, since demonstrations often come sorted by their tools."""
    _, plan = np.unique(decisions.plan, return_inverse=True)
    shuffled = np.random.default_rng(0).permutation(plan.max() + 1)
    plan = shuffled[plan]
    plans, sizes = np.empty_like(shuffled), np.bincount(plan)
    plans[plan] = decisions.plan
    order, starts = np.argsort(plan, kind="stable"), np.cumsum([0, *sizes])
    of_chunk = (starts[1:] - 1) // max(CHUNK // len(decisions.labels), LEAST_ROWS)
    sample = len(plans) // SAMPLE if len(plans) >= LEAST_PLANS else len(plans)
    firsts = sorted({*np.flatnonzero(np.diff(of_chunk, prepend=-1)).tolist(), sample, len(plans)})
    calls = np.array([len(history) for history in decisions.histories], np.intp)
    shares = sp.csr_matrix(
        (decisions.target_share, (decisions.target_row, decisions.target_label)),
        shape=(len(decisions), len(decisions.labels)),
    )
    found = []
    for first, last in pairwise(firsts):
        rows = order[starts[first] : starts[last]]
        found.append(
            _chunk(plans[first:last], rows, plan[rows] - first, called[rows], pairs, calls[rows], shares[rows])
        )
    return found, firsts.index(sample)


def _chunk(
    plans: NDArray[np.intp],
    rows: NDArray[np.intp],
    plan: NDArray[np.intp],
    called: sp.csr_matrix,
    pairs: Pairs,
    calls: NDArray[np.intp],
    shares: sp.csr_matrix,
) -> Chunk:
    n, n_labels = len(rows), called.shape[1] // 2
    staged = [np.flatnonzero(np.minimum(calls, STAGES - 1) == stage) for stage in range(STAGES)]
    features = np.unique(called.indices).astype(np.int64)
    right, bag = shares.tocoo(), called[:, :n_labels].tocoo()
    return Chunk(
        plans,
        rows,
        plan,
        staged,
        [_ones(plan[chosen], chosen, (len(plans), n)) for chosen in staged],
        called,
        called[:, features].T.tocsr(),
        pairs.of(features),
        (bag.row, bag.col),
        np.minimum(calls, MAX_COUNT),
        _ones(np.minimum(calls, MAX_COUNT), np.arange(n), (MAX_COUNT + 1, n)),
        (right.row, right.col, right.data),
    )


def _ones(rows: NDArray[np.intp], columns: NDArray[np.intp], shape: tuple[int, int]) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
