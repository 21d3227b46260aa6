"""What followed which context in which cluster, counted: the tables of DTDR-C's graph. Needs numpy alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.scoring.graph import GLOBAL, PADDING, UNUSED, Graph, GraphOptions
from edgeret_export.fitting.decisions import StepTable


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
