"""Finds out what a planner's arguments are worth: it is asked for what reading the demonstrations' requests leaves
missing. Knows nothing of how they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgeret.inputs.demonstrations import Demonstration
from edgeret.planner.exemplars import Exemplar, Exemplars
from edgeret.planner.filling import asked_for, fill
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.model import Planner
from edgeret.planner.reranker import UNMEASURED
from edgeret.terminal.progress import track
from edgeret.types import Arguments, Call, Tool
from edgeret_export.fitting.compared import same
from edgeret_export.planner.budget import Budget
from edgeret_export.planner.exemplars import pack_exemplars

Read = Callable[[Tool, str, Sequence[Call]], Arguments]
"""A call's arguments as the request gives them, behind other calls."""
MOST_ASKED, FEWEST, MOST_READ = 60, 20, 2_000
"""Calls that a planner is asked about, seconds each, values from which on a share says something, and calls that are
read to find those: of demonstrations few leave anything missing."""
HOPELESS = 2.0
"""Standard errors by which its values must be too bad for it to be asked no more."""


@dataclass(frozen=True, slots=True)
class Gain:
    """One value that a planner gave: whether it is right, and whether what was read in its place is."""

    right: bool
    guessed: bool


def fit_filling(
    planner: Planner,
    tools: Sequence[Tool],
    demonstrations: Sequence[Demonstration],
    shown: Sequence[Exemplar],
    read: Read,
    seed: int,
    most: int = MOST_ASKED,
) -> tuple[float, dict[str, Any]]:
    """The share of right ones among what the planner gives where reading leaves something missing, and a report; 0
    where these are not surely most of them, or no more than of what was read. Requests that are shown to it as
    exemplars are left out. Raises PlannerError."""
    by_name = {tool.name: tool for tool in tools}
    known = {exemplar.query for exemplar in shown}
    plans = [plan for plan in demonstrations if plan.query not in known]
    exemplars, lazy = Exemplars(pack_exemplars(shown)), LazyPlanner(lambda: planner)
    gains: list[Gain] = []
    asked = 0
    budget, is_sure = Budget("arguments", most), False
    for plan, place, found in track(_unread(by_name, plans, read, seed), "asking for arguments", most):
        call, tool = plan.calls[place], by_name[plan.calls[place].tool]
        asked += 1
        filled, usage = fill(lazy, exemplars, tool, plan.query, plan.calls[:place], found)
        gains += [
            Gain(
                same(filled.arguments[name], call.arguments.get(name)),
                name in found.given and same(found.given[name].value, call.arguments.get(name)),
            )
            for name in asked_for(tool, found)
            if name in filled.arguments
        ]
        if usage is not None:
            budget.add(usage)
        is_sure = is_hopeless(gains)
        if is_sure or budget.is_spent:
            break
    budget.close(is_sure)
    return judge(gains, asked)


def _unread(
    tools: Mapping[str, Tool], plans: Sequence[Demonstration], read: Read, seed: int
) -> Iterator[tuple[Demonstration, int, Arguments]]:
    """Calls of these plans that reading leaves something missing in, by their places, with what was read."""
    places = [(plan, i) for plan in plans for i in range(len(plan.calls))]
    for k in np.random.default_rng(seed).permutation(len(places))[:MOST_READ]:
        plan, place = places[k]
        tool = tools[plan.calls[place].tool]
        found = read(tool, plan.query, plan.calls[:place])
        if asked_for(tool, found):
            yield plan, place, found


def is_hopeless(gains: Sequence[Gain]) -> bool:
    """Whether these values are surely not right in most cases, or no better than what was read."""
    if len(gains) < FEWEST:
        return False
    right, better = _mean(gains, lambda one: one.right), _mean(gains, lambda one: one.right - one.guessed)
    return right[0] + HOPELESS * right[1] < UNMEASURED or better[0] + HOPELESS * better[1] <= 0.0


def _mean(gains: Sequence[Gain], of: Callable[[Gain], float]) -> tuple[float, float]:
    """A mean and its standard error."""
    numbers = np.array([of(one) for one in gains], float)
    return float(numbers.mean()), float(numbers.std(ddof=1) / len(numbers) ** 0.5)


def judge(gains: Sequence[Gain], asked: int) -> tuple[float, dict[str, Any]]:
    """The worth and the report for what was given to so many questions."""
    report: dict[str, Any] = {"questions": asked, "given": len(gains), "filling": 0.0}
    if len(gains) < FEWEST:
        return 0.0, report | {
            "note": f"{len(gains)} arguments that it gave are too few to say; it is not asked for any"
        }
    right, better = _mean(gains, lambda one: one.right), _mean(gains, lambda one: one.right - one.guessed)
    is_useful = right[0] - right[1] > UNMEASURED and better[0] > better[1]
    worth = round(right[0], 3) if is_useful else 0.0
    report |= {
        "right": round(right[0], 4),
        "right_as_read": round(_mean(gains, lambda one: one.guessed)[0], 4),
        "filling": worth,
    }
    if not worth:
        report["note"] = "its arguments did not help on the demonstrations' calls, so it is not asked for them"
    return worth, report
