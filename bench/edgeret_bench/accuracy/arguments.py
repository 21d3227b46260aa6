"""Arguments as they are read from the requests: single ones, calls and plans, the functions and the calls before them
given and free, beside the rules alone and a planner. Knows nothing of how they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import perf_counter_ns
from typing import Any

import numpy as np

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.planner.filling import required
from edgeret.runtime import plan as planning
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret.terminal.progress import track
from edgeret.types import Arguments
from edgeret_bench.accuracy import judging
from edgeret_bench.accuracy.judging import ReadCall, as_bfcl, summary
from edgeret_bench.accuracy.rollouts import isomorphic
from edgeret_bench.answers import Answer
from edgeret_bench.metrics import quantiles, share
from edgeret_export.reference.inputs.parameters import parameters

BESIDE = ("rules", "planner", "planner-alone")
Reader = Callable[[Task, str, datetime | None], Arguments]


@dataclass(frozen=True, slots=True)
class Options:
    """What to measure. `beside`: some of BESIDE; a planner reads `calls` of them or a few more, drawn by `seed` as
    whole plans. `answers`: more of what is right, by plans' ids."""

    beside: Sequence[str] = ("rules",)
    calls: int = 40
    seed: int = 0
    answers: Mapping[str, Answer] = field(default_factory=dict)


def run(runtime: Runtime, demonstrations: Sequence[Demonstration], options: Options | None = None) -> dict[str, Any]:
    """The contract's `arguments` result. Raises InputError where no call has arguments, for what is not in BESIDE, and
    for a planner that the bundle lacks; what a planner raises, too.

    A value is right as in `plan`: as JSON, text without regard to case and white space, and one of the accepted ones
    where there are answers; `normalised` has the same shares as BFCL compares. See `judging.summary`. `free` are plans
    that run by themselves, with the plan's own values alone for right: `functions_right`, `plans_right` with all
    arguments, and `all_right` of all requests, those that need no call included. `beside` has the shares of other
    ways, each with ours on the same calls. `of_an_encoding` is a call's time by that of encoding its request, in turns;
    where a bundle decides by a table first, a request's first call encodes it, too.
    """
    options = options or Options()
    for name in options.beside:
        if name not in BESIDE:
            raise InputError(f"unknown way '{name}' in --beside; choose among: {', '.join(BESIDE)}")
    if any(name != "rules" for name in options.beside) and not runtime.loaded.planner.exists:
        raise InputError(
            "--beside planner: this bundle has no planner; build one in with: edgeret-export build --planner CARD"
        )
    if not any(call.arguments for demonstration in demonstrations for call in demonstration.calls):
        raise InputError("no demonstration has arguments to compare with; give some whose calls have them")
    called = [one for one in demonstrations if one.calls]
    plans = _read(runtime, called, options, _ours, "arguments")
    calls = [call for plan in plans for call in plan]
    found = summary(plans)
    return {
        "n_plans": len(plans),
        "n_calls": len(calls),
        "n_arguments": sum(len(call.truth) for call in calls),
        **{name: found[name] for name in ("exact", "precision", "recall", "missing_told")},
        "n_missing": sum(len(call.required - call.accepted.keys()) for call in calls),
        **{name: found[name] for name in ("calls_right", "plans_right")},
        "normalised": summary(plans, as_bfcl),
        "by_source": judging.by_source(calls),
        "by_kind": judging.by_kind(calls),
        "thresholds": judging.thresholds(calls),
        "curve": judging.curve(calls),
        "free": _free(runtime, demonstrations, options.answers),
        "beside": _beside(runtime, called, plans, options),
        "us_per_call": quantiles([call.us for call in calls]),
        "of_an_encoding": quantiles([call.us / call.encoding_us for call in calls]),
    }


def _read(
    runtime: Runtime, demonstrations: Sequence[Demonstration], options: Options, reader: Reader, what: str
) -> list[list[ReadCall]]:
    return [
        list(_walk(runtime, one, options.answers.get(one.id, Answer()), reader))
        for one in track(demonstrations, what, len(demonstrations))
    ]


def _walk(runtime: Runtime, demonstration: Demonstration, answer: Answer, reader: Reader) -> Iterator[ReadCall]:
    """The calls of a plan, each read behind the true ones before it, and behind a decision, as in use."""
    task = runtime.task(demonstration.query, now=answer.now)
    for number, call in enumerate(demonstration.calls):
        task.next(policy="heads")
        started = perf_counter_ns()
        runtime.loaded.core.encode(demonstration.query)
        encoded = perf_counter_ns()
        read = reader(task, call.tool, answer.now)
        us, encoding_us = (perf_counter_ns() - encoded) / 1e3, (encoded - started) / 1e3
        tool = runtime.tools[call.tool]
        accepted: dict[str, Sequence[Any]] = {name: [value] for name, value in call.arguments.items()}
        if answer.calls:
            accepted |= answer.calls[number]
        kinds = {one.name: one.kind or "words" for one in parameters(tool)}
        kinds |= {name: "unknown" for name in read.given if name not in kinds}
        needed = frozenset(required(tool.parameters))
        yield ReadCall(call.arguments, accepted, read.given, frozenset(read.missing), needed, kinds, us, encoding_us)
        task.call(call.tool, call.arguments)


def _ours(task: Task, tool: str, _: datetime | None) -> Arguments:
    return task.arguments(tool)


def _rules(runtime: Runtime) -> Reader:
    from edgeret_export.reference.arguments.filling import fill

    return lambda task, tool, now: fill(runtime.tools[tool], task.query, task.calls, runtime.tools, now)


def _planner(task: Task, tool: str, _: datetime | None) -> Arguments:
    return task.fill(tool)[0].read


def _planner_alone(runtime: Runtime) -> Reader:
    """A planner that is asked for all parameters."""
    from edgeret.planner.filling import fill

    planner, exemplars = runtime.loaded.planner, runtime.loaded.exemplars
    return lambda task, tool, _: fill(planner, exemplars, runtime.tools[tool], task.query, task.calls)[0].read


def _beside(
    runtime: Runtime, called: Sequence[Demonstration], plans: Sequence[Sequence[ReadCall]], options: Options
) -> dict[str, Any]:
    """Other ways on the same calls, or on so many of them as a planner has time for."""
    readers = {"rules": _rules(runtime), "planner": _planner, "planner-alone": _planner_alone(runtime)}
    drawn = _drawn(called, options.calls, options.seed)
    found: dict[str, Any] = {}
    for way in options.beside:
        places = range(len(called)) if way == "rules" else drawn
        read = _read(runtime, [called[i] for i in places], options, readers[way], way)
        calls = [call for plan in read for call in plan]
        found[way] = {
            "n_calls": len(calls),
            **summary(read),
            "by_source": judging.by_source(calls),
            "us_per_call": quantiles([call.us for call in calls]),
            "ours": summary([plans[i] for i in places]),
        }
    return found


def _drawn(called: Sequence[Demonstration], least: int, seed: int) -> list[int]:
    """Whole plans, drawn until they have at least so many calls."""
    chosen: list[int] = []
    count = 0
    for place in np.random.default_rng(seed).permutation(len(called)):
        if count >= least:
            break
        chosen.append(int(place))
        count += len(called[place].calls)
    return sorted(chosen)


def _free(runtime: Runtime, demonstrations: Sequence[Demonstration], answers: Mapping[str, Answer]) -> dict[str, Any]:
    """Plans by the bundle's own functions and arguments; no planner is asked."""
    functions: list[bool] = []
    whole: list[bool] = []
    for one in track(demonstrations, "free plans", len(demonstrations)):
        task = runtime.task(one.query, now=answers.get(one.id, Answer()).now)
        steps = planning.steps(task, runtime.tools, asks=False, policy="heads", arguments=True)
        calls = planning.run(one.query, steps, planning.MAX_STEPS, None, None).calls
        functions.append(isomorphic(calls, one, arguments=False))
        whole.append(isomorphic(calls, one))
    needed = [bool(one.calls) for one in demonstrations]
    return {
        "n_plans": sum(needed),
        "functions_right": share([good for good, called in zip(functions, needed, strict=True) if called]),
        "plans_right": share([good for good, called in zip(whole, needed, strict=True) if called]),
        "n_requests": len(needed),
        "all_right": share(whole),
    }
