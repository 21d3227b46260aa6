"""A request against a bundle's tools: what is computed once a request, and what once a step.

Knows nothing of planners, of thresholds and of reasons.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeret.runtime.components import Components
from edgeret.runtime.history import History
from edgeret.runtime.options import check_count
from edgeret.scoring.graph import UNKNOWN
from edgeret.stopwatch import Stopwatch
from edgeret.types import END, Candidate

UNSEEN_HITS = 64
"""Tools without demonstrations that a query competes with, when an HNSW graph finds them."""
CROWD = 16
"""Candidates for each one listed from which on selecting those listed is faster than sorting all."""
_HEAVIEST = 1e30
"""Of an unseen tool beside all labels that are left; float32 has room for the sum of a hundred million such."""
_NO_DESCRIPTION = np.full(1, -np.inf, np.float32)
"""The cosine of `<end>` to any query, where candidates are ranked by description."""


class Scorer:
    """What does not depend on a request, computed once a bundle. Immutable and thread-safe."""

    def __init__(self, components: Components) -> None:
        """Arranges the components' arrays for requests."""
        index, head = components.index, components.head
        self.components = components
        self.labels = head.labels
        self._number = {name: i for i, name in enumerate(self.labels[:-1])}
        position = {name: i for i, name in enumerate(index.names)}
        described = np.array([position[name] for name in self.labels[:-1]], np.intp)
        self.label_pieces = head.pieces(index.vectors[described])
        self._unseen = np.array([i for name, i in position.items() if name not in self._number], np.intp)
        self._unseen_vectors = index.vectors[self._unseen] if index.kind == "exact" else None
        self._names = (*self.labels, *(index.names[i] for i in self._unseen.tolist()))

    def read(self, query: str, watch: Stopwatch) -> Request:
        """Encodes a query and computes what all its steps share. Raises BundleError and InputError as the encoder
        does."""
        return Request(self, query, watch)

    def number(self, tool: str) -> int:
        """The label number of a tool, or UNKNOWN."""
        return self._number.get(tool, UNKNOWN)

    def unseen(self, vector: NDArray[np.float32]) -> tuple[tuple[str, ...], NDArray[np.float32]]:
        """What a query decides between: the labels and, behind them, tools without demonstrations, all of them or
        the nearest ones where an HNSW graph searches; and the cosines of the latter to the query's vector.
        """
        if self._unseen_vectors is not None:
            return self._names, self._unseen_vectors @ vector
        index = self.components.index
        positions, cosines = index.search(vector, UNSEEN_HITS)
        keep = np.isin(positions, self._unseen)
        return (*self.labels, *(index.names[i] for i in positions[keep].tolist())), cosines[keep]


class Request:
    """A query, encoded once. Immutable.

    `names` are what it decides between: labels (tools, then `<end>`), then unseen tools. `vector` is the query's unit
    vector, float32 (dimension,). `similarity` is the cosine to the nearest cluster of demonstrations, and
    `in_distribution` whether that is near enough. `cut` says that the encoder read only the query's beginning.
    """

    def __init__(self, scorer: Scorer, query: str, watch: Stopwatch) -> None:
        """Use `Scorer.read`."""
        components = scorer.components
        head, calibration = components.head, components.calibration
        self._scorer = scorer
        self._query = query
        vectors, self.cut = components.encoder.encode_query(query, watch)
        self.vector = vectors[0]
        # One pass over the tools' vectors serves the query itself and the head's mixtures of it and its parts.
        products = head.products(vectors, scorer.label_pieces)
        self._cosines = products[0]
        self.names, self._unseen = scorer.unseen(self.vector)
        self._unseen_weights = calibration.unseen_weights(self._unseen) if len(self._unseen) else self._unseen
        watch.lap("search")
        self._position = components.graph.locate(self.vector)
        self.similarity = self._position.similarity
        self.in_distribution = calibration.in_distribution(self.similarity)
        watch.lap("graph")
        self._query_logits = head.query_logits(self.vector, products[1:])
        watch.lap("head")

    @property
    def query(self) -> str:
        """The user's words."""
        return self._query

    @property
    def query_logits(self) -> NDArray[np.float32]:
        """The head's logits as far as the query alone gives them, by calls made, float32 (stages, labels); a copy."""
        return self._query_logits.copy()

    def probabilities(self, history: History, watch: Stopwatch) -> NDArray[np.float32]:
        """Calibrated probabilities of `names` after a history, float32, summing to 1; 0 for those that it blocks. The
        graph is walked here, and nowhere else."""
        components = self._scorer.components
        graph = components.graph.distribution(self._position, history.numbers, normalise=False)
        watch.lap("graph")
        head = components.head.logits(self._query_logits, history.numbers)
        watch.lap("head")
        weights, called = None, None
        if len(self._unseen):
            weights = self._unseen_weights
            if UNKNOWN in history.numbers:
                made = {call.tool for call in history.calls}
                called = np.array([name in made for name in self.names[len(self._scorer.labels) :]])
        if blocked := history.blocked:
            fused = self._fuse_others(blocked, head, graph, weights, called)
        else:
            fused = components.calibration.fuse(head, graph, weights, called)
        watch.lap("fuse")
        return fused

    def _fuse_others(
        self,
        blocked: frozenset[str],
        head: NDArray[np.float32],
        graph: NDArray[np.float32],
        unseen: NDArray[np.float32] | None,
        called: NDArray[np.bool_] | None,
    ) -> NDArray[np.float32]:
        """What `Calibration.fuse` gives for the names that are not blocked, which keep their odds; 0 for the others."""
        calibration, n = self._scorer.components.calibration, len(head)
        left = np.array([name not in blocked for name in self.names])
        if unseen is not None:
            # They were weighed beside all labels together, so also beside those that are left out now.
            weights = calibration.parameters
            joint = weights.head_weight * head.astype(np.float64) + weights.graph_weight * np.log(graph)
            shares = np.exp(joint - joint.max())
            unseen = unseen[left[n:]].astype(np.float64) * (shares.sum() / max(shares[left[:n]].sum(), 1 / _HEAVIEST))
            unseen = np.minimum(unseen, _HEAVIEST).astype(np.float32)
            called = None if called is None else called[left[n:]]
        fused = np.zeros(len(left), np.float32)
        fused[left] = calibration.fuse(head[left[:n]], graph[left[:n]], unseen, called)
        return fused

    def ranked(
        self, values: NDArray[np.float32], k: int | None, blocked: frozenset[str] = frozenset()
    ) -> tuple[Candidate, ...]:
        """The first `k` of `names` that are not `blocked` by `values`, which measure how well they fit; equal ones keep
        their order."""
        n, most = len(values), None if k is None else k + len(blocked)
        if most is not None and most * CROWD < n:
            listed = np.flatnonzero(values >= np.partition(values, n - most)[n - most])
            order = listed[(-values[listed]).argsort(kind="stable")[:most]]
        else:
            order = (-values).argsort(kind="stable")[:most]
        if blocked:
            order = order[[self.names[position] not in blocked for position in order.tolist()]][:k]
        names = map(self.names.__getitem__, order.tolist())
        return tuple(map(Candidate._make, zip(names, values[order].tolist(), strict=True)))

    def by_description(self, k: int | None = None, blocked: frozenset[str] = frozenset()) -> tuple[Candidate, ...]:
        """The `k` tools (None: all) whose descriptions are nearest to the query, nearest first, whatever was
        demonstrated; but for those that are `blocked`. Each has its own probability of being right, so they need not
        sum to 1. Raises InputError.
        """
        check_count("k", k, optional=True)
        # `<end>` has no description; it stands between labels and unseen tools, comes last of all, and is left out.
        cosines = np.concatenate((self._cosines, _NO_DESCRIPTION, self._unseen))
        probability = self._scorer.components.calibration.search_probability
        ranked = self.ranked(cosines, k, blocked)
        return tuple(Candidate(name, probability(cosine)) for name, cosine in ranked if name != END)
