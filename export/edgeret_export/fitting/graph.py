"""Fits DTDR-C: clusters of demonstrations, and what followed which context in each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from edgeret.scoring.graph import GLOBAL, PADDING, UNUSED, Graph, GraphOptions
from edgeret_export.fitting.decisions import StepTable

CLUSTERINGS = 2
"""K-means runs whose clusters are read together; the borders of one fall inside the other's."""
PLAN_WEIGHT = 2.0
"""Weight of a plan's bag of tools beside its query when demonstrations are clustered. Clusters of alike plans predict
better than clusters of alike words; at serving only the words are known, so centroids are means of query vectors."""


@dataclass(frozen=True, slots=True)
class GraphTables:
    """The arrays of `edgeret.scoring.graph.Graph`, before options are chosen."""

    labels: tuple[str, ...]
    centroids: NDArray[np.float32]
    keys: NDArray[np.int32]
    starts: NDArray[np.int32]
    targets: NDArray[np.int32]
    counts: NDArray[np.float32]

    def graph(self, options: GraphOptions) -> Graph:
        """The graph that serves these tables."""
        return Graph(self.labels, self.centroids, self.keys, self.starts, self.targets, self.counts, options)

    def to_dict(self, options: GraphOptions, fingerprint: str) -> dict[str, Any]:
        """The graph file's content."""
        return {
            "encoder": fingerprint,
            "labels": list(self.labels),
            "options": options.to_dict(),
            "centroids": self.centroids,
            "keys": self.keys,
            "starts": self.starts,
            "targets": self.targets,
            "counts": self.counts,
        }


def fit_graph(table: StepTable, queries: NDArray[np.float32], n_clusters: int, order: int, seed: int) -> GraphTables:
    """Clusters the plans of `table`, CLUSTERINGS times, and counts.

    `queries` are unit vectors of all plans (plans, dimension), of which those that `table` names are used.
    """
    plans = np.unique(table.plan)
    clusters_of: defaultdict[int, list[int]] = defaultdict(list)
    parts: list[NDArray[np.float32]] = []
    for run in range(CLUSTERINGS):
        assigned, found = cluster(table, plans, queries[plans], n_clusters, seed + run)
        for plan, number in zip(plans.tolist(), assigned.tolist(), strict=True):
            clusters_of[plan].append(number + sum(map(len, parts)))
        parts.append(found)
    return tabulate(table, clusters_of, np.concatenate(parts), order)


def tabulate(
    table: StepTable, clusters_of: Mapping[int, Sequence[int]], centroids: NDArray[np.float32], order: int
) -> GraphTables:
    """Counts what followed which context in the clusters of each plan, and among all plans."""
    followers: defaultdict[tuple[int, ...], defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row, label, share in zip(
        table.target_row.tolist(), table.target_label.tolist(), table.target_share.tolist(), strict=True
    ):
        context = (PADDING,) * order + table.histories[row]
        observed = share * float(table.weight[row])
        for number in (GLOBAL, *clusters_of[int(table.plan[row])]):
            for n in range(order + 1):
                followers[(number, n, *context[len(context) - n :])][label] += observed
    rows = sorted(followers.items())
    keys = np.full((len(rows), order + 2), UNUSED, np.int32)
    for i, (key, _) in enumerate(rows):
        keys[i, : len(key)] = key
    flat = [item for _, row in rows for item in sorted(row.items())]
    return GraphTables(
        table.labels,
        centroids,
        keys,
        np.cumsum([0, *(len(row) for _, row in rows)]).astype(np.int32),
        np.array([label for label, _ in flat], np.int32),
        np.array([count for _, count in flat], np.float32),
    )


def cluster(
    table: StepTable, plans: NDArray[np.intp], queries: NDArray[np.float32], n_clusters: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Cluster number of every plan (plans,), and unit centroids (clusters, dimension) in query space."""
    bags = np.zeros((len(plans), len(table.labels)), np.float32)
    where = {plan: i for i, plan in enumerate(plans.tolist())}
    for plan, history in zip(table.plan.tolist(), table.histories, strict=True):
        bags[where[plan], list(history)] = 1
    norms = np.linalg.norm(bags, axis=1, keepdims=True)
    joint = np.hstack((queries, PLAN_WEIGHT * bags / np.maximum(norms, 1)))
    joint /= np.linalg.norm(joint, axis=1, keepdims=True)
    n_clusters = max(1, min(n_clusters, len(np.unique(joint, axis=0))))
    # Several threads add floats in any order; one thread gives the same clusters every time.
    with threadpool_limits(1):
        numbers = KMeans(n_clusters, n_init=1, random_state=seed).fit_predict(joint)
    used, assigned = np.unique(numbers, return_inverse=True)
    sums = np.zeros((len(used), queries.shape[1]), np.float64)
    np.add.at(sums, assigned, queries)
    centroids = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    return assigned.astype(np.intp), centroids.astype(np.float32)
