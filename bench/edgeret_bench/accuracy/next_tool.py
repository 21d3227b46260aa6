"""Which function comes next, teacher-forced over whole plans: every method on the same steps, encoder and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.cli.progress import track
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.types import END
from edgeret_bench.accuracy.scorers import Methods
from edgeret_bench.metrics import mean, next_tool_metrics, quantiles, rank
from edgeret_bench.results.files import order_of, rounded
from edgeret_export.fitting.reliability import expected_calibration_error, refusal_curve

LONGEST = 6
"""The table's last row: plans of so many calls and more."""


def run(
    runtime: Runtime, demonstrations: Sequence[Demonstration], methods: Sequence[str], seed: int = 0
) -> dict[str, Any]:
    """The contract's `next-tool` result, with calibration and refusal beside it.

    Histories are the demonstrations' own; in a DAG any call whose predecessors are done counts as right.
    """
    known = Methods(runtime, seed)
    scorers = {name: known.get(name) for name in methods}
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in methods}
    ms: dict[str, list[float]] = {name: [] for name in methods}
    plans: list[int] = []
    lengths: list[int] = []
    confidence: list[float] = []
    correct: list[bool] = []
    offered: list[bool] = []
    fits: list[bool] = []
    for number, demonstration in enumerate(track(demonstrations, "plans", len(demonstrations))):
        task = runtime.task(demonstration.query)
        position = {name: i for i, name in enumerate(task.candidate_names)}
        steps = demonstration.steps()
        for step in steps:
            acceptable = {position[name] for name in step.acceptable if name in position}
            for name, scorer in scorers.items():
                started = perf_counter()
                scores = scorer(task, step)
                ms[name].append((perf_counter() - started) * 1e3)
                rows[name].append(next_tool_metrics(rank(scores), acceptable, len(step.acceptable)))
            plans.append(number)
            lengths.append(len(demonstration.calls))
            decision = task.next(k=1)
            if not step.history:
                offered.append(not decision.abstained)
                fits.append(bool(demonstration.calls))
            best = decision.candidates[0]
            confidence.append(best.probability)
            correct.append(best.tool in step.acceptable)
            if step.taken != END:
                task.call(step.taken)
    return {
        "n_plans": len(demonstrations),
        "n_steps": len(confidence),
        "dag": any(d.links is not None for d in demonstrations),
        "seed": seed,
        "methods": {name: mean(values) for name, values in rows.items()},
        "ms_per_step": {name: quantiles(values) for name, values in ms.items()},
        "by_plan_length": {name: by_length(values, lengths) for name, values in rows.items()},
        "calibration": {
            "ece": expected_calibration_error(np.array(confidence), np.array(correct)),
            "refusal_curve": refusal_curve(np.array(confidence), np.array(correct)),
            "reliability": reliability(np.array(confidence), np.array(correct)),
        },
        "fitness": _fitness(np.array(offered), np.array(fits)),
        "samples": {
            "unit": "score",
            "order": order_of([d.query for d in demonstrations]),
            "groups": plans,
            "series": rounded(
                {
                    f"{name} {metric}": [row[metric] for row in values]
                    for name, values in rows.items()
                    for metric in ("top1", "mrr")
                }
            ),
        },
    }


def by_length(rows: Sequence[Mapping[str, float]], lengths: Sequence[int]) -> dict[str, dict[str, float]]:
    """Top-1 by the number of calls of the plan (the DTDR paper, Table 4), LONGEST and more in one row."""
    groups: dict[int, list[float]] = {}
    for row, length in zip(rows, lengths, strict=True):
        groups.setdefault(min(length, LONGEST), []).append(row["top1"])
    return {
        f"{n}+" if n == LONGEST else str(n): {"n": len(values), "top1": float(np.mean(values))}
        for n, values in sorted(groups.items())
    }


def reliability(confidence: NDArray[np.floating], correct: NDArray[np.bool_]) -> list[dict[str, float]]:
    """How often decisions were right, by how sure they were, in ten parts of the same number of decisions."""
    parts = np.array_split(np.argsort(confidence, kind="stable"), min(10, len(confidence)))
    return [
        {"n": len(part), "confidence": float(confidence[part].mean()), "right": float(correct[part].mean())}
        for part in parts
    ]


def _fitness(offered: NDArray[np.bool_], fits: NDArray[np.bool_]) -> dict[str, Any]:
    """How policy "auto" tells requests that a tool fits from those that none fits, at the first step."""
    return {
        "n_fitting": int(fits.sum()),
        "n_without_tool": int((~fits).sum()),
        "offered_when_fitting": float(offered[fits].mean()) if fits.any() else None,
        "declined_when_none_fits": float((~offered[~fits]).mean()) if (~fits).any() else None,
    }
