"""Fits DTDR-C: clusters of demonstrations. What is counted in them is `counts`' business."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from edgeret.scoring.graph import GraphTables
from edgeret_export.fitting.counts import tabulate
from edgeret_export.fitting.training_set import TrainingSet

CLUSTERINGS = 2
"""K-means runs whose clusters are read together; the borders of one fall inside the other's."""
PLAN_WEIGHT = 2.0
"""Weight of a plan's bag of tools beside its query when demonstrations are clustered. Clusters of alike plans predict
better than clusters of alike words; at serving only the words are known, so centroids are means of query vectors."""


def fit_graph(training: TrainingSet, n_clusters: int, order: int) -> GraphTables:
    """Clusters the training set's plans, CLUSTERINGS times, and counts what followed contexts of `order` tools."""
    plans = training.plans
    clusters_of: defaultdict[int, list[int]] = defaultdict(list)
    parts: list[NDArray[np.float32]] = []
    for run in range(CLUSTERINGS):
        assigned, found = cluster(training, n_clusters, training.seed + run)
        for plan, number in zip(plans.tolist(), assigned.tolist(), strict=True):
            clusters_of[plan].append(number + sum(map(len, parts)))
        parts.append(found)
    return tabulate(training.decisions, clusters_of, np.concatenate(parts), order)


def cluster(training: TrainingSet, n_clusters: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Cluster number of every one of the training set's plans (plans,), and unit centroids (clusters, dimension) in
    query space."""
    plans, decisions = training.plans, training.decisions
    queries = training.queries.vectors[plans]
    bags = np.zeros((len(plans), len(decisions.labels)), np.float32)
    where = {plan: i for i, plan in enumerate(plans.tolist())}
    for plan, history in zip(decisions.plan.tolist(), decisions.histories, strict=True):
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
