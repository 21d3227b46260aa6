"""DTDR-C (the DTDR paper, section 4): query and history to a next-tool distribution, by counting alike demonstrations.

The paper looks one cluster up and finds nothing for a history it has not seen. Here the nearest few clusters are read
together, longer contexts back off to shorter ones, and clusters back off to all demonstrations. Since every back-off
is linear, the whole cascade collapses into one weighted sum of a few sparse rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array, pack
from edgeret.bundle.layout import check_owner
from edgeret.bundle.reader import Bundle
from edgeret.errors import BundleError
from edgeret.fields import get, get_number, get_strings
from edgeret.records import dataclass
from edgeret_export.reference.scoring.products import cosines

GLOBAL = -1
"""The cluster number under which all demonstrations together are counted."""
PADDING = -1
"""The context entry of `<start>`, where the history is shorter than the order."""
UNKNOWN = -3
"""A called tool that no demonstration calls: a context that holds it was never seen, and backs off."""
UNUSED = -2
"""Fills the stored context of an order that is shorter than the graph's."""


WIDE = 4096
"""Counts from which on a context's clusters are looked up, and not read through."""


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
class GraphTables:
    """What a bundle stores of a graph, without its options.

    `centroids` are unit rows (clusters, dimension). Row r of the sparse table counts what followed the context
    `keys[r] = (cluster, n, tools…)`, shape (rows, 2 + order): labels `targets[starts[r]:starts[r+1]]` with `counts` of
    the same range.
    """

    labels: tuple[str, ...]
    centroids: NDArray[np.float32]
    keys: NDArray[np.int32]
    starts: NDArray[np.int32]
    targets: NDArray[np.int32]
    counts: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class GraphPosition:
    """A query's place in the graph: the `clusters` it is read from, ascending (m,); every cluster's share of the
    answer, float32 (clusters + 1,), 0 for those not read and, in the last place, for GLOBAL; the cosine to the
    nearest centroid; and what those clusters predict without any context, float32 (labels,), which all steps back
    off to."""

    clusters: NDArray[np.intp]
    shares: NDArray[np.float32]
    similarity: float
    unconditional: NDArray[np.float32]


class _Context(NamedTuple):
    """Where a context's rows and counts lie: those of all demonstrations first, then cluster by cluster."""

    row: int
    row_stop: int
    start: int
    clusters_start: int
    stop: int
    total: float  # observations among all demonstrations


class Graph:
    """Cluster-conditioned Markov chains over labels (tools and `<end>`). Immutable and thread-safe."""

    def __init__(self, tables: GraphTables, options: GraphOptions) -> None:
        """Takes the tables' rows in any order; those that are `arranged` are taken as they are."""
        tables = arranged(tables)
        self.labels = tables.labels
        self.centroids = tables.centroids
        self.options = options
        keys, starts = tables.keys, tables.starts.astype(np.intp)
        # Index arrays in numpy's own index type: a narrower one would be widened at every step.
        self._targets = tables.targets.astype(np.intp)
        self._counts = tables.counts
        self._row_clusters = keys[:, 0].astype(np.intp)
        self._clusters = np.repeat(self._row_clusters, np.diff(starts))
        self._stops = starts
        first = np.flatnonzero(np.append(True, (keys[1:, 1:] != keys[:-1, 1:]).any(axis=1)))
        last = np.append(first[1:], len(keys))
        totals = np.add.reduceat(self._counts, self._stops[:-1])[first]
        self._places = (first, last, starts[first], starts[first + 1], starts[last], totals)
        # Thousands of contexts, of which a device meets few: they are numbered by their stored bytes, and made into
        # what steps read when one first asks.
        self._named = np.ascontiguousarray(keys[first, 1:], "<i4")
        self._name = Struct(f"<{self._named.shape[1]}i")
        self._numbers = {name: i for i, name in enumerate(self._named.view(f"V{self._name.size}").ravel().tolist())}
        self._met: dict[tuple[int, ...], _Context] = {}
        nothing = self._nothing = self._numbered(0)  # the shortest context of all
        self._anywhere = np.full(len(self.labels), options.global_prior / len(self.labels), np.float32)
        np.add.at(self._anywhere, *self._counted(nothing))
        self._anywhere /= nothing.total + options.global_prior

    def locate(self, vector: NDArray[np.float32]) -> GraphPosition:
        """The clusters that a unit query vector (dimension,) is read from."""
        options = self.options
        near = cosines(self.centroids, vector)
        m = min(options.nearest, len(near))
        clusters = near.argpartition(len(near) - m)[len(near) - m :]
        clusters.sort()
        values = near[clusters]
        similarity = values.item(values.argmax())  # `max` goes through Python, and cold takes ten times as long
        values -= similarity
        values /= options.temperature
        np.exp(values, out=values)
        values /= values.sum()
        shares = np.zeros(len(near) + 1, np.float32)
        shares[clusters] = values
        pooled = self._anywhere * options.cluster_prior
        place = self._place(self._nothing, clusters)
        np.add.at(pooled, self._targets[place], shares[self._clusters[place]] * self._counts[place])
        pooled /= pooled.sum()
        return GraphPosition(clusters, shares, similarity, pooled)

    def distribution(
        self, position: GraphPosition, history: Sequence[int], normalise: bool = True
    ) -> NDArray[np.float32]:
        """Next-label probabilities after `history` (label numbers, or UNKNOWN): float32 (labels,), all above 0.

        Without `normalise` they are right up to a factor, which is all that fusion needs.
        """
        result = self._walk(position, self._levels(history))
        for label in {label for label in history if label >= 0}:
            result[label] *= self.options.repeat_factor
        if normalise:
            result /= result.sum()
        return result

    def _levels(self, history: Sequence[int]) -> list[tuple[_Context | None, int]]:
        """The contexts of a history, the longest first, None for one that no demonstration had, each with how many
        lengths it stands for: those that reach back before the first call all say the same."""
        order = self.options.order
        padded = (*([PADDING] * order), *history)
        levels: list[tuple[_Context | None, int]] = []
        n = order
        while n:
            shortest = min(n, len(history) + 1)
            context = self._context(padded[len(padded) - shortest :])
            # Where no demonstration went this way, the shorter context answers for both.
            times = 1 if context is None else n - shortest + 1
            levels.append((context, times))
            n -= times
        return levels

    def _walk(self, position: GraphPosition, levels: Sequence[tuple[_Context | None, int]]) -> NDArray[np.float32]:
        """What the contexts say, up to a factor, float32 (labels,)."""
        options = self.options
        prior, beyond = options.cluster_prior, options.global_prior
        found: list[tuple[slice | NDArray[np.intp], NDArray[np.float32]]] = []
        in_clusters, everywhere = 1.0, 0.0  # how much of the result still rests on shorter contexts
        for context, times in levels:
            if context is None:
                everywhere += in_clusters * (1 - options.cluster_share)
                in_clusters *= options.cluster_share
                continue
            place = self._place(context, position.clusters)
            counts = self._counts[place]
            weights = position.shares[self._clusters[place]]
            total = weights.dot(counts).item()
            scale = scale_everywhere = 0.0
            for _ in range(times):
                scale += in_clusters / (total + prior)
                everywhere += in_clusters * prior / (total + prior) * (1 - options.cluster_share)
                in_clusters *= prior / (total + prior) * options.cluster_share
                scale_everywhere += everywhere / (context.total + beyond)
                everywhere *= beyond / (context.total + beyond)
            # The counts of all demonstrations come first and have no share yet; this is theirs.
            weights *= scale
            weights[: context.clusters_start - context.start] = scale_everywhere
            weights *= counts
            found.append((place, weights))
        result = position.unconditional * np.float32(in_clusters)
        result += self._anywhere * np.float32(everywhere)
        for place, weights in found:
            np.add.at(result, self._targets[place], weights)
        return result

    def transitions(self) -> NDArray[np.float64]:
        """What followed which single tool, in every cluster: rows of (cluster or GLOBAL, label before or PADDING for
        `<start>`, label after, count), float64 (transitions, 4). For whoever draws the graph."""
        parts = [np.empty((0, 4))]
        for number in np.flatnonzero(self._named[:, 0] == 1).tolist():
            place, before = self._numbered(number), self._named[number, 1]
            span = slice(place.start, place.stop)
            columns = (self._clusters[span], np.full(place.stop - place.start, before), self._targets[span])
            parts.append(np.column_stack((*columns, self._counts[span])))
        return np.concatenate(parts)

    def _context(self, tools: tuple[int, ...]) -> _Context | None:
        """Where a context lies; None if no demonstration had it. (Two threads may both make it; they make the same.)"""
        found = self._met.get(tools)
        if found is None:
            unused = (UNUSED,) * (self._named.shape[1] - 1 - len(tools))
            number = self._numbers.get(self._name.pack(len(tools), *tools, *unused))
            if number is not None:
                found = self._met[tools] = self._numbered(number)
        return found

    def _numbered(self, number: int) -> _Context:
        return _Context(*(column.item(number) for column in self._places))

    def _counted(self, context: _Context) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """What followed a context among all demonstrations: labels and their counts."""
        place = slice(context.start, context.clusters_start)
        return self._targets[place], self._counts[place]

    def _place(self, context: _Context, clusters: NDArray[np.intp]) -> slice | NDArray[np.intp]:
        """Where a context's counts lie, for all demonstrations and then for at least these clusters."""
        if context.stop - context.start <= WIDE:
            return slice(context.start, context.stop)
        rows = self._row_clusters[context.row : context.row_stop]
        wanted = np.append(GLOBAL, clusters)
        at = np.searchsorted(rows, wanted)
        at = at[rows.take(at, mode="clip") == wanted] + context.row
        ranges = zip(self._stops[at].tolist(), self._stops[at + 1].tolist(), strict=True)
        return np.concatenate([np.arange(start, stop) for start, stop in ranges])


def pack_graph(tables: GraphTables, options: GraphOptions, fingerprint: str) -> bytes:
    """The file with the role `graph`, tied to the encoder whose vectors the centroids are means of."""
    tables = arranged(tables)
    arrays = {name: getattr(tables, name) for name in ("centroids", "keys", "starts", "targets", "counts")}
    return pack({"encoder": fingerprint, "labels": list(tables.labels), "options": options.to_dict(), **arrays})


def load_graph(bundle: Bundle) -> Graph:
    """The bundle's graph. Raises BundleError if it was made for another encoder or does not hang together."""
    where = f"{bundle.path} ({roles.GRAPH})"
    value = bundle.map(roles.GRAPH)
    check_owner(value, bundle.fingerprint(), where)
    labels = get_strings(value, "labels", where)
    stored = get(value, "options", dict, where)
    options = GraphOptions(
        order=get(stored, "order", int, where),
        nearest=get(stored, "nearest", int, where),
        **{key: get_number(stored, key, low, high, where) for key, (low, high) in _RANGES.items()},
    )
    if not 0 < options.order <= 16 or options.nearest < 1:
        raise BundleError(f"{where}: impossible order or number of nearest clusters; build the bundle again")
    centroids = get_array(value, "centroids", "<f4", (None, None), where)
    keys = get_array(value, "keys", "<i4", (None, options.order + 2), where)
    starts = get_array(value, "starts", "<i4", (len(keys) + 1,), where)
    targets = get_array(value, "targets", "<i4", (None,), where)
    counts = get_array(value, "counts", "<f4", (len(targets),), where)
    if not np.allclose(np.einsum("ij,ij->i", centroids, centroids), 1, atol=1e-2):
        raise BundleError(f"{where}: its centroids are not of length 1; build the bundle again")
    sound = (
        len(centroids) > 0
        and len(set(labels)) == len(labels) > 0
        and len(keys) > 0
        and starts[0] == 0
        and starts[-1] == len(targets)
        and bool((np.diff(starts) > 0).all())
        and bool((counts > 0).all())
        and bool(((targets >= 0) & (targets < len(labels))).all())
        and bool(((keys[:, 0] >= GLOBAL) & (keys[:, 0] < len(centroids))).all())
    )
    tables = GraphTables(labels, centroids, keys, starts, targets, counts)
    if not sound or not _contexts_hold((tables := arranged(tables)).keys, len(labels)):
        raise BundleError(f"{where}: its tables contradict each other; build the bundle again")
    return Graph(tables, options)


def arranged(tables: GraphTables) -> GraphTables:
    """The same tables, their rows by context, the shortest first, and GLOBAL before every cluster.

    Rows of one context then lie side by side, so that a step reads two or three stretches of memory and no more; after
    an encoding all of it comes from main memory. Bundles store them so: putting them in order takes 9 ms of a start.
    """
    keys, starts = tables.keys, tables.starts
    if _is_arranged(keys):
        return tables
    order = np.lexsort((keys[:, 0], *keys[:, :0:-1].T))
    sizes = np.diff(starts)[order]
    stops = np.cumsum(sizes)
    gather = np.repeat(starts[:-1][order] - stops + sizes, sizes) + np.arange(len(tables.targets))
    return replace(
        tables,
        keys=keys[order],
        starts=np.concatenate(([0], stops)).astype(starts.dtype),
        targets=tables.targets[gather],
        counts=tables.counts[gather],
    )


def _is_arranged(keys: NDArray[np.int32]) -> bool:
    alike = np.ones(max(0, len(keys) - 1), bool)
    for column in (*keys.T[1:], keys[:, 0]):
        if (alike & (column[1:] < column[:-1])).any():
            return False
        alike &= column[1:] == column[:-1]
    return True


_RANGES: Mapping[str, tuple[float, float]] = {
    "temperature": (1e-4, 1e3),
    "cluster_prior": (1e-6, 1e6),
    "global_prior": (1e-6, 1e6),
    "cluster_share": (0.0, 1.0),
    "repeat_factor": (1e-6, 1.0),
}
"""Where the options of a graph that was fitted can lie; beyond, float32 leaves no probabilities to speak of."""


def _contexts_hold(keys: NDArray[np.int32], n_labels: int) -> bool:
    """Of keys that are `arranged`: whether every row's context is as long as it says, of labels or PADDING; whether no
    row comes twice; and whether every context that some cluster counts, and the empty one, is counted over all
    demonstrations too."""
    lengths, places = keys[:, 1], np.arange(keys.shape[1] - 2)
    used = places < lengths[:, None]
    entries = keys[:, 2:]
    named = (entries >= PADDING) & (entries < n_labels)
    first = np.append(True, (keys[1:, 1:] != keys[:-1, 1:]).any(axis=1))
    return (
        bool(((lengths >= 0) & (lengths <= len(places))).all())
        and bool(np.where(used, named, entries == UNUSED).all())
        and bool((keys[first, 0] == GLOBAL).all())
        and bool((first[1:] | (keys[1:, 0] != keys[:-1, 0])).all())
        and keys[0, 1].item() == 0
    )
