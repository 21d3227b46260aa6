"""What a decision costs as tools, labels, clusters and histories grow, on a seeded synthetic library.

Parts are measured one by one and warm, so the figures show how costs grow; `latency` shows what a bundle's user waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.cli.progress import say, track
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.scoring.graph import Graph, GraphOptions
from edgeret.scoring.head import FactoredHead
from edgeret.scoring.index import Index, build_hnsw, hnsw_available, open_hnsw
from edgeret.types import END, SEGMENTS, Call, Tool
from edgeret_bench.metrics import quantiles
from edgeret_bench.speed.crossover import K, recall, synthetic
from edgeret_export.fitting.decisions import build_table
from edgeret_export.fitting.graph import tabulate

TOOLS = (200, 2_000, 20_000, 44_000)
LABELS = (50, 200, 1_000, 4_000)
CLUSTERS = (50, 200, 1_000, 4_000)
HISTORIES = (0, 1, 2, 4, 8, 16, 32)
DEFAULT_LABELS, DEFAULT_CLUSTERS = 200, 200
QUERIES = 300
PLANS_PER_CLUSTER, CALLS_PER_PLAN, TOOLS_PER_CLUSTER = 10, 3, 6
STAGES = 3


def run(
    dimension: int = 384, seed: int = 0, tools: Sequence[int] = TOOLS, labels: Sequence[int] = LABELS
) -> dict[str, Any]:
    """Times in ms by `tools` (search), `labels` (head), `clusters` and `history` (graph and head), each with the size
    in memory where it grows. Raises InputError for sizes that make no sense."""
    if dimension < 1 or min(tools, default=0) < K or min(labels, default=0) < TOOLS_PER_CLUSTER:
        raise InputError(f"scaling needs a dimension, at least {K} tools and at least {TOOLS_PER_CLUSTER} labels")
    queries = synthetic(QUERIES, dimension, seed + 1)
    by_labels, by_clusters, by_history = [], [], []
    for count in track(labels, "labels", len(labels)):
        head = synthetic_head(count, dimension, seed)
        by_labels.append({"labels": count, **_head_cost(head, queries, seed), "mb": _head_mb(head)})
    for count in track(CLUSTERS, "clusters", len(CLUSTERS)):
        graph = synthetic_graph(DEFAULT_LABELS, count, dimension, seed)
        positions = [graph.locate(query) for query in queries]
        by_clusters.append(
            {
                "clusters": count,
                "locate_ms": _cost(graph.locate, queries),
                "step_ms": _cost(lambda position, g=graph: g.distribution(position, (0, 1)), positions),
            }
        )
    graph, head = (
        synthetic_graph(DEFAULT_LABELS, DEFAULT_CLUSTERS, dimension, seed),
        synthetic_head(DEFAULT_LABELS, dimension, seed),
    )
    rng, logits = np.random.default_rng(seed), np.zeros((STAGES, DEFAULT_LABELS), np.float32)
    for length in track(HISTORIES, "histories", len(HISTORIES)):
        histories = rng.integers(DEFAULT_LABELS - 1, size=(QUERIES, length)).tolist()
        steps = [(graph.locate(query), history) for query, history in zip(queries, histories, strict=True)]
        by_history.append(
            {
                "history": length,
                "graph_ms": _cost(lambda step: graph.distribution(*step), steps),
                "head_ms": _cost(lambda history: head.logits(logits, history), histories),
            }
        )
    return {
        "dimension": dimension,
        "seed": seed,
        "n_queries": QUERIES,
        "tools": _by_tools(tools, queries, seed),
        "labels": by_labels,
        "clusters": by_clusters,
        "history": by_history,
    }


def synthetic_head(n_labels: int, dimension: int, seed: int) -> FactoredHead:
    """A head with random weights over so many labels, `<end>` among them."""
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> NDArray[np.float32]:
        return rng.standard_normal(shape, dtype=np.float32)

    names = [*(f"tool_{i}" for i in range(n_labels - 1)), END]
    square = (n_labels, n_labels)
    return FactoredHead(
        names,
        weights(n_labels, dimension),
        weights(n_labels),
        weights(*square),
        weights(*square),
        weights(STAGES, n_labels),
        1.0,
        weights(STAGES, SEGMENTS),
    )


def synthetic_graph(n_labels: int, n_clusters: int, dimension: int, seed: int) -> Graph:
    """A graph over plans of a few calls each, PLANS_PER_CLUSTER a cluster, every cluster with its own few tools."""
    rng = np.random.default_rng(seed)
    tools = [Tool(f"tool_{i}", f"tool {i}") for i in range(n_labels - 1)]
    demonstrations, clusters_of = [], {}
    for cluster in range(n_clusters):
        chosen = rng.choice(n_labels - 1, size=min(TOOLS_PER_CLUSTER, n_labels - 1), replace=False)
        for _ in range(PLANS_PER_CLUSTER):
            plan = rng.choice(chosen, size=min(CALLS_PER_PLAN, len(chosen)), replace=False).tolist()
            clusters_of[len(demonstrations)] = (cluster,)
            calls = tuple(Call(tools[i].name) for i in plan)
            demonstrations.append(Demonstration(f"d{len(demonstrations)}", "synthetic", calls))
    # One plan calls every tool, so that all of them are labels.
    clusters_of[len(demonstrations)] = (0,)
    demonstrations.append(Demonstration("all", "synthetic", tuple(Call(tool.name) for tool in tools)))
    centroids = synthetic(n_clusters, dimension, seed)
    return tabulate(build_table(demonstrations, tools), clusters_of, centroids, 3).graph(GraphOptions())


def _by_tools(sizes: Sequence[int], queries: NDArray[np.float32], seed: int) -> list[dict[str, Any]]:
    if not hnsw_available():
        say("hnswlib is not installed, so only exact search is measured: pip install 'edgeret[hnsw]'")
    rows: list[dict[str, Any]] = []
    for size in track(sizes, "tools", len(sizes)):
        vectors = synthetic(size, queries.shape[1], seed)
        names = [f"tool_{i}" for i in range(size)]
        exact = Index(names, vectors)
        row: dict[str, Any] = {"tools": size, "exact_ms": _cost(lambda q, i=exact: i.search(q, K), queries)}
        if hnsw_available():
            began = perf_counter()
            data = build_hnsw(vectors, seed)
            row["hnsw_build_s"] = perf_counter() - began
            hnsw = Index(names, vectors, open_hnsw(data, vectors))
            row["hnsw_ms"] = _cost(lambda q, i=hnsw: i.search(q, K), queries)
            row["recall@10"] = recall(exact, hnsw, queries)
            row["hnsw_mb"] = len(data) / 1e6
        rows.append({**row, "vectors_mb": vectors.nbytes / 1e6})
    return rows


def _head_cost(head: FactoredHead, queries: NDArray[np.float32], seed: int) -> dict[str, Any]:
    """`described_ms` and `query_ms` come once a task, `step_ms` with every decision."""
    n, dimension = len(head.labels), queries.shape[1]
    tools = synthetic(n - 1, dimension, seed)
    segments = synthetic(SEGMENTS, dimension, seed)
    parts = [np.vstack((query, segments)) for query in queries]
    pieces = head.pieces(tools)
    described = head.products(parts[0], pieces)[1:]
    logits = head.query_logits(queries[0], described)
    histories = np.random.default_rng(seed).integers(n - 1, size=(len(queries), 2)).tolist()
    return {
        "described_ms": _cost(lambda rows: head.products(rows, pieces), parts),
        "query_ms": _cost(lambda query: head.query_logits(query, described), queries),
        "step_ms": _cost(lambda history: head.logits(logits, history), histories),
    }


def _head_mb(head: FactoredHead) -> float:
    return float(sum(a.nbytes for a in (head.weights, head.bias, head.called, head.last, head.count))) / 1e6


def _cost(work: Callable[[Any], object], inputs: Sequence[Any] | NDArray[np.float32]) -> dict[str, float]:
    times = []
    for value in inputs:
        started = perf_counter()
        work(value)
        times.append((perf_counter() - started) * 1e3)
    return quantiles(times)
