"""Fits DTDR-C: clusters of demonstrations. What is counted in them is `counts`' business."""

from __future__ import annotations

from itertools import chain

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from edgeret_export.fitting.counts import tabulate
from edgeret_export.fitting.training_set import TrainingSet
from edgeret_export.reference.scoring.graph import GraphTables

CLUSTERINGS = 2
"""K-means runs whose clusters are read together; the borders of one fall inside the other's."""
PLAN_WEIGHT = 2.0
"""Weight of a plan's bag of tools beside its query when demonstrations are clustered. Clusters of alike plans predict
better than clusters of alike words; at serving only the words are known, so centroids are means of query vectors."""
SEEDING_DIMENSIONS = 64
"""Of a random projection in which k-means++ chooses where clusters begin: it took four fifths of the time before. On
2,627 plans, with 32 and with 64 dimensions, the graph is as good as ever, with random beginnings half a point worse."""
ROUNDS = 10
"""Of k-means; more changed nothing."""
PLANS_SEEN = 20_000
"""Plans that centres are found on; with more plans these are a sample, and all others go to the nearest centre."""
_AT_ONCE = 4096


def fit_graph(training: TrainingSet, n_clusters: int, order: int) -> GraphTables:
    """Clusters the training set's plans, CLUSTERINGS times, and counts what followed contexts of `order` tools."""
    clusters_of = np.zeros((len(training.folds), CLUSTERINGS), np.intp)
    parts: list[NDArray[np.float32]] = []
    for run in range(CLUSTERINGS):
        assigned, found = cluster(training, n_clusters, training.seed + run)
        clusters_of[training.plans, run] = assigned + sum(map(len, parts))
        parts.append(found)
    return tabulate(training.decisions, clusters_of, np.concatenate(parts), order)


def cluster(training: TrainingSet, n_clusters: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Cluster number of every one of the training set's plans (plans,), and unit centroids (clusters, dimension) in
    query space."""
    from sklearn.cluster import KMeans, kmeans_plusplus

    plans, vectors, rng = training.plans, training.queries.vectors, np.random.default_rng(seed)
    bags, seen = _bags(training), np.arange(len(plans))
    if len(seen) > PLANS_SEEN:
        seen = np.sort(rng.choice(len(plans), PLANS_SEEN, replace=False))
    pieces = [slice(start, start + _AT_ONCE) for start in range(0, len(plans), _AT_ONCE)]
    joint = _joint(vectors[plans[seen]], bags[seen])
    n_clusters = max(1, min(n_clusters, len({row.tobytes() for row in joint})))
    projection = rng.normal(size=(joint.shape[1], SEEDING_DIMENSIONS)).astype(np.float32)
    # Several threads add floats in any order; one thread gives the same clusters every time.
    with threadpool_limits(1):
        _, first = kmeans_plusplus(joint @ projection, n_clusters, random_state=seed)
        means = KMeans(n_clusters, init=joint[first], n_init=1, max_iter=ROUNDS).fit(joint)
        numbers = means.labels_
        if len(seen) < len(plans):
            numbers = np.concatenate([means.predict(_joint(vectors[plans[piece]], bags[piece])) for piece in pieces])
    used, assigned = np.unique(numbers, return_inverse=True)
    sums = np.zeros((len(used), vectors.shape[1]), np.float64)
    for piece in pieces:
        np.add.at(sums, assigned[piece], vectors[plans[piece]])
    centroids = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    return assigned.astype(np.intp), centroids.astype(np.float32)


def _bags(training: TrainingSet) -> sp.csr_matrix:
    """Which labels each of the training set's plans calls, unit rows (plans, labels)."""
    decisions = training.decisions
    lengths = [len(history) for history in decisions.histories]
    called = np.fromiter(chain.from_iterable(decisions.histories), np.intp, sum(lengths))
    plans = np.searchsorted(training.plans, decisions.plan).repeat(lengths)
    shape = (len(training.plans), len(decisions.labels))
    bags = sp.csr_matrix((np.ones(len(called), np.float32), (plans, called)), shape=shape)
    bags.data[:] = 1
    counts = np.diff(bags.indptr)
    bags.data /= np.sqrt(counts, dtype=np.float32).repeat(counts)
    return bags


def _joint(queries: NDArray[np.float32], bags: sp.csr_matrix) -> NDArray[np.float32]:
    """Queries (plans, dimension) beside bags of tools, unit rows (plans, dimension + labels)."""
    joint: NDArray[np.float32] = np.hstack((queries, np.float32(PLAN_WEIGHT) * bags.toarray()))
    joint /= np.linalg.norm(joint, axis=1, keepdims=True)
    return joint
