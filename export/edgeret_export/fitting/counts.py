"""What followed which context in which cluster, counted: the tables of DTDR-C's graph. Needs numpy alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeret_export.fitting.decisions import Decisions
from edgeret_export.reference.scoring.graph import GLOBAL, PADDING, UNUSED, GraphTables


def tabulate(
    decisions: Decisions, clusters_of: NDArray[np.intp], centroids: NDArray[np.float32], order: int
) -> GraphTables:
    """Counts what followed which context in the clusters of each plan, and among all plans; `clusters_of`
    (plans, clusters of a plan)."""
    contexts = np.full((len(decisions), order), PADDING, np.int32)
    for row, history in enumerate(decisions.histories):
        if last := history[-order:]:
            contexts[row, order - len(last) :] = last
    rows, labels = decisions.target_row, decisions.target_label.astype(np.int32)
    observed = decisions.target_share.astype(np.float64) * decisions.weight[rows]
    contexts, clusters = contexts[rows], clusters_of[decisions.plan[rows]].astype(np.int32)
    parts: list[tuple[NDArray[np.int32], NDArray[np.float64]]] = []
    for numbers in (np.full(len(rows), GLOBAL, np.int32), *clusters.T):
        for n in range(order + 1):
            table = np.full((len(rows), order + 3), UNUSED, np.int32)
            table[:, 0], table[:, 1], table[:, -1] = numbers, n, labels
            table[:, 2 : 2 + n] = contexts[:, order - n :]
            parts.append(_added(table, observed))
    # Sorted by cluster, length and context, then by label.
    table, counts = _added(np.concatenate([key for key, _ in parts]), np.concatenate([count for _, count in parts]))
    first = np.flatnonzero(_changes(table[:, :-1]))
    return GraphTables(
        decisions.labels,
        centroids,
        np.ascontiguousarray(table[first, :-1]),
        np.append(first, len(table)).astype(np.int32),
        np.ascontiguousarray(table[:, -1]),
        counts.astype(np.float32),
    )


def _added(table: NDArray[np.int32], counts: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The different rows of a table (rows, columns), sorted, each with all its counts (rows,) added up."""
    order = np.lexsort(table.T[::-1])
    table = table[order]
    first = _changes(table)
    return table[first], np.bincount(np.cumsum(first) - 1, counts[order]).astype(np.float64)


def _changes(table: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which rows of a sorted table are not the row before (rows,)."""
    return np.append(True, (table[1:] != table[:-1]).any(axis=1))[: len(table)]
