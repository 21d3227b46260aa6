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
from edgeret.scoring.graph import Graph, GraphTables
from edgeret_export.fitting.crossfit import clusters_for, predict_graph, predict_head
from edgeret_export.fitting.graph import fit_graph
from edgeret_export.fitting.head import fit_factored
from edgeret_export.fitting.training_set import TrainingSet, plain, training_set
from edgeret_export.recipe import recipe_of

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
    both = encode(runtime, [*train, *test], seed)
    learned = both.decisions.plan < len(train)
    held = both.select(both.decisions.written & ~learned)
    recipe = recipe_of(runtime.manifest.info, str(runtime.path))
    order = np.random.default_rng(seed).permutation(len(train))
    curves: dict[str, list[dict[str, Any]]] = {"by_demonstrations": [], "by_clusters": []}
    head: NDArray[np.float32] = np.empty(0, np.float32)
    for part in track(sorted(shares), "demonstrations", len(shares)):
        used = order[: max(1, round(part * len(train)))]
        chosen, n_clusters = both.select(np.isin(both.decisions.plan, used)), clusters_for(len(used))
        head = predict_head(fit_factored(chosen, recipe.head_options), held)
        graph = score_graph(runtime, fit_graph(chosen, n_clusters, recipe.order), held)
        figures = _top1(runtime, head, graph, held)
        curves["by_demonstrations"].append({"demonstrations": len(used), "clusters": n_clusters, **figures})
    everything = both.select(learned)
    if max(shares) < 1:
        head = predict_head(fit_factored(everything, recipe.head_options), held)
    for n_clusters in track(sorted(clusters), "clusters", len(clusters)):
        graph = score_graph(runtime, fit_graph(everything, n_clusters, recipe.order), held)
        figures = _top1(runtime, head, graph, held)
        curves["by_clusters"].append({"demonstrations": len(train), "clusters": n_clusters, **figures})
    return {"n_plans": len(test), "n_steps": len(held.decisions), "repeated_queries": repeated, "seed": seed, **curves}


def repeated_queries(train: Sequence[Demonstration], test: Sequence[Demonstration]) -> int:
    """How many test queries are among the training queries word for word; says so, since they flatter every method."""
    known = {plain(d.query) for d in train}
    repeated = sum(plain(d.query) in known for d in test)
    if repeated:
        say(f"{repeated} test queries are among the training queries word for word; they flatter every method")
    return repeated


def encode(runtime: Runtime, demonstrations: Sequence[Demonstration], seed: int) -> TrainingSet:
    """What heads are fitted on, from the bundle's encoder and tool vectors."""
    components = runtime.components
    shown = track(demonstrations, "encoding", len(demonstrations))
    vectors = np.stack([components.encoder.encode_query(d.query)[0] for d in shown])
    tools = [components.tools[name] for name in components.index.names]
    return training_set(demonstrations, tools, vectors, components.index.vectors, seed)


def score_graph(runtime: Runtime, tables: GraphTables, held: TrainingSet) -> NDArray[np.float32]:
    """Probabilities (rows, labels) by the runtime's graph over other tables."""
    return predict_graph(Graph(tables, runtime.components.graph.options), held)[0]


def _top1(
    runtime: Runtime, head: NDArray[np.float32], graph: NDArray[np.float32], held: TrainingSet
) -> dict[str, float]:
    """Each method's share of steps whose best-ranked label is acceptable."""
    fuse, acceptable = runtime.components.calibration.fuse, held.decisions.acceptable()
    fused = [fuse(h.copy(), g.copy()) for h, g in zip(head, graph, strict=True)]
    steps = np.arange(len(acceptable))
    scores = dict(zip(METHODS, (graph, head, np.stack(fused)), strict=True))
    return {name: float(acceptable[steps, found.argmax(axis=1)].mean()) for name, found in scores.items()}
