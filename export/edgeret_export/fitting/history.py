"""What decisions' histories are to the head: rows of features, and which labels each of them was followed by. Fits
nothing.

Tools and labels make pairs, of which demonstrations show few: 260 tools could make 135,000, and 2,627 plans show 3,800.
Only those have weights of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from edgeret_export.fitting.decisions import Decisions

_NEXT_TO_NOTHING = np.float32(1e-20)
"""Keeps a place in a sparse matrix; no share of a decision is so small."""


def tools_called(decisions: Decisions) -> sp.csr_matrix:
    """The tools of every history, 1 each, whose columns are: bag of tools called, then last tool (rows, 2·labels)."""
    n_labels = len(decisions.labels)
    features = [
        (*sorted(set(history)), *((n_labels + history[-1],) if history else ())) for history in decisions.histories
    ]
    starts = np.cumsum([0, *map(len, features)])
    columns = np.fromiter((column for row in features for column in row), np.int32, starts[-1])
    return sp.csr_matrix((np.ones(len(columns), np.float32), columns, starts), shape=(len(features), 2 * n_labels))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Features and labels that some decision shows together: `followers[starts[f] : starts[f + 1]]` are the labels of
    feature f, rising. `expected` (pairs,) is how far from a pair that nobody showed each one is, in nats: by Good and
    Turing the logarithm of a feature's decisions over its pairs that only one decision shows, 0 for pairs that none
    shows and that are here all the same. `shown` (pairs,) is how many decisions show each."""

    starts: NDArray[np.int64]
    followers: NDArray[np.int64]
    expected: NDArray[np.float32]
    shown: NDArray[np.float32]

    def weights(self, values: NDArray[np.float32]) -> sp.csr_matrix:
        """Values of the pairs (pairs,) as a matrix (features, labels); labels are half as many."""
        n = len(self.starts) - 1
        return sp.csr_matrix((values, self.followers, self.starts), shape=(n, n // 2))

    def among(self, matrix: sp.csr_matrix) -> NDArray[np.float32]:
        """What a matrix (features, labels) has for each of the pairs (pairs,), 0 where it has nothing."""
        features = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return np.asarray(matrix[features, self.followers], np.float32).ravel()

    def itself(self) -> NDArray[np.int64]:
        """The pairs of every tool that was called and itself as the next one."""
        features = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return np.flatnonzero(features == self.followers)

    def of(self, features: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs of some features: their numbers, and where they are in a table of these features (as rows) and all
        labels that lies flat in memory."""
        counts = self.starts[features + 1] - self.starts[features]
        rows = np.repeat(np.arange(len(features)), counts)
        numbers = np.arange(len(rows)) + np.repeat(self.starts[features] - (np.cumsum(counts) - counts), counts)
        return numbers, rows * ((len(self.starts) - 1) // 2) + self.followers[numbers]


def pairs_shown(decisions: Decisions, called: sp.csr_matrix) -> Pairs:
    """The pairs of `tools_called` and of what was accepted after them; and every tool that was called with itself: what
    a repetition weighs is one number for all of them."""
    n = len(decisions.labels)
    shares = decisions.target_share * decisions.weight[decisions.target_row]
    accepted = sp.csr_matrix((shares, (decisions.target_row, decisions.target_label)), shape=(len(decisions), n))
    tools = np.arange(n - 1)
    itself = sp.csr_matrix((np.full(n - 1, _NEXT_TO_NOTHING), (tools, tools)), shape=(2 * n, n))
    found = (called.T.tocsr() @ accepted + itself).tocsr()
    found.sort_indices()
    starts, shown = found.indptr.astype(np.int64), found.data
    features = np.repeat(np.arange(2 * n), np.diff(starts))
    there = shown > 2 * _NEXT_TO_NOTHING
    once = np.bincount(features, there & (shown <= 1 + 1e-5), minlength=2 * n)
    expected = np.log((called.T @ decisions.weight + 1) / (once + 1)).clip(min=0)
    return Pairs(
        starts,
        found.indices.astype(np.int64),
        (expected[features] * there).astype(np.float32),
        shown.astype(np.float32),
    )
