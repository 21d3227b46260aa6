"""Ranking metrics (the DTDR paper, appendix D). Rankings come as position arrays, best first; ties are the caller's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

RETRIEVAL_CUTS = (1, 5, 10)
COMPLETENESS_CUTS = (5, 10)


def rank(scores: NDArray[np.floating]) -> NDArray[np.intp]:
    """Positions by falling score; equal scores keep their order, so a tie is never broken in a method's favour."""
    return np.argsort(-scores, kind="stable")


def shares(names: Sequence[str]) -> dict[str, float]:
    """What share of the entries each name has, the names in order."""
    return {name: count / len(names) for name, count in sorted(Counter(names).items())}


def next_tool_metrics(
    ranking: NDArray[np.intp], acceptable: Collection[int], count: int | None = None
) -> dict[str, float]:
    """top1, mrr, f1 (k = number of acceptable tools), recall@5, recall@10 of one step's ranking.

    `count` is the number of acceptable tools where some of them cannot be in the ranking at all.
    """
    hits = np.isin(ranking, list(acceptable))
    k = len(acceptable) if count is None else count
    # Precision and recall share the denominator k here, so F1 is their common value.
    return {
        "top1": float(hits[0]),
        "mrr": 1.0 / (1 + int(hits.argmax())) if hits.any() else 0.0,
        "f1": float(hits[:k].sum()) / k,
        "recall@5": float(hits[:5].sum()) / min(k, 5),
        "recall@10": float(hits[:10].sum()) / min(k, 10),
    }


def retrieval_metrics(ranking: NDArray[np.intp], relevant: Collection[int]) -> dict[str, float]:
    """ndcg, recall and completeness at the usual cuts, and mrr, of one query's ranking; `relevant` is not empty."""
    hits = np.isin(ranking, list(relevant)).astype(np.float64)
    n = len(relevant)
    discounts = 1 / np.log2(np.arange(2, len(hits) + 2))
    result: dict[str, float] = {}
    for k in RETRIEVAL_CUTS:
        ideal = discounts[: min(n, k)].sum()
        result[f"ndcg@{k}"] = float((hits[:k] * discounts[:k]).sum() / ideal)
        result[f"recall@{k}"] = float(hits[:k].sum() / n)
    for k in COMPLETENESS_CUTS:
        result[f"completeness@{k}"] = float(hits[:k].sum() == n)
    result["mrr"] = 1.0 / (1 + int(hits.argmax())) if hits.any() else 0.0
    return result


def mean(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of every metric over the rows."""
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}


def share(values: Sequence[bool]) -> float:
    """How many of the values are true, a share."""
    return float(np.mean(values))


def quantiles(samples_ms: Sequence[float]) -> dict[str, float]:
    """p50, p90, p99, max and mean of latencies in ms, and how many there were."""
    values = np.asarray(samples_ms)
    p50, p90, p99 = np.quantile(values, (0.5, 0.9, 0.99))
    most, mean_ms = float(values.max()), float(values.mean())
    return {"p50": float(p50), "p90": float(p90), "p99": float(p99), "max": most, "mean": mean_ms, "n": len(values)}
