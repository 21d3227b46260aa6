"""Whole plans: decides again and again, fills arguments, and knows when to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from edgeret.runtime.options import Policy
from edgeret.runtime.task import Task
from edgeret.types import Argument, Call, Plan, PlanStep, Tool

MAX_STEPS = 16
MAX_REPEATS = 3
"""Calls of one tool in a row, without arguments to tell them apart, that make a plan a loop."""


def steps(task: Task, tools: Mapping[str, Tool], asks: bool, policy: Policy, arguments: bool) -> Iterator[PlanStep]:
    """The steps of a plan as they are decided, until `<end>`, an abstention or a full history. Arguments are read from
    the request; what is missing then, a planner is asked for if it `asks`. Raises as `Task.next` and `Task.fill`
    do."""
    from edgeret.planner.filling import required  # with the first plan, as in `Task.fill`

    task.assumed = True
    while True:
        decision = task.next(policy=policy)
        if not decision.is_call:
            yield PlanStep(decision)
            return
        tool = str(decision.tool)
        given: Mapping[str, Argument] = {}
        missing, usage = required(tools[tool].parameters), None
        if arguments and asks:
            filled, usage = task.fill(tool)
            given, missing = filled.given, filled.missing
        elif arguments:
            read = task.arguments(tool)
            given = {name: one for name, one in read.given.items() if name not in read.missing}
            missing = tuple(read.missing)
        call = Call(tool, {name: one.value for name, one in given.items()})
        accepted = task.accept(decision, call.arguments)
        yield PlanStep(decision, call, missing, usage, given)
        if not accepted:
            return


def run(
    query: str,
    found: Iterator[PlanStep],
    max_steps: int,
    cancelled: Callable[[], bool] | None,
    decided: Callable[[PlanStep], object] | None,
) -> Plan:
    """The plan that steps make, up to `max_steps` calls, a loop, or `cancelled()`; `decided` is told of each."""
    done: list[PlanStep] = []
    for step in found:
        done.append(step)
        if decided is not None:
            decided(step)
        if step.call is None:
            return Plan(query, tuple(done), "abstained" if step.decision.abstained else "complete")
        if _repeats(done):
            return Plan(query, tuple(done[:-1]), "repeated")
        if len(done) == max_steps:
            break
        if cancelled is not None and cancelled():
            return Plan(query, tuple(done), "cancelled")
    return Plan(query, tuple(done), "bound")


def _repeats(done: Sequence[PlanStep]) -> bool:
    """Whether the last call was made before: with the same arguments, or just again and again."""
    *before, last = (step.call for step in done)
    assert last is not None
    if last.arguments:
        return last in before
    return len(before) >= MAX_REPEATS and all(call is not None and call == last for call in before[-MAX_REPEATS:])
