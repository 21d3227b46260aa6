"""Results with made-up figures, for tests of what is said of them and of how they are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgeret_bench.results.files import write_result

ENVIRONMENT = {"cpu": "one", "cpus": 2, "system": "Linux", "versions": {"numpy": "2"}}


def times(
    series: Mapping[str, Sequence[float]],
    reference: Sequence[float] | None = None,
    order: str | None = "q",
    **more: Any,
) -> dict[str, Any]:
    """A latency result with these samples in ms, and a reference measured after every fourth query."""
    samples: dict[str, Any] = {"unit": "ms", "order": order, "series": {k: list(v) for k, v in series.items()}}
    if reference is not None:
        beside = {"reference": {"serial": list(reference)}, "reference_of": dict.fromkeys(series, "serial")}
        samples |= {**beside, "reference_every": 4}
    stamped = {"schema": "edgeret-result/1", "kind": "latency", "environment": ENVIRONMENT, "inputs": {}, "options": {}}
    return {**stamped, "samples": samples, **more}


def scores(
    series: Mapping[str, Sequence[float]], groups: Sequence[int] | None = None, order: str = "q", **more: Any
) -> dict[str, Any]:
    """A next-tool result with these scores by step, and the plans that the steps belong to."""
    result = times(series, None, order, kind="next-tool", **more)
    result["samples"]["unit"] = "score"
    if groups is not None:
        result["samples"]["groups"] = list(groups)
    return result


def stamped(kind: str, **own: Any) -> dict[str, Any]:
    """A whole result of that kind with these keys of its own."""
    head = {"schema": "edgeret-result/1", "kind": kind, "created": "2026-01-01T00:00:00+00:00", "inputs": {}}
    return {**head, "command": ["edgeret-bench", kind], "options": {}, "environment": ENVIRONMENT, **own}


def _between(spread: float | None, **metrics: float | None) -> dict[str, Any]:
    """Metrics with intervals that reach so far on both sides; None: no intervals."""
    spans = {
        name: None if spread is None or value is None else (value - spread, value + spread)
        for name, value in metrics.items()
    }
    return {**metrics, "intervals": spans}


def few_result(repeats: int = 1) -> dict[str, Any]:
    """A result of `few` for tools alone, 10 and 300 demonstrations."""
    sizes = {
        str(size): {
            **_between(0.03, top1=top1, mrr=top1 + 0.1, first_tool_top1=top1 - 0.1, search_first_tool_top1=0.4),
            "ece": 0.05,
            "top1_by_repeat": [top1] * (repeats if size else 1),
            "bundle_hashes": [f"{size:064x}"] * (repeats if size else 1),
        }
        for size, top1 in ((0, 0.44), (10, 0.53), (300, 0.75))
    }
    counts = {"n_tools": 260, "n_train": 900, "n_plans": 500, "n_steps": 1713, "n_fitting": 480}
    told = {"dag": False, "repeated_queries": 2, "repeats": repeats, "seed": 0}
    return stamped("few", **counts, **told, encoder={"card": "tiny", "precision": "int8"}, sizes=sizes)


def stream_result(**more: Any) -> dict[str, Any]:
    """A result of `stream` over 40 plans, with both tests and a new tool."""
    after = {
        str(n): {"n_steps": 9, "top1": top1, "recall@5": top1 + 0.2, "others_top1": 0.79}
        for n, top1 in ((0, 0.3), (1, 0.5), (3, 0.7))
    }
    own = {
        **{"n_plans": 40, "n_steps": 130, "dag": False, "repeated_queries": 0, "replay": True, "seed": None},
        "cumulative": {
            name: _between(spread, top1=top1, mrr=top1 + 0.1)
            for name, spread, top1 in (("10", None, 0.46), ("30", 0.1, 0.53), ("all", 0.08, 0.55))
        },
        "before_test": _between(0.02, top1=0.635, mrr=0.7),
        "test": _between(0.02, top1=0.783, mrr=0.85),
        "before_others": _between(0.01, top1=0.805, mrr=0.88),
        "others": _between(0.01, top1=0.806, mrr=0.881),
        "new_tool": {"tool": "phone_call", "known_before": False, "after": after},
        "update_us": {"p50": 500.0, "p90": 900.0, "p99": 1200.0, "max": 2000.0, "n": 40},
        "plan_us": {"p50": 1500.0, "p90": 1900.0, "p99": 2500.0, "max": 4000.0, "n": 40},
        "learned_mb": 0.2,
    }
    return stamped("stream", **own, bundle="bundle", bundle_hash="0" * 64) | more


def search_result(
    methods: Mapping[str, tuple[float, float | None]], dataset: str | None = None, queries: str = "1", **more: Any
) -> dict[str, Any]:
    """A result of `retrieval` with nDCG@5 and median ms of these methods, over queries whose file has that hash."""
    keys = ("ndcg@1", "ndcg@5", "ndcg@10", "recall@1", "recall@5", "recall@10")
    rows: dict[str, dict[str, Any]] = {}
    for name, (score, ms) in methods.items():
        rows[name] = {**dict.fromkeys(keys, score), "completeness@5": 0.0, "completeness@10": 0.0, "mrr": score}
        rows[name] |= {} if ms is None else {"ms": {"p50": ms, "p90": ms, "p99": ms, "max": ms, "n": 20}}
    told = {"n_queries": 20, "n_without_tool": 0, "n_tools": 199, "tool_text": "description", "limit": None, "seed": 0}
    told |= {"budget_ms": None, "with_steps": [], "encoder": "tiny", "precision": "int8", "planner": None}
    inputs = {"queries": {"name": "q.jsonl", "sha256": queries, "bytes": 9}}
    return stamped("retrieval", **told, dataset=dataset, methods=rows) | {"inputs": inputs} | more


def noisy(seed: int, slower: float = 1.0, machine: float = 1.0, n: int = 1024, order: str = "q") -> dict[str, Any]:
    """Two stages with 10 % of noise, "work" so many times slower, on a machine so many times slower."""
    rng = np.random.default_rng(seed)
    work, other = (10 * rng.lognormal(0, 0.1, n) for _ in range(2))
    reference = 2 * rng.lognormal(0, 0.1, n // 4)
    return times({"work": machine * slower * work, "other": machine * other}, machine * reference, order)


def row(result: Mapping[str, Any], name: str) -> dict[str, Any]:
    return next(dict(r) for r in result["series"] if r["name"] == name)


def saved(folder: Path, *results: Mapping[str, Any]) -> list[Path]:
    files = [folder / f"{i}.json" for i in range(len(results))]
    for file, result in zip(files, results, strict=True):
        write_result(file, result)
    return files
