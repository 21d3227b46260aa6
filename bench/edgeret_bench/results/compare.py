"""Two results of the same benchmark: ratios, how sure they are, and whether the second is a regression.

Times are compared in units of the run's own reference workload, which was measured between the queries: a machine that
was slower as a whole was slower at both. Confidence comes from a bootstrap over blocks of neighbouring measurements
(times) or over whole plans or queries (scores), since neighbours share their noise; to times is added what two runs on
one bundle were found to differ by. Of too few blocks or plans, only what lies wholly apart is judged, by permutation.

The resampling is a line of numpy: scipy's bootstrap takes a third to twice as long over it, its import 1.2 s more than
the whole comparison, and groups and pairs would have to go through it as arrays of indices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret_bench.results.files import others_share

RESAMPLES = 2000
CONFIDENCE = 0.95
TINY = 1e-12
NORMAL = 1.96
"""Standard deviations on either side that hold CONFIDENCE of a normal distribution."""
BLOCK = 64
"""Neighbouring measurements that a bootstrap takes or leaves together."""
THRESHOLDS = {"ms": 1.1, "score": 1.02}
"""How many times worse, by unit, is called a regression."""
Values = NDArray[np.float64]
BUSY = 0.1
"""Share of the CPU that other programs may take without a word; a program that keeps a core is not divided out."""
MIN_GROUPS = 6
"""Blocks or plans below which resampling them says nothing; the interval is then without end."""
MIN_QUERIES = (MIN_GROUPS - 1) * BLOCK + BLOCK // 2
"""Queries that make so many blocks: half a block at the end counts."""
FAR = {"ms": 2.0, "score": 1.0}
"""How many times apart a few values must be at least, by unit: a busy moment slows neighbouring times together."""
UNKNOWN: Values = np.resize([-np.inf, np.inf], RESAMPLES)


def compare(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    threshold: float | None = None,
    seed: int = 0,
    only: str | None = None,
    again: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]] = (),
) -> dict[str, Any]:
    """Every series that both results hold: medians or means, how many times worse the second is (`worse`, with its
    confidence interval `low` to `high`; below 1 is better), and the verdict.

    A series is a regression if it is surely worse (`low` above 1) and at least `threshold` times as bad. `ok` is
    False if any is. Where there are too few samples to resample, the verdict says how many it takes, unless all values
    of one side are far beyond those of the other. `again` are more pairs of runs, of times only: what differs from run
    to run shrinks with the root of their number. Raises InputError for results that cannot be compared.
    """
    runs = [(before, after), *again]
    pairs = [_pair(*run, before["kind"]) for run in runs]
    if threshold is not None and not threshold >= 1:
        raise InputError(f"the threshold is how many times worse is too bad, at least 1; found {threshold}")
    first = pairs[0][0]
    unit = str(first["unit"])
    if again and unit != "ms":
        raise InputError("scores do not change from run to run; --again is for times")
    limit = THRESHOLDS[unit] if threshold is None else threshold
    rng = np.random.default_rng(seed)
    rows = []
    for name in first["series"]:
        if only in (None, name) and all(name in side["series"] for pair in pairs for side in pair):
            rows.append({"name": name, **_row(name, pairs, unit, limit, rng)})
    if not rows:
        known = ", ".join(first["series"])
        what = "series" if only is None else f"series '{only}'"
        raise InputError(f"the two results have no {what} in common; the first has: {known}")
    return {
        "ok": not any(row["verdict"] == "regression" for row in rows),
        "kind": before["kind"],
        "unit": unit,
        "pairs": len(pairs),
        "threshold": limit,
        "confidence": CONFIDENCE,
        "seed": seed,
        "warnings": list(
            dict.fromkeys(w for run, pair in zip(runs, pairs, strict=True) for w in _warnings(*run, *pair))
        ),
        "series": rows,
    }


def _pair(
    before: Mapping[str, Any], after: Mapping[str, Any], kind: str
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The samples of two results of that kind. Raises InputError."""
    for result in (before, after):
        if result["kind"] != kind:
            raise InputError(f"cannot compare a result of '{kind}' with one of '{result['kind']}'")
    first, second = _samples(before), _samples(after)
    if not first or not second:
        raise InputError(
            "a result without its samples cannot be compared; it was made with --no-samples, or its kind "
            f"('{kind}') keeps none"
        )
    if _other_setting(before, after) is None:
        return first, second
    # The reference work ran in each run's own setting, and would divide the difference out.
    bare = ({k: v for k, v in side.items() if k != "reference"} for side in (first, second))
    return next(bare), next(bare)


def _other_setting(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """What the two runs computed with that differs: threads or providers; None if both agree."""
    return next((key for key in ("threads", "providers") if before.get(key) != after.get(key)), None)


def _samples(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A result's samples, None if it keeps none. Raises InputError for samples that make no sense."""
    samples = result.get("samples")
    if not samples:
        return None
    series = samples.get("series") if isinstance(samples, Mapping) else None
    sound = isinstance(series, Mapping) and series and all(isinstance(v, list) and v for v in series.values())
    if not sound or samples.get("unit") not in THRESHOLDS:
        raise InputError(
            f"the samples of a result of '{result['kind']}' make no sense: expected a unit (ms or score) and series of "
            "numbers; measure again"
        )
    return dict(samples)


def _row(
    name: str,
    pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    unit: str,
    limit: float,
    rng: np.random.Generator,
) -> dict[str, Any]:
    deviation = 0.0
    if unit == "ms":
        found = [_times(name, *pair, rng) for pair in pairs]
        medians = float(np.median([m[0] for m, _, _ in found])), float(np.median([m[1] for m, _, _ in found]))
        worse = float(np.exp(np.mean([ratio for _, ratio, _ in found])))
        draws = np.mean([drawn for _, _, drawn in found], axis=0)
        deviation = max(_run_to_run(side, name) for pair in pairs for side in pair) / len(pairs) ** 0.5
        low, high = _widened(worse, _interval(np.exp(draws)), deviation)
    else:
        medians, worse, draws = _scores(name, *pairs[0], rng)
        low, high = _interval(draws)
    if not np.isfinite(high):
        low, high = _apart(name, pairs, unit, limit, deviation)
    verdict = "regression" if low > 1 and worse >= limit else "worse" if low > 1 else "better" if high < 1 else "same"
    if not np.isfinite(high):
        needed = f"{MIN_QUERIES} queries" if unit == "ms" else f"{MIN_GROUPS} plans or queries"
        verdict = f"too few samples: {needed} needed"
    a, b = medians
    return {"before": a, "after": b, "worse": worse, "low": low, "high": high, "verdict": verdict}


def _times(
    name: str, first: Mapping[str, Any], second: Mapping[str, Any], rng: np.random.Generator
) -> tuple[tuple[float, float], float, Values]:
    """Medians in ms; the log ratio, and the same of resampled blocks."""
    piece = _common_piece(name, first, second)
    raw = float(np.median(first["series"][name])), float(np.median(second["series"][name]))
    a, b = (_blocks(side, name, piece) for side in (first, second))
    if first.get("order") == second.get("order"):
        n = min(len(a), len(b))
        ratios = b[:n] - a[:n]  # block by block, the same queries
        ratio = float(np.median(ratios))
        if n < MIN_GROUPS:
            return raw, ratio, UNKNOWN
        return raw, ratio, np.median(ratios[rng.integers(n, size=(RESAMPLES, n))], axis=1)
    ratio = float(np.median(b) - np.median(a))
    if min(len(a), len(b)) < MIN_GROUPS:
        return raw, ratio, UNKNOWN
    left, right = (np.median(side[rng.integers(len(side), size=(RESAMPLES, len(side)))], axis=1) for side in (a, b))
    return raw, ratio, right - left


def _common_piece(name: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> str | None:
    """The piece of reference work that the first run measures a series in, if both ran it."""
    piece: str | None = first.get("reference_of", {}).get(name)
    return piece if all(side.get("reference", {}).get(piece) for side in (first, second)) else None


def _blocks(samples: Mapping[str, Any], name: str, piece: str | None) -> Values:
    """Log median of every block, in ms or in units of the reference work's median in the same block."""
    medians = _medians(samples["series"][name], BLOCK)
    if piece is None:
        return medians
    beside = _medians(samples["reference"][piece], BLOCK // int(samples["reference_every"]))
    return medians[: len(beside)] - beside[: len(medians)]


def _medians(values: Sequence[float], size: int) -> Values:
    """Log median of every `size` values; a rest of less than half a block says too little and is left out."""
    array = np.asarray(values, np.float64)
    starts = [s for s in range(0, len(array), size) if s == 0 or len(array) - s >= size / 2]
    return np.log(np.maximum([np.median(array[s : s + size]) for s in starts], 1e-9))


def _scores(
    name: str, first: Mapping[str, Any], second: Mapping[str, Any], rng: np.random.Generator
) -> tuple[tuple[float, float], float, Values]:
    """Means; how many times larger the first mean is, and the same of resampled groups."""
    sides = [_by_group(side, name) for side in (first, second)]
    means = tuple(float(sums.sum() / counts.sum()) for sums, counts in sides)
    same = first.get("order") == second.get("order") and len(sides[0][0]) == len(sides[1][0])
    ratio = max(means[0], TINY) / max(means[1], TINY)
    if min(len(sums) for sums, _ in sides) < MIN_GROUPS:
        return (means[0], means[1]), ratio, UNKNOWN
    drawn, picks = [], None
    for sums, counts in sides:
        if picks is None or not same:
            picks = rng.integers(len(sums), size=(RESAMPLES, len(sums)))
        drawn.append(sums[picks].sum(axis=1) / counts[picks].sum(axis=1))
    return (means[0], means[1]), ratio, np.maximum(drawn[0], TINY) / np.maximum(drawn[1], TINY)


def _by_group(samples: Mapping[str, Any], name: str) -> tuple[Values, Values]:
    """The sum of every group's scores, and how many they are."""
    values = np.asarray(samples["series"][name], np.float64)
    groups = np.unique(np.asarray(samples.get("groups", range(len(values)))), return_inverse=True)[1]
    sums: Values = np.bincount(groups, values).astype(np.float64)
    return sums, np.bincount(groups).astype(np.float64)


def _apart(
    name: str,
    pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    unit: str,
    limit: float,
    deviation: float,
) -> tuple[float, float]:
    """The interval of a ratio where all values of one side are far beyond those of the other in every pair of runs:
    from the nearest two values to the farthest. Without bounds where they are not, or where so few values would too
    often fall apart by chance (a permutation test)."""
    far = math.log(max(limit, FAR[unit]))
    lows, highs = [], []
    for first, second in pairs:
        piece = _common_piece(name, first, second) if unit == "ms" else None
        a, b = (_badness(side, name, unit, piece) for side in (first, second))
        if 2 / math.comb(len(a) + len(b), len(a)) > 1 - CONFIDENCE:
            return 0.0, float("inf")
        lows.append(float(b.min() - a.max()))
        highs.append(float(b.max() - a.min()))
    low, high = min(lows) - NORMAL * deviation, max(highs) + NORMAL * deviation
    if low < far and high > -far:
        return 0.0, float("inf")
    return math.exp(low), math.exp(high)


def _badness(samples: Mapping[str, Any], name: str, unit: str, piece: str | None) -> Values:
    """Logarithms that are larger the worse: of every time, in units of the reference work's median if there is any, or
    of every group's mean score, turned over."""
    values = np.asarray(samples["series"][name], np.float64)
    if unit == "ms":
        beside = 1.0 if piece is None else float(np.median(samples["reference"][piece]))
        return np.log(np.maximum(values / beside, 1e-9))
    sums, counts = _by_group(samples, name)
    worst: Values = -np.log(np.maximum(sums / counts, TINY))
    return worst


def _run_to_run(samples: Mapping[str, Any], name: str) -> float:
    return float(samples.get("run_to_run", {}).get(name, 0.0))


def _widened(worse: float, interval: tuple[float, float], deviation: float) -> tuple[float, float]:
    """The interval of a ratio with what differs between two runs added to what differs within them; `deviation` is
    the standard deviation of the ratio's logarithm."""
    low, high = interval
    if not np.isfinite(high):
        return interval
    reach = NORMAL * deviation
    down, up = np.hypot(np.log(worse / low), reach), np.hypot(np.log(high / worse), reach)
    return float(worse * np.exp(-down)), float(worse * np.exp(up))


def _interval(draws: Values) -> tuple[float, float]:
    if not np.isfinite(draws).all():
        return 0.0, float("inf")
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(draws, (tail, 1 - tail))
    return float(low), float(high)


def _warnings(
    before: Mapping[str, Any], after: Mapping[str, Any], first: Mapping[str, Any], second: Mapping[str, Any]
) -> list[str]:
    """What differs between the two beside the thing that was measured."""
    found = []
    for what in ("inputs", "options"):
        if before.get(what) != after.get(what):
            found.append(f"the {what} differ")
    a, b = before.get("environment", {}), after.get("environment", {})
    found += [
        f"{key}: {a.get(key)} before, {b.get(key)} after"
        for key in ("cpu", "cpus", "system")
        if a.get(key) != b.get(key)
    ]
    changed = {
        k for k in {*a.get("versions", {}), *b.get("versions", {})} if a["versions"].get(k) != b["versions"].get(k)
    }
    if changed:
        found.append(f"other versions of {', '.join(sorted(changed))}")
    for which, run in (("first", before), ("second", after)):
        taken = others_share(run)
        if taken is not None and taken > BUSY:
            found.append(f"other programs took {taken:.0%} of the CPU during the {which} run; measure when it is idle")
    if first["unit"] == "ms" and any(_common_piece(name, first, second) is None for name in first["series"]):
        setting = _other_setting(before, after)
        why = "no reference workload in one of them" if setting is None else f"other {setting}"
        found.append(f"{why}, so a slower machine looks like a slower edgeret")
    return found
