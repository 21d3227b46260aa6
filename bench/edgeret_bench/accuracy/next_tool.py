"""Which function comes next, teacher-forced over whole plans: every method on the same steps, encoder and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import track
from edgeret.types import END
from edgeret.usage.reliability import calibration_errors, refusal_curve
from edgeret_bench.accuracy.scorers import Measured, Methods, Scorer
from edgeret_bench.metrics import mean, next_tool_metrics, quantiles, rank, shares
from edgeret_bench.results.files import order_of, rounded

LONGEST = 6
"""The table's last row: plans of so many calls and more."""


@dataclass
class Steps:
    """What every step of every plan gave: metrics and ms by method, and the decisions that policy "auto" took."""

    methods: Sequence[str]
    rows: dict[str, list[dict[str, float]]] = field(init=False)
    ms: dict[str, list[float]] = field(init=False)
    plans: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    confidence: list[float] = field(default_factory=list)
    correct: list[bool] = field(default_factory=list)
    offered: list[bool] = field(default_factory=list)
    fits: list[bool] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    first: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows = {name: [] for name in self.methods}
        self.ms = {name: [] for name in self.methods}


def run(
    runtime: Runtime, demonstrations: Sequence[Demonstration], methods: Sequence[str], seed: int = 0
) -> dict[str, Any]:
    """The contract's `next-tool` result, with calibration and refusal beside it; without `methods` all of
    NEXT_TOOL_METHODS that the bundle has.

    Histories are the demonstrations' own; in a DAG any call whose predecessors are done counts as right. Raises
    InputError for a method that cannot be had.
    """
    known = Methods(runtime, seed)
    methods = methods or known.usual()
    scorers = {name: known.get(name) for name in methods}
    found = Steps(methods)
    for number, demonstration in enumerate(track(demonstrations, "plans", len(demonstrations))):
        _walk(runtime, known.measured(demonstration.query, methods), number, demonstration, scorers, found)
    confidence, correct = np.array(found.confidence), np.array(found.correct)
    return {
        "n_plans": len(demonstrations),
        "n_steps": len(confidence),
        "dag": any(d.links is not None for d in demonstrations),
        "seed": seed,
        "methods": {name: mean(values) for name, values in found.rows.items()},
        "ms_per_step": {name: quantiles(values) for name, values in found.ms.items()},
        "by_plan_length": {name: by_length(values, found.lengths) for name, values in found.rows.items()},
        "calibration": {
            **calibration_errors(confidence, correct),
            "refusal_curve": refusal_curve(confidence, correct),
            "reliability": reliability(confidence, correct),
        },
        "decisions": _decided(found),
        "fitness": _fitness(np.array(found.offered), np.array(found.fits)),
        "samples": samples(found.rows, found.plans, demonstrations),
    }


def _walk(
    runtime: Runtime,
    measured: Measured,
    number: int,
    demonstration: Demonstration,
    scorers: Mapping[str, Scorer],
    found: Steps,
) -> None:
    """One plan, step by step, by every method and by the runtime itself."""
    task = runtime.task(demonstration.query)
    position = {name: i for i, name in enumerate(measured.names)}
    for step in demonstration.steps():
        acceptable = {position[name] for name in step.acceptable if name in position}
        for name, scorer in scorers.items():
            started = perf_counter()
            scores = scorer(measured, step)
            found.ms[name].append((perf_counter() - started) * 1e3)
            found.rows[name].append(next_tool_metrics(rank(scores), acceptable, len(step.acceptable)))
        found.plans.append(number)
        found.lengths.append(len(demonstration.calls))
        decision = task.next(k=1)
        if not step.history:
            found.offered.append(not decision.abstained)
            found.fits.append(bool(demonstration.calls))
        found.stages.append(decision.stage)
        found.first.append(not step.history)
        best = decision.candidates[0]
        found.confidence.append(best.probability)
        found.correct.append(best.tool in step.acceptable)
        if step.taken != END:
            task.call(step.taken)
            measured.own.call(step.taken)


def _decided(found: Steps) -> dict[str, Any]:
    """What policy "auto" made of all steps, whichever stage of a cascade decided: how often it was right, and which
    share of steps, of first ones, and of whole plans needed no more than which stage."""
    stages, first, plans = np.array(found.stages), np.array(found.first), np.array(found.plans)
    alone = set(found.plans) - set(plans[stages != "static"].tolist())
    return {
        "top1": float(np.mean(found.correct)),
        "stages": shares(found.stages),
        "first_stages": shares(stages[first].tolist()),
        "plans_by_table_alone": len(alone) / max(1, len(set(found.plans))),
    }


def samples(
    rows: Mapping[str, Sequence[Mapping[str, float]]], plans: Sequence[int], demonstrations: Sequence[Demonstration]
) -> dict[str, Any]:
    """Top-1 and reciprocal rank of every step, by method, for `compare`; `plans` says to which plan each belongs."""
    return {
        "unit": "score",
        "order": order_of([d.query for d in demonstrations]),
        "groups": list(plans),
        "series": rounded(
            {f"{name} {key}": [row[key] for row in values] for name, values in rows.items() for key in ("top1", "mrr")}
        ),
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
