"""How sure a result's own figures are: 95 % intervals from its samples, by a bootstrap over blocks or plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgeret_bench.results.compare import BLOCK, CONFIDENCE, MIN_GROUPS, RESAMPLES, Values


def interval(result: Mapping[str, Any], series: str) -> tuple[float, float] | None:
    """Where the series' median (times) or mean (scores) lies with CONFIDENCE; None without samples of it, or with too
    few of them.

    Neighbouring times share their noise, and steps of a plan their request, so whole blocks and plans are drawn. What
    differs from run to run is not in it; see `compare`.
    """
    samples = result.get("samples") or {}
    values = np.asarray(samples.get("series", {}).get(series, ()), np.float64)
    if not len(values):
        return None
    if samples.get("unit") == "score":
        return score_interval(values, samples.get("groups", range(len(values))))
    n = len(values) // BLOCK
    if n < MIN_GROUPS:
        return None
    rng, blocks = np.random.default_rng(0), values[: n * BLOCK].reshape(n, BLOCK)
    # One draw at a time: all of them at once would take gigabytes for a long run.
    return _middle(np.array([np.median(blocks[rng.integers(n, size=n)]) for _ in range(RESAMPLES)]))


def score_interval(values: Sequence[float] | Values, groups: Sequence[int]) -> tuple[float, float] | None:
    """Where the mean of scores lies with CONFIDENCE, `groups` being the plan of each; None for too few plans."""
    if not len(values):
        return None
    number = np.unique(np.asarray(groups), return_inverse=True)[1]
    sums, counts = np.bincount(number, values), np.bincount(number)
    if len(sums) < MIN_GROUPS:
        return None
    drawn = np.random.default_rng(0).integers(len(sums), size=(RESAMPLES, len(sums)))
    return _middle(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))


def _middle(found: Values) -> tuple[float, float]:
    low, high = np.quantile(found, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    return float(low), float(high)


def interval_text(result: Mapping[str, Any], series: str) -> str | None:
    """The same for people: "0.9108–0.9475"."""
    return span_text(interval(result, series))


def span_text(found: Sequence[float] | None) -> str | None:
    """An interval for people."""
    return None if found is None else f"{found[0]:.4f}–{found[1]:.4f}"
