"""Arguments as they are read from the requests: single ones, calls and plans, the functions and the calls before them
given. Knows nothing of how they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter_ns
from typing import Any, NamedTuple

from edgeret.cli.progress import track
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.types import Argument, Arguments
from edgeret_bench.accuracy.rollouts import comparable
from edgeret_bench.metrics import quantiles

THRESHOLDS = (0.5, 0.7, 0.8, 0.9, 0.95)


class _Read(NamedTuple):
    """One call's true arguments, what was read, the names that it must have, and how long reading took."""

    truth: Mapping[str, Any]
    read: Arguments
    required: frozenset[str]
    us: float


def run(runtime: Runtime, demonstrations: Sequence[Demonstration]) -> dict[str, Any]:
    """The contract's `arguments` result. Raises InputError where no call has arguments.

    A value is right as in `plan`: as JSON, text without regard to case and white space. `precision` is the share of the
    arguments read that are right, `recall` that of the true ones; `exact` that of those that both have.
    `missing_told` is
    the share of arguments that a call must have and the truth lacks which are told missing. A call is right if it
    has the true arguments and no others, and a plan if all its calls are.
    """
    if not any(call.arguments for demonstration in demonstrations for call in demonstration.calls):
        raise InputError("no demonstration has arguments to compare with; give some whose calls have them")
    plans = [list(_walk(runtime, one)) for one in track(demonstrations, "arguments", len(demonstrations)) if one.calls]
    calls = [call for plan in plans for call in plan]
    judged = [(argument, _right(call, name, argument)) for call in calls for name, argument in call.read.given.items()]
    right = sum(good for _, good in judged)
    wanted = sum(len(call.truth) for call in calls)
    both = sum(name in call.truth for call in calls for name in call.read.given)
    lacking = [name in call.read.missing for call in calls for name in call.required - call.truth.keys()]
    return {
        "n_plans": len(plans),
        "n_calls": len(calls),
        "n_arguments": wanted,
        "exact": _share(right, both),
        "precision": _share(right, len(judged)),
        "recall": _share(right, wanted),
        "missing_told": _share(sum(lacking), len(lacking)),
        "n_missing": len(lacking),
        "calls_right": _share(sum(map(_whole, calls)), len(calls)),
        "plans_right": _share(sum(all(map(_whole, plan)) for plan in plans), len(plans)),
        "by_source": _by_source(judged),
        "thresholds": {str(least): _from(judged, least) for least in THRESHOLDS},
        "us_per_call": quantiles([call.us for call in calls]),
    }


def _walk(runtime: Runtime, demonstration: Demonstration) -> Iterator[_Read]:
    """The calls of a plan, each read behind the true ones before it."""
    task = runtime.task(demonstration.query)
    for call in demonstration.calls:
        started = perf_counter_ns()
        read = task.arguments(call.tool)
        us = (perf_counter_ns() - started) / 1e3
        needed = runtime.tools[call.tool].parameters.get("required")
        required = (
            frozenset(name for name in needed if isinstance(name, str)) if isinstance(needed, list) else frozenset()
        )
        yield _Read(call.arguments, read, required, us)
        task.call(call.tool, call.arguments)


def _right(call: _Read, name: str, argument: Argument) -> bool:
    return name in call.truth and _same(argument.value, call.truth[name])


def _whole(call: _Read) -> bool:
    return _same({name: argument.value for name, argument in call.read.given.items()}, dict(call.truth))


def _same(value: Any, other: Any) -> bool:
    outputs = range(10**6)
    return bool(comparable(value, outputs) == comparable(other, outputs))


def _by_source(judged: Sequence[tuple[Argument, bool]]) -> dict[str, Any]:
    found, right = Counter(a.source for a, _ in judged), Counter(a.source for a, good in judged if good)
    return {source: {"n": count, "precision": right[source] / count} for source, count in sorted(found.items())}


def _from(judged: Sequence[tuple[Argument, bool]], least: float) -> dict[str, Any]:
    """How many of the arguments read are at least so sure, and how many of these are right."""
    sure = [good for argument, good in judged if argument.confidence >= least]
    return {"coverage": _share(len(sure), len(judged)), "precision": _share(sum(sure), len(sure))}


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
