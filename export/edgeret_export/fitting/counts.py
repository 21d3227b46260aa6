"""What followed which context in which cluster, counted: the tables of DTDR-C's graph. Needs numpy alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.scoring.graph import GLOBAL, PADDING, UNUSED, GraphTables
from edgeret_export.fitting.decisions import Decisions


def tabulate(
    decisions: Decisions, clusters_of: Mapping[int, Sequence[int]], centroids: NDArray[np.float32], order: int
) -> GraphTables:
    """Counts what followed which context in the clusters of each plan, and among all plans."""
    followers: defaultdict[tuple[int, ...], defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row, label, share in zip(
        decisions.target_row.tolist(), decisions.target_label.tolist(), decisions.target_share.tolist(), strict=True
    ):
        context = (PADDING,) * order + decisions.histories[row]
        observed = share * float(decisions.weight[row])
        for number in (GLOBAL, *clusters_of[int(decisions.plan[row])]):
            for n in range(order + 1):
                followers[(number, n, *context[len(context) - n :])][label] += observed
    rows = sorted(followers.items())
    keys = np.full((len(rows), order + 2), UNUSED, np.int32)
    for i, (key, _) in enumerate(rows):
        keys[i, : len(key)] = key
    flat = [item for _, row in rows for item in sorted(row.items())]
    return GraphTables(
        decisions.labels,
        centroids,
        keys,
        np.cumsum([0, *(len(row) for _, row in rows)]).astype(np.int32),
        np.array([label for label, _ in flat], np.int32),
        np.array([count for _, count in flat], np.float32),
    )
