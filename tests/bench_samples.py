"""Results with made-up samples, for tests of what is said about two of them."""

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
