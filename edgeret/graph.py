"""DTDR-C (the DTDR paper, section 4): query and history to a next-tool distribution, by counting alike demonstrations.

The paper looks one cluster up and finds nothing for a history it has not seen. Here the nearest few clusters are read
together, longer contexts back off to shorter ones, and clusters back off to all demonstrations. Since every back-off
is linear, the whole cascade collapses into one weighted sum of a few sparse rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp
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


NARROW = 32
"""Labels up to which plain Python beats an array of all labels."""


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
    nearest: int = 12
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
    """A query's place in the graph: its clusters with their shares (summing to 1), the cosine to the
    nearest centroid, and what those clusters predict without any context, float32 (labels,), which all steps back
    off to."""

    shares: Mapping[int, float]
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
        # A step reads some tens of numbers from rows of two or three: plain lists beat arrays there. Rows of one
        # context lie side by side, the one of all demonstrations first (GLOBAL sorts before every cluster).
        order = np.lexsort((keys[:, 0], *keys[:, :0:-1].T))
        keys, sizes = keys[order], np.diff(starts)[order]
        gather = np.repeat(starts[:-1][order] - np.cumsum(sizes) + sizes, sizes) + np.arange(len(targets))
        targets, counts = targets[gather], counts[gather]
        stops = np.cumsum(sizes)
        same: dict[float, float] = {}  # most counts are equal; one object for each value saves memory
        self._targets: list[int] = targets.tolist()
        self._counts = [same.setdefault(count, count) for count in counts.tolist()]
        self._clusters: list[int] = keys[:, 0].tolist()
        self._stops: list[int] = [0, *stops.tolist()]
        self._totals: list[float] = np.add.reduceat(counts, stops - sizes).tolist()
        first = np.flatnonzero(np.append(True, (keys[1:, 1:] != keys[:-1, 1:]).any(axis=1)))
        self._contexts: dict[tuple[int, ...], range] = {}
        self._by_cluster: dict[tuple[int, ...], dict[int, int]] = {}
        for (n, *tools), start, stop in zip(
            keys[first, 1:].tolist(), first.tolist(), [*first[1:].tolist(), len(keys)], strict=True
        ):
            context = tuple(tools[:n])
            self._contexts[context] = range(start, stop)
            if stop - start > NARROW:
                self._by_cluster[context] = {self._clusters[row]: row for row in range(start + 1, stop)}
        self._everywhere: dict[tuple[int, ...], NDArray[np.float32]] = {}
        self._unconditional = np.zeros((len(centroids), len(self.labels)), np.float32)
        for row in self._contexts[()][1:]:
            _scatter(self._unconditional[self._clusters[row]], dict(self._pairs(row)))

    def locate(self, vector: NDArray[np.float32]) -> GraphPosition:
        """The clusters that a unit query vector (dimension,) is read from."""
        options = self.options
        cosines = self.centroids @ vector
        m = min(options.nearest, len(cosines))
        best = np.argpartition(cosines, len(cosines) - m)[len(cosines) - m :]
        clusters, values = best.tolist(), cosines[best].tolist()
        # A dozen numbers: plain arithmetic is faster than arrays.
        top = max(values)
        weights = [exp((value - top) / options.temperature) for value in values]
        total = sum(weights)
        shares = {cluster: weight / total for cluster, weight in zip(clusters, weights, strict=True)}
        pooled = np.array(list(shares.values()), np.float32) @ self._unconditional[best]
        pooled += self._anywhere(()) * options.cluster_prior
        pooled /= pooled.sum()
        return GraphPosition(shares, top, pooled)

    def distribution(
        self, position: GraphPosition, history: Sequence[int], normalise: bool = True
    ) -> NDArray[np.float32]:
        """Next-label probabilities after `history` (label numbers, or UNKNOWN): float32 (labels,), all above 0.

        Without `normalise` they are right up to a factor, which is all that fusion needs.
        """
        options = self.options
        prior, beyond = options.cluster_prior, options.global_prior
        padded = (*([PADDING] * options.order), *history)
        pooled: dict[int, float] = {}
        wide: list[tuple[float, NDArray[np.float32]]] = []
        in_clusters, everywhere = 1.0, 0.0  # how much of the result still rests on contexts of at most n tools
        n = options.order
        while n:
            # Contexts that reach back before the first call all say the same, so they are looked up once.
            last = min(n, len(history) + 1)
            context = padded[len(padded) - last :]
            rows = self._contexts.get(context)
            if rows is None:
                # No demonstration went this way: the shorter context answers for both.
                everywhere += in_clusters * (1 - options.cluster_share)
                in_clusters *= options.cluster_share
                n -= 1
                continue
            found = self._found(context, rows, position.shares)
            total = sum(weight * self._totals[row] for weight, row in found)
            row_everywhere = rows.start
            total_everywhere = self._totals[row_everywhere] + beyond
            narrow = self._stops[row_everywhere + 1] - self._stops[row_everywhere] <= NARROW
            scale = scale_everywhere = 0.0
            while n >= last:
                scale += in_clusters / (total + prior)
                everywhere += in_clusters * prior / (total + prior) * (1 - options.cluster_share)
                in_clusters *= prior / (total + prior) * options.cluster_share
                if narrow:
                    scale_everywhere += everywhere / total_everywhere
                    everywhere *= beyond / total_everywhere
                else:
                    wide.append((everywhere, self._anywhere(padded[len(padded) - n :])))
                    everywhere = 0.0
                n -= 1
            self._pool(found, scale, pooled)
            if scale_everywhere:
                self._pool([(1.0, row_everywhere)], scale_everywhere, pooled)
        result = position.unconditional * in_clusters
        wide.append((everywhere, self._anywhere(())))
        for share, estimate in wide:
            if share:
                result += estimate * share
        _scatter(result, pooled)
        for label in set(history):
            if label >= 0:
                result[label] *= options.repeat_factor
        if normalise:
            result /= result.sum()
        return result

    def markov(self, last: int) -> NDArray[np.float32]:
        """The static dependency retriever (ToolNet), a baseline: what followed `last` anywhere; float32 (labels,)."""
        rows = self._contexts.get((last,))
        if rows is None:
            return np.full(len(self.labels), 1 / len(self.labels), np.float32)
        result = np.zeros(len(self.labels), np.float32)
        _scatter(result, {label: count / self._totals[rows.start] for label, count in self._pairs(rows.start)})
        return result

    def _found(self, context: tuple[int, ...], rows: range, shares: Mapping[int, float]) -> list[tuple[float, int]]:
        """The rows of a context in the clusters of `shares`, behind their weights."""
        by_cluster = self._by_cluster.get(context)
        if by_cluster is not None:
            return [(weight, by_cluster[cluster]) for cluster, weight in shares.items() if cluster in by_cluster]
        clusters = self._clusters
        return [(shares[clusters[row]], row) for row in rows if clusters[row] in shares]

    def _pairs(self, row: int) -> Iterator[tuple[int, float]]:
        """What a row counts: (label, count)."""
        start, stop = self._stops[row], self._stops[row + 1]
        return zip(self._targets[start:stop], self._counts[start:stop], strict=True)

    def _pool(self, rows: Sequence[tuple[float, int]], scale: float, into: dict[int, float]) -> None:
        """Adds the rows' counts to `into`, each times its weight and `scale`."""
        targets, counts, stops = self._targets, self._counts, self._stops
        for weight, row in rows:
            factor = weight * scale
            for i in range(stops[row], stops[row + 1]):
                label = targets[i]
                into[label] = into.get(label, 0.0) + factor * counts[i]

    def _anywhere(self, context: tuple[int, ...]) -> NDArray[np.float32]:
        """What followed a context among all demonstrations, backed off to shorter ones; kept once computed."""
        estimate = self._everywhere.get(context)
        if estimate is None:
            prior = self.options.global_prior
            shorter = self._anywhere(context[1:]) if context else np.full(len(self.labels), 1 / len(self.labels))
            row = self._contexts[context].start
            total = self._totals[row]
            estimate = (shorter * (prior / (total + prior))).astype(np.float32)
            _scatter(estimate, {label: count / (total + prior) for label, count in self._pairs(row)})
            self._everywhere[context] = estimate  # two threads may both get here, and write the same
        return estimate


def _scatter(result: NDArray[np.float32], pooled: Mapping[int, float]) -> None:
    """Adds numbers by label to an array over labels."""
    if len(pooled) <= NARROW:
        for label, value in pooled.items():
            result[label] += value
    else:
        result[list(pooled)] += np.array(list(pooled.values()), np.float32)


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
