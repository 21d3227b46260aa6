"""Accuracy by the number of demonstrations and of clusters (the DTDR paper, Figure 6), heads fitted anew for each.

The bundle gives the encoder, the tools' vectors and what was chosen on held-out decisions; only what is learned from
demonstrations is learned again, from nested samples of those given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.cli.progress import say, track
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret_export.fitting.counts import GraphTables
from edgeret_export.fitting.crossfit import clusters_for, plain, predict_graph, predict_head
from edgeret_export.fitting.decisions import StepTable, build_table
from edgeret_export.fitting.graph import fit_graph
from edgeret_export.fitting.head import HeadOptions, Queries
from edgeret_export.recipe import Recipe

SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)
CLUSTERS = (1, 5, 20, 50, 100, 250)
METHODS = ("dtdr-c", "dtdr-l-factored", "fused")


def run(
    runtime: Runtime,
    train: Sequence[Demonstration],
    test: Sequence[Demonstration],
    shares: Sequence[float] = SHARES,
    clusters: Sequence[int] = CLUSTERS,
    seed: int = 0,
) -> dict[str, Any]:
    """Top-1 over the test plans' steps: `by_demonstrations` for every share of `train`, and `by_clusters` (a k-means
    run's clusters; `fused` with the head of all demonstrations).

    Tools that a sample never calls are ranked by their descriptions alone, as the head does. Raises InputError for
    shares, numbers of clusters or plans that make no sense.
    """
    sound = shares and clusters and all(0 < share <= 1 for share in shares) and min(clusters) >= 1
    if not train or not test or not sound:
        raise InputError("learning curves need plans to train and to test on, shares above 0 up to 1, clusters from 1")
    repeated = repeated_queries(train, test)
    both = [*train, *test]
    queries, table = encode(runtime, both)
    rows = np.flatnonzero(table.written & (table.plan >= len(train)))
    acceptable = table.acceptable()[rows]
    order = np.random.default_rng(seed).permutation(len(train))
    recipe = Recipe(**runtime.manifest.info["recipe"])
    options = HeadOptions(recipe.inverse_regularisation, recipe.history_scale, recipe.label_smoothing)
    curves: dict[str, list[dict[str, Any]]] = {"by_demonstrations": [], "by_clusters": []}
    head: NDArray[np.float32] = np.empty(0, np.float32)
    for part in track(sorted(shares), "demonstrations", len(shares)):
        used = order[: max(1, round(part * len(train)))]
        chosen = table.select(np.isin(table.plan, used))
        head = predict_head(chosen, table, queries, rows, options)
        n_clusters = clusters_for(len(used))
        graph = score_graph(
            runtime, fit_graph(chosen, queries.vectors, n_clusters, recipe.order, seed), table, queries, rows
        )
        figures = _top1(runtime, head, graph, acceptable)
        curves["by_demonstrations"].append({"demonstrations": len(used), "clusters": n_clusters, **figures})
    everything = table.select(table.plan < len(train))
    if max(shares) < 1:
        head = predict_head(everything, table, queries, rows, options)
    for n_clusters in track(sorted(clusters), "clusters", len(clusters)):
        graph = score_graph(
            runtime, fit_graph(everything, queries.vectors, n_clusters, recipe.order, seed), table, queries, rows
        )
        figures = _top1(runtime, head, graph, acceptable)
        curves["by_clusters"].append({"demonstrations": len(train), "clusters": n_clusters, **figures})
    return {"n_plans": len(test), "n_steps": len(rows), "repeated_queries": repeated, "seed": seed, **curves}


def repeated_queries(train: Sequence[Demonstration], test: Sequence[Demonstration]) -> int:
    """How many test queries are among the training queries word for word; says so, since they flatter every method."""
    known = {plain(d.query) for d in train}
    repeated = sum(plain(d.query) in known for d in test)
    if repeated:
        say(f"{repeated} test queries are among the training queries word for word; they flatter every method")
    return repeated


def encode(runtime: Runtime, demonstrations: Sequence[Demonstration]) -> tuple[Queries, StepTable]:
    """What heads are fitted on, from the bundle's encoder and tool vectors: the queries, and one table of decisions."""
    encoder = runtime.components.encoder
    shown = track(demonstrations, "encoding", len(demonstrations))
    vectors = np.stack([encoder.encode_query(d.query)[0] for d in shown])
    table = build_table(demonstrations, list(runtime.tools.values()))
    position = {name: i for i, name in enumerate(runtime.components.index.names)}
    label_vectors = runtime.components.index.vectors[np.array([position[name] for name in table.labels[:-1]], np.intp)]
    return Queries(vectors[:, 0], vectors[:, 1:], label_vectors), table


def score_graph(
    runtime: Runtime, tables: GraphTables, table: StepTable, queries: Queries, rows: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Probabilities (rows, labels) by the runtime's graph over other tables."""
    return predict_graph(tables.graph(runtime.components.graph.options), table, queries, rows)[0]


def _top1(
    runtime: Runtime, head: NDArray[np.float32], graph: NDArray[np.float32], acceptable: NDArray[np.bool_]
) -> dict[str, float]:
    """Each method's share of steps whose best-ranked label is acceptable."""
    fused = [runtime.components.calibration.fuse(h.copy(), g.copy()) for h, g in zip(head, graph, strict=True)]
    steps = np.arange(len(acceptable))
    scores = dict(zip(METHODS, (graph, head, np.stack(fused)), strict=True))
    return {name: float(acceptable[steps, found.argmax(axis=1)].mean()) for name, found in scores.items()}
