"""DTDR-C (papers/002, section 4): query and history to a next-tool distribution, by counting in similar demonstrations.

The paper looks one cluster up and finds nothing for a history it has not seen. Here the nearest few clusters are read
together, longer contexts back off to shorter ones, and clusters back off to all demonstrations. Since every back-off
is linear, the whole cascade collapses into one weighted sum of a few sparse rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import Bundle, check_owner
from edgeret.codec import get, get_array, get_strings
from edgeret.errors import BundleError

ROLE = "graph"
GLOBAL = -1
"""The cluster number under which all demonstrations together are counted."""
PADDING = -1
"""The context entry of `<start>`, where the history is shorter than the order."""
UNKNOWN = -3
"""A called tool that no demonstration calls: a context that holds it was never seen, and backs off."""
UNUSED = -2
"""Fills the stored context of an order that is shorter than the graph's."""


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """How counts become probabilities.

    `order`: longest context, in tools. `nearest` clusters are read, weighted by softmax(cosine / `temperature`).
    `cluster_prior` and `global_prior`: how many observations the shorter context's estimate counts for, inside
    clusters and among all demonstrations. `cluster_share`: how much of a cluster's prior comes from its own shorter
    context, the rest being the global estimate for the same context. `repeat_factor`: what the probability of a tool
    that was called already is multiplied with.
    """

    order: int = 3
    nearest: int = 16
    temperature: float = 0.04
    cluster_prior: float = 2.0
    global_prior: float = 1.0
    cluster_share: float = 0.75
    repeat_factor: float = 0.1

    def to_dict(self) -> dict[str, Any]:
        """The options as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class GraphPosition:
    """A query's place in the graph: clusters (m,) with their weights (m,), the cosine to the nearest centroid, and
    what those clusters predict without any context, float32 (labels,), which all later steps back off to."""

    clusters: tuple[int, ...]
    weights: tuple[float, ...]
    similarity: float
    unconditional: NDArray[np.float32]


class Graph:
    """Cluster-conditioned Markov chains over labels (tools and `<end>`). Immutable and thread-safe."""

    def __init__(
        self,
        labels: Sequence[str],
        centroids: NDArray[np.float32],
        keys: NDArray[np.int32],
        starts: NDArray[np.int32],
        targets: NDArray[np.int32],
        counts: NDArray[np.float32],
        options: GraphOptions,
    ) -> None:
        """`centroids` are unit rows (clusters, dimension).

        Row r of the sparse table counts what followed the context `keys[r] = (cluster, n, tools…)`, shape
        (rows, 2 + order): labels `targets[starts[r]:starts[r+1]]` with `counts` of the same range.
        """
        self.labels = tuple(labels)
        self.centroids = centroids
        self.options = options
        self._targets, self._counts = targets, counts
        totals = np.add.reduceat(counts, starts[:-1]) if len(counts) else np.zeros(0, np.float32)
        ranges = zip(starts[:-1].tolist(), starts[1:].tolist(), totals.tolist(), strict=True)
        # Context first: most contexts of a step occur in few clusters or none, which one look-up tells.
        self._rows: dict[tuple[int, ...], dict[int, tuple[int, int, float]]] = {}
        for (cluster, n, *context), row in zip(keys.tolist(), ranges, strict=True):
            self._rows.setdefault(tuple(context[:n]), {})[cluster] = row
        start, stop, total = self._rows[()][GLOBAL]
        uniform = options.global_prior / len(labels)
        self._unconditional = (self._sum([(start, stop)], [1.0]) + np.float32(uniform)) / (total + options.global_prior)

    def locate(self, vector: NDArray[np.float32], nearest: int | None = None) -> GraphPosition:
        """The clusters that a unit query vector (dimension,) is read from; `nearest` overrides the option."""
        options = self.options
        cosines = self.centroids @ vector
        m = min(nearest or options.nearest, len(cosines))
        best = np.argpartition(-cosines, m - 1)[:m]
        best = best[np.argsort(-cosines[best], kind="stable")]
        top = cosines[best]
        weights = np.exp((top - top[0]) / options.temperature)
        weights /= weights.sum()
        clusters, shares = best.tolist(), weights.tolist()
        rows = [(w, self._rows[()][k]) for k, w in zip(clusters, shares, strict=True) if k in self._rows[()]]
        pooled = self._sum([row[:2] for _, row in rows], [w for w, _ in rows])
        pooled += np.float32(options.cluster_prior) * self._unconditional
        pooled /= pooled.sum()
        return GraphPosition(tuple(clusters), tuple(shares), float(top[0]), pooled)

    def distribution(self, position: GraphPosition, history: Sequence[int]) -> NDArray[np.float32]:
        """Next-label probabilities after `history` (label numbers, or UNKNOWN): float32 (labels,)."""
        options = self.options
        context = [PADDING] * options.order + list(history)
        spans: list[tuple[int, int]] = []
        scales: list[float] = []
        in_clusters, everywhere = 1.0, 0.0  # how much of the result still rests on contexts of at most n tools
        for n in range(options.order, 0, -1):
            known = self._rows.get(tuple(context[len(context) - n :]))
            if known is None:
                # No demonstration went this way: the shorter context answers for both.
                everywhere += in_clusters * (1 - options.cluster_share)
                in_clusters *= options.cluster_share
                continue
            rows = [(w, known[k]) for k, w in zip(position.clusters, position.weights, strict=True) if k in known]
            scale = in_clusters / (sum(w * row[2] for w, row in rows) + options.cluster_prior)
            for weight, row in rows:
                spans.append(row[:2])
                scales.append(scale * weight)
            everywhere += scale * options.cluster_prior * (1 - options.cluster_share)
            in_clusters = scale * options.cluster_prior * options.cluster_share
            start, stop, total = known[GLOBAL]
            spans.append((start, stop))
            scales.append(everywhere / (total + options.global_prior))
            everywhere *= options.global_prior / (total + options.global_prior)
        result = self._sum(spans, scales)
        result += np.float32(in_clusters) * position.unconditional
        result += np.float32(everywhere) * self._unconditional
        called = [label for label in history if label >= 0]
        if called:
            result[called] *= options.repeat_factor
            result /= result.sum()
        return result

    def markov(self, last: int) -> NDArray[np.float32]:
        """The static dependency retriever (ToolNet), a baseline: what followed `last` anywhere; float32 (labels,)."""
        row = self._rows.get((last,), {}).get(GLOBAL)
        if row is None:
            return np.full(len(self.labels), 1 / len(self.labels), np.float32)
        return self._sum([row[:2]], [1 / row[2]])

    def _sum(self, spans: Sequence[tuple[int, int]], scales: Sequence[float]) -> NDArray[np.float32]:
        if not spans:
            return np.zeros(len(self.labels), np.float32)
        targets = np.concatenate([self._targets[a:b] for a, b in spans])
        counts = np.concatenate([self._counts[a:b] for a, b in spans])
        counts *= np.repeat(np.array(scales, np.float32), [b - a for a, b in spans])
        return np.bincount(targets, counts, len(self.labels)).astype(np.float32)


def load_graph(bundle: Bundle) -> Graph:
    """The bundle's graph. Raises BundleError if it was made for another encoder or does not hang together."""
    where = f"{bundle.path} ({ROLE})"
    value = bundle.map(ROLE)
    check_owner(value, bundle.fingerprint(), where)
    labels = get_strings(value, "labels", where)
    stored = get(value, "options", dict, where)
    options = GraphOptions(
        order=get(stored, "order", int, where),
        nearest=get(stored, "nearest", int, where),
        **{
            key: float(get(stored, key, (int, float), where))
            for key in ("temperature", "cluster_prior", "global_prior", "cluster_share", "repeat_factor")
        },
    )
    centroids = get_array(value, "centroids", "<f4", (None, None), where)
    keys = get_array(value, "keys", "<i4", (None, options.order + 2), where)
    starts = get_array(value, "starts", "<i4", (len(keys) + 1,), where)
    targets = get_array(value, "targets", "<i4", (None,), where)
    counts = get_array(value, "counts", "<f4", (len(targets),), where)
    sound = (
        len(centroids) > 0
        and 0 < options.order <= 16
        and options.nearest > 0
        and min(options.temperature, options.cluster_prior, options.global_prior) > 0
        and len(keys) > 0
        and starts[0] == 0
        and starts[-1] == len(targets)
        and bool((np.diff(starts) > 0).all())
        and bool((counts > 0).all())
        and bool(((targets >= 0) & (targets < len(labels))).all())
        and bool(((keys[:, 1] >= 0) & (keys[:, 1] <= options.order)).all())
        and _all_counted_globally(keys)
    )
    if not sound:
        raise BundleError(f"{where}: its tables contradict each other; build the bundle again")
    return Graph(labels, centroids, keys, starts, targets, counts, options)


def _all_counted_globally(keys: NDArray[np.int32]) -> bool:
    """Whether every context that some cluster counts is counted over all demonstrations too."""
    contexts = {tuple(row) for row in keys[:, 1:].tolist()}
    counted = {tuple(row) for row in keys[keys[:, 0] == GLOBAL, 1:].tolist()}
    return contexts == counted and any(row[0] == 0 for row in counted)
