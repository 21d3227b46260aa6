"""Exact search against HNSW over the number of tools: where `edgeret.scoring.index.CROSSOVER` comes from."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.cli.progress import track
from edgeret.errors import InputError, MissingExtraError
from edgeret.scoring.index import Index, build_hnsw, hnsw_available, open_hnsw

SIZES = (500, 1_000, 2_000, 4_000, 8_000, 16_000)
QUERIES, K, TOPICS = 400, 10, 64


def run(dimension: int, seed: int) -> dict[str, Any]:
    """Medians of both searches on seeded synthetic libraries, and the first size at which HNSW wins from there on."""
    if dimension < 1:
        raise InputError(f"the dimension must be at least 1, found {dimension}")
    if not hnsw_available():
        raise MissingExtraError("hnsw", "measuring HNSW")
    rows = []
    for size in track(SIZES, "libraries", len(SIZES)):
        vectors, queries = synthetic(size, dimension, seed), synthetic(QUERIES, dimension, seed + 1)
        names = [f"tool_{i}" for i in range(size)]
        exact, hnsw = Index(names, vectors), Index(names, vectors, open_hnsw(build_hnsw(vectors, seed), vectors))
        ms = {"exact_ms": _median(exact, queries), "hnsw_ms": _median(hnsw, queries)}
        rows.append({"tools": size, **ms, "recall@10": recall(exact, hnsw, queries)})
    wins = [row["hnsw_ms"] < row["exact_ms"] for row in rows]
    first = next((row["tools"] for i, row in enumerate(rows) if all(wins[i:])), None)
    return {"dimension": dimension, "seed": seed, "sizes": rows, "crossover": first}


def recall(exact: Index, hnsw: Index, queries: NDArray[np.float32]) -> float:
    """Share of the K nearest tools that the HNSW graph finds, the mean over the queries."""
    found = [(set(exact.search(q, K)[0].tolist()), set(hnsw.search(q, K)[0].tolist())) for q in queries]
    return float(np.mean([len(a & b) / K for a, b in found]))


def synthetic(n: int, dimension: int, seed: int) -> NDArray[np.float32]:
    """Unit vectors around a few topics, as tools are; uniform ones would be hopeless for any graph."""
    topics = np.random.default_rng(0).normal(size=(TOPICS, dimension))
    rng = np.random.default_rng(seed)
    vectors = topics[rng.integers(TOPICS, size=n)] + 0.8 * rng.normal(size=(n, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _median(index: Index, queries: NDArray[np.float32]) -> float:
    times = []
    for query in queries:
        started = perf_counter()
        index.search(query, K)
        times.append((perf_counter() - started) * 1e3)
    return float(np.median(times))
