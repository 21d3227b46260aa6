"""What deciding without the full encoder costs and saves: every profile of one bundle on the same requests, in turns.

Knows nothing of how thresholds are fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import track
from edgeret.types import END
from edgeret.usage.reliability import calibration_errors
from edgeret_bench.metrics import quantiles, shares
from edgeret_bench.results.intervals import score_interval

FULL = "full"
WARMUP = 20


@dataclass
class _Walked:
    """What one profile made of all steps: a row each, and of all requests."""

    right: list[float] = field(default_factory=list)
    rank: list[float] = field(default_factory=list)
    confidence: list[float] = field(default_factory=list)
    stage: list[str] = field(default_factory=list)
    first_stage: list[str] = field(default_factory=list)
    first_ms: list[float] = field(default_factory=list)
    next_ms: list[float] = field(default_factory=list)
    plan_stages: list[frozenset[str]] = field(default_factory=list)
    declined: list[bool] = field(default_factory=list)


def run(runtimes: Mapping[str, Runtime], demonstrations: Sequence[Demonstration]) -> dict[str, Any]:
    """Accuracy, calibration, time of a first decision with its encoding, and who decided, by profile. Policy "auto";
    histories are the demonstrations' own. `full` must be among the profiles, and what the others lose and save is told
    against it."""
    found = {name: _Walked() for name in runtimes}
    for runtime in runtimes.values():
        for demonstration in demonstrations[:WARMUP]:
            runtime.task(demonstration.query).next()
    groups: list[int] = []
    for number, demonstration in enumerate(track(demonstrations, "plans", len(demonstrations))):
        groups += [number] * len(list(demonstration.steps()))
        for name, runtime in runtimes.items():
            _walk(runtime, demonstration, found[name])
    full = found[FULL]
    return {
        "n_plans": len(demonstrations),
        "n_steps": len(groups),
        "n_without_tool": sum(not demonstration.calls for demonstration in demonstrations),
        "profiles": {name: _told(walked, full, groups) for name, walked in found.items()},
    }


def _walk(runtime: Runtime, demonstration: Demonstration, found: _Walked) -> None:
    started, stages = perf_counter(), set()
    task = runtime.task(demonstration.query)
    for number, step in enumerate(demonstration.steps()):
        decision = task.next(k=None)
        ms = (perf_counter() - started) * 1e3
        (found.next_ms if number else found.first_ms).append(ms)
        ranks = [i for i, each in enumerate(decision.candidates, 1) if each.tool in step.acceptable]
        found.right.append(float(bool(ranks) and ranks[0] == 1))
        found.rank.append(1 / ranks[0] if ranks else 0.0)
        found.confidence.append(decision.candidates[0].probability)
        found.stage.append(decision.stage)
        stages.add(decision.stage)
        if not number:
            found.first_stage.append(decision.stage)
            if not demonstration.calls:
                found.declined.append(decision.abstained)
        started = perf_counter()
        if step.taken != END:
            task.call(step.taken)
    found.plan_stages.append(frozenset(stages))


def _told(walked: _Walked, full: _Walked, groups: Sequence[int]) -> dict[str, Any]:
    lost = np.subtract(full.right, walked.right)
    correct = np.array(walked.right, bool)
    return {
        "top1": float(np.mean(walked.right)),
        "mrr": float(np.mean(walked.rank)),
        **calibration_errors(np.array(walked.confidence), correct),
        "declined_when_none_fits": float(np.mean(walked.declined)) if walked.declined else None,
        "lost": float(lost.mean()),
        "lost_interval": score_interval(lost.tolist(), groups),
        "first_ms": quantiles(walked.first_ms),
        "next_ms": quantiles(walked.next_ms) if walked.next_ms else None,
        "first_time_of_full": float(np.mean(walked.first_ms) / np.mean(full.first_ms)),
        "stages": shares(walked.stage),
        "first_stages": shares(walked.first_stage),
        "plans_by_table_alone": float(np.mean([stages == {"static"} for stages in walked.plan_stages])),
    }
