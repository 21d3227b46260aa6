"""Learning on the device, plan by plan: each is predicted first and learned then, as in use.

Knows nothing of how anything is learned; see `learner`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import say, track
from edgeret_bench.accuracy import new_tool
from edgeret_bench.accuracy.learner import encoding_s, fresh
from edgeret_bench.accuracy.walk import Rows, averages, ranked, repeated_queries, score, walk
from edgeret_bench.metrics import quantiles
from edgeret_bench.results.files import order_of, rounded

FIRST = 10
"""Plans after which accuracy is first told; then three times, then ten times as many, and so on."""


@dataclass(frozen=True, slots=True)
class Options:
    """`seed` shuffles the plans (None: they come as given), `limit` takes the first of them (None: all); `replay` lets
    every lesson repeat some earlier plans; `new_tool` names a tool whose plans are held back to the end."""

    replay: bool = True
    seed: int | None = None
    limit: int | None = None
    new_tool: str | None = None


def run(
    runtime: Runtime,
    plans: Sequence[Demonstration],
    test: Sequence[Demonstration] = (),
    others: Sequence[Demonstration] = (),
    options: Options | None = None,
) -> dict[str, Any]:
    """The contract's `stream` result. `test` and `others` are tested before anything is learned and after all is.

    `update_us` is the wall time of learning each plan, and `plan_us` that with opening its task and ranking all
    candidates at every step, both less what the library takes to encode its query. Raises InputError if nothing is left
    to learn from.
    """
    options = options or Options()
    lessons = _chosen(plans, options)
    held_back: list[Demonstration] = []
    if options.new_tool is not None:
        lessons, held_back = new_tool.split(lessons, test, options.new_tool)
    if not lessons:
        raise InputError("every plan of --stream calls the tool of --new-tool, so none is left; name another")
    learner = fresh(runtime, options.replay)
    repeated = repeated_queries(lessons, test) if test else 0
    before = [_tested(learner, part) for part in (test, others)]
    rows, groups, learning, whole = _learn_all(runtime, learner, lessons)
    after = [_tested(learner, part) for part in (test, others)]
    result = {
        "n_plans": len(lessons),
        "n_steps": len(rows),
        "dag": any(d.links is not None for d in lessons),
        "repeated_queries": repeated,
        "replay": options.replay,
        "seed": options.seed,
        "cumulative": _cumulative(rows, groups),
        "before_test": before[0],
        "test": after[0],
        "before_others": before[1],
        "others": after[1],
        "update_us": quantiles([1e6 * value for value in learning]),
        "plan_us": quantiles([1e6 * value for value in whole]),
        "learned_mb": learner.learned.size_bytes / 1e6,
        "samples": {
            "unit": "score",
            "order": order_of([d.query for d in lessons]),
            "groups": groups,
            "series": rounded({key: [row[key] for row in rows] for key in ("top1", "mrr")}),
        },
    }
    if options.new_tool is not None:
        result["new_tool"] = new_tool.run(learner, options.new_tool, held_back, test)
    return result


def _chosen(plans: Sequence[Demonstration], options: Options) -> list[Demonstration]:
    order = range(len(plans))
    if options.seed is not None:
        order = np.random.default_rng(options.seed).permutation(len(plans)).tolist()
    return [plans[i] for i in order][: options.limit]


def _learn_all(
    runtime: Runtime, learner: Runtime, lessons: Sequence[Demonstration]
) -> tuple[Rows, list[int], list[float], list[float]]:
    """Of a fresh `learner` of a runtime: metrics of every step before its plan was learned, with the plan's number, and
    the seconds beyond its encoding that learning each plan took, and predicting and learning it."""
    rows: list[dict[str, float]] = []
    groups: list[int] = []
    learning: list[float] = []
    whole: list[float] = []
    told = set(checkpoints(len(lessons)))
    for number, demonstration in enumerate(track(lessons, "plans", len(lessons))):
        started = perf_counter()
        found = walk(learner, demonstration, ranked)
        walked = perf_counter()
        learner.learn([demonstration])
        ended, encoding = perf_counter(), encoding_s(runtime, demonstration.query)
        learning.append(max(0.0, ended - walked - encoding))
        whole.append(max(0.0, ended - started - 2 * encoding))
        rows += [score(candidates, step) for candidates, step in zip(found, demonstration.steps(), strict=True)]
        groups += [number] * len(found)
        if number + 1 in told:
            say(f"after {number + 1} plans: top-1 so far {np.mean([row['top1'] for row in rows]):.3f}")
    return rows, groups, learning, whole


def checkpoints(n_plans: int) -> list[int]:
    """10, 30, 100, 300, … up to the number of plans."""
    steps = [FIRST * 10**power * factor for power in range(len(str(n_plans))) for factor in (1, 3)]
    return [step for step in steps if step <= n_plans]


def _cumulative(rows: Rows, groups: Sequence[int]) -> dict[str, Any]:
    """The averages over the first plans, up to each checkpoint, and over all."""
    marks = {str(n): int(np.searchsorted(groups, n)) for n in checkpoints(groups[-1] + 1)}
    return {name: averages(rows[:end], groups[:end]) for name, end in (marks | {"all": len(rows)}).items()}


def _tested(runtime: Runtime, plans: Sequence[Demonstration]) -> dict[str, Any] | None:
    """The averages over the steps of plans from which nothing is learned; None without any."""
    if not plans:
        return None
    rows: list[dict[str, float]] = []
    groups: list[int] = []
    for number, demonstration in enumerate(track(plans, "test plans", len(plans))):
        found = walk(runtime, demonstration, ranked)
        rows += [score(candidates, step) for candidates, step in zip(found, demonstration.steps(), strict=True)]
        groups += [number] * len(found)
    return {"n_plans": len(plans), "n_steps": len(rows), **averages(rows, groups)}
