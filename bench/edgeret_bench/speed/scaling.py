"""What a decision costs as tools, labels, clusters and histories grow, on a seeded synthetic library.

Parts are measured one by one and warm, so the figures show how costs grow; `latency` shows what a bundle's user waits.
`edgeret.bundle.index_form.CROSSOVER` comes from here: the number of tools from which HNSW is faster than exact search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError, MissingExtraError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.terminal.progress import say, track
from edgeret.types import END, SEGMENTS, SPELLING_BUCKETS, Call, Tool
from edgeret_bench.metrics import quantiles
from edgeret_export.reference.scoring.graph import Graph, GraphOptions
from edgeret_export.reference.scoring.head import FactoredHead, HeadArrays, pack_head
from edgeret_export.reference.scoring.hnsw_file import links_of, pack_links
from edgeret_export.reference.scoring.index import EF, Index, hnswlib_available, hnswlib_graph
from edgeret_export.reference.scoring.products import product

TOOLS = (200, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 44_000)
LABELS = (50, 200, 1_000, 4_000)
CLUSTERS = (50, 200, 1_000, 4_000)
HISTORIES = (0, 1, 2, 4, 8, 16, 32)
DEFAULT_LABELS, DEFAULT_CLUSTERS = 200, 200
QUERIES, K, TOPICS = 300, 10, 64
PLANS_PER_CLUSTER, CALLS_PER_PLAN, TOOLS_PER_CLUSTER = 10, 3, 6
STAGES = 3
FOLLOWERS = 8
"""Labels that demonstrations show after a tool; on ultratool-plans seven in the mean."""


def run(
    dimension: int = 384, seed: int = 0, tools: Sequence[int] = TOOLS, labels: Sequence[int] = LABELS
) -> dict[str, Any]:
    """Times in ms by `tools` (search), `labels` (head), `clusters` and `history` (graph and head), each with the size
    in memory, or of the head's file, where it grows; and `crossover`, what `tools` say of HNSW. Raises InputError for
    sizes that make no sense.
    """
    if dimension < 1 or min(tools, default=0) < K or min(labels, default=0) < TOOLS_PER_CLUSTER:
        raise InputError(f"scaling needs a dimension, at least {K} tools and at least {TOOLS_PER_CLUSTER} labels")
    queries = synthetic(QUERIES, dimension, seed + 1)
    searches = _by_tools(sorted(tools), queries, seed)
    return {
        "dimension": dimension,
        "seed": seed,
        "n_queries": QUERIES,
        "tools": searches,
        "crossover": crossover(searches),
        "labels": _by_labels(labels, queries, seed),
        "clusters": _by_clusters(queries, seed),
        "history": _by_history(queries, seed),
    }


def crossover(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The first number of tools from which HNSW's median stays below exact search's, None if there is none, among
    rows by rising number of `tools`; or why it is not known."""
    if not all("hnsw_ms" in row for row in rows):
        return {"unavailable": str(MissingExtraError("hnsw", "measuring HNSW"))}
    wins = [row["hnsw_ms"]["p50"] < row["exact_ms"]["p50"] for row in rows]
    first = next((row["tools"] for i, row in enumerate(rows) if all(wins[i:])), None)
    return {"tools": first, "compared": [row["tools"] for row in rows]}


def recall(exact: Index, hnsw: Index, queries: NDArray[np.float32]) -> float:
    """Share of the K nearest tools that the HNSW graph finds, the mean over the queries."""
    found = [(set(exact.search(q, K)[0].tolist()), set(hnsw.search(q, K)[0].tolist())) for q in queries]
    return float(np.mean([len(a & b) / K for a, b in found]))


def synthetic(n: int, dimension: int, seed: int) -> NDArray[np.float32]:
    """Unit vectors (n, dimension) around a few topics, as tools are; uniform ones would be hopeless for any graph."""
    topics = np.random.default_rng(0).normal(size=(TOPICS, dimension))
    rng = np.random.default_rng(seed)
    vectors = topics[rng.integers(TOPICS, size=n)] + 0.8 * rng.normal(size=(n, dimension))
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def synthetic_head(n_labels: int, dimension: int, seed: int) -> FactoredHead:
    """A head with random weights over so many labels, `<end>` among them."""
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> NDArray[np.float32]:
        return rng.standard_normal(shape, dtype=np.float32)

    names = (*(f"tool_{i}" for i in range(n_labels - 1)), END)
    followers = [np.sort(rng.choice(n_labels, min(FOLLOWERS, n_labels), replace=False)) for _ in range(2 * n_labels)]
    arrays = HeadArrays(
        labels=names,
        weights=weights(n_labels, dimension),
        bias=weights(n_labels),
        starts=np.arange(2 * n_labels + 1) * len(followers[0]),
        followers=np.concatenate(followers),
        values=weights(2 * n_labels * len(followers[0])),
        count=weights(STAGES, n_labels),
        description_weight=1.0,
        segment_weights=weights(STAGES, SEGMENTS),
        prior_weight=1.0,
        prior_steps=False,
        popular_names=(),
        popular=np.empty(0, np.float32),
        spelling=rng.integers(-127, 128, (SPELLING_BUCKETS, n_labels), np.int8),
        spelling_scales=np.full(n_labels, 1e-3, np.float32),
    )
    return FactoredHead(arrays)


def synthetic_graph(n_labels: int, n_clusters: int, dimension: int, seed: int) -> Graph:
    """A graph over plans of a few calls each, PLANS_PER_CLUSTER a cluster, every cluster with its own few tools."""
    rng = np.random.default_rng(seed)
    from edgeret_export.fitting.counts import tabulate
    from edgeret_export.fitting.decisions import number_decisions

    tools = [Tool(f"tool_{i}", f"tool {i}") for i in range(n_labels - 1)]
    demonstrations: list[Demonstration] = []
    clusters_of: list[int] = []
    for cluster in range(n_clusters):
        chosen = rng.choice(n_labels - 1, size=min(TOOLS_PER_CLUSTER, n_labels - 1), replace=False)
        for _ in range(PLANS_PER_CLUSTER):
            plan = rng.choice(chosen, size=min(CALLS_PER_PLAN, len(chosen)), replace=False).tolist()
            clusters_of.append(cluster)
            calls = tuple(Call(tools[i].name) for i in plan)
            demonstrations.append(Demonstration(f"d{len(demonstrations)}", "synthetic", calls))
    # One plan calls every tool, so that all of them are labels.
    clusters_of.append(0)
    demonstrations.append(Demonstration("all", "synthetic", tuple(Call(tool.name) for tool in tools)))
    centroids = synthetic(n_clusters, dimension, seed)
    tables = tabulate(number_decisions(demonstrations, tools), np.array(clusters_of, np.intp)[:, None], centroids, 3)
    return Graph(tables, GraphOptions())


def _by_tools(sizes: Sequence[int], queries: NDArray[np.float32], seed: int) -> list[dict[str, Any]]:
    if not hnswlib_available():
        say("hnswlib is not installed, so only exact search is measured: pip install 'edgeret[hnsw]'")
    rows: list[dict[str, Any]] = []
    for size in track(sizes, "tools", len(sizes)):
        vectors = synthetic(size, queries.shape[1], seed)
        names = [f"tool_{i}" for i in range(size)]
        exact = Index(names, vectors)
        row: dict[str, Any] = {"tools": size, "exact_ms": _search_cost(exact, queries)}
        if hnswlib_available():
            began = perf_counter()
            graph = hnswlib_graph(vectors, seed)
            row["hnsw_build_s"] = perf_counter() - began
            hnsw = Index(names, vectors, _Hnswlib(graph))
            row["hnsw_ms"] = _search_cost(hnsw, queries)
            row["recall@10"] = recall(exact, hnsw, queries)
            row["hnsw_mb"] = len(pack_links(links_of(graph.__getstate__()[0]), "")) / 1e6
        rows.append({**row, "vectors_mb": vectors.nbytes / 1e6})
    return rows


class _Hnswlib:
    """A graph that hnswlib searches: the reference's own walk is made to be read."""

    def __init__(self, graph: Any) -> None:
        graph.set_ef(EF)
        self._graph = graph

    def nearest(self, vector: NDArray[np.float32]) -> NDArray[np.intp]:
        labels, _ = self._graph.knn_query(vector, k=min(EF, self._graph.element_count), num_threads=1)
        return np.asarray(labels[0], np.intp)


def _search_cost(index: Index, queries: NDArray[np.float32]) -> dict[str, float]:
    return _cost(lambda query: index.search(query, K), queries)


def _by_labels(sizes: Sequence[int], queries: NDArray[np.float32], seed: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for count in track(sizes, "labels", len(sizes)):
        head = synthetic_head(count, queries.shape[1], seed)
        rows.append({"labels": count, **_head_cost(head, queries, seed), "mb": _head_mb(head)})
    return rows


def _by_clusters(queries: NDArray[np.float32], seed: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for count in track(CLUSTERS, "clusters", len(CLUSTERS)):
        graph = synthetic_graph(DEFAULT_LABELS, count, queries.shape[1], seed)
        steps = [(graph.locate(query), (0, 1)) for query in queries]
        costs = {"locate_ms": _cost(graph.locate, queries), "step_ms": _graph_cost(graph, steps)}
        rows.append({"clusters": count, **costs})
    return rows


def _by_history(queries: NDArray[np.float32], seed: int) -> list[dict[str, Any]]:
    dimension = queries.shape[1]
    graph = synthetic_graph(DEFAULT_LABELS, DEFAULT_CLUSTERS, dimension, seed)
    head = synthetic_head(DEFAULT_LABELS, dimension, seed)
    rng, logits = np.random.default_rng(seed), np.zeros((STAGES, DEFAULT_LABELS), np.float32)
    rows: list[dict[str, Any]] = []
    for length in track(HISTORIES, "histories", len(HISTORIES)):
        histories = rng.integers(DEFAULT_LABELS - 1, size=(QUERIES, length)).tolist()
        steps = [(graph.locate(query), history) for query, history in zip(queries, histories, strict=True)]
        head_ms = _cost(lambda history: head.logits(logits, history), histories)
        rows.append({"history": length, "graph_ms": _graph_cost(graph, steps), "head_ms": head_ms})
    return rows


def _graph_cost(graph: Graph, steps: Sequence[tuple[Any, Sequence[int]]]) -> dict[str, float]:
    return _cost(lambda step: graph.distribution(*step), steps)


def _head_cost(head: FactoredHead, queries: NDArray[np.float32], seed: int) -> dict[str, Any]:
    """`described_ms` and `query_ms` come once a task, `step_ms` with every decision."""
    n, dimension = len(head.labels), queries.shape[1]
    tools = synthetic(n - 1, dimension, seed)
    segments = synthetic(SEGMENTS, dimension, seed)
    parts = [np.vstack((query, segments)) for query in queries]
    cosines, static = product(parts[0], tools), np.zeros(n, np.float32)
    spelt = np.arange(0, SPELLING_BUCKETS, 8), np.full(SPELLING_BUCKETS // 8, 0.1, np.float32)
    logits = head.query_logits(queries[0], cosines, static, spelt)
    histories = np.random.default_rng(seed).integers(n - 1, size=(len(queries), 2)).tolist()
    return {
        "described_ms": _cost(lambda rows: product(rows, tools), parts),
        "query_ms": _cost(lambda query: head.query_logits(query, cosines, static, spelt), queries),
        "step_ms": _cost(lambda history: head.logits(logits, history), histories),
    }


def _head_mb(head: FactoredHead) -> float:
    return len(pack_head(head.arrays, "")) / 1e6


def _cost(work: Callable[[Any], object], inputs: Sequence[Any] | NDArray[np.float32]) -> dict[str, float]:
    times = []
    for value in inputs:
        started = perf_counter()
        work(value)
        times.append((perf_counter() - started) * 1e3)
    return quantiles(times)
