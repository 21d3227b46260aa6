"""Finds out what a planner's arguments are worth: it is asked for what reading the demonstrations' requests leaves
missing. Knows nothing of how they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgeret.inputs.demonstrations import Demonstration
from edgeret.planner.exemplars import Exemplar, Exemplars, pack_exemplars
from edgeret.planner.filling import asked_for, fill
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.model import Planner
from edgeret.planner.reranker import UNMEASURED
from edgeret.terminal.progress import track
from edgeret.types import Arguments, Call, Tool
from edgeret_export.fitting.compared import same

Read = Callable[[Tool, str, Sequence[Call]], Arguments]
"""A call's arguments as the request gives them, behind other calls."""
MOST_ASKED, FEWEST = 60, 20
"""Calls that a planner is asked about, a second or more each, and values from which on a share says something."""


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
    places = [(plan, i) for plan in demonstrations if plan.query not in known for i in range(len(plan.calls))]
    exemplars, lazy = Exemplars(pack_exemplars(shown)), LazyPlanner(lambda: planner)
    gains: list[Gain] = []
    asked = 0
    for k in track(np.random.default_rng(seed).permutation(len(places)), "asking for arguments", most):
        plan, place = places[k]
        call, tool = plan.calls[place], by_name[plan.calls[place].tool]
        found = read(tool, plan.query, plan.calls[:place])
        names = asked_for(tool, found)
        if not names:
            continue
        asked += 1
        filled, _ = fill(lazy, exemplars, tool, plan.query, plan.calls[:place], found)
        gains += [
            Gain(
                same(filled.arguments[name], call.arguments.get(name)),
                name in found.given and same(found.given[name].value, call.arguments.get(name)),
            )
            for name in names
            if name in filled.arguments
        ]
        if asked == most:
            break
    return judge(gains, asked)


def judge(gains: Sequence[Gain], asked: int) -> tuple[float, dict[str, Any]]:
    """The worth and the report for what was given to so many questions."""
    report: dict[str, Any] = {"questions": asked, "given": len(gains), "filling": 0.0}
    if len(gains) < FEWEST:
        return 0.0, report | {
            "note": f"{len(gains)} arguments that it gave are too few to say; it is not asked for any"
        }
    right, guessed = (np.array([getattr(gain, name) for gain in gains], float) for name in ("right", "guessed"))
    spread = 1.0 / len(gains) ** 0.5
    sure = right.mean() - right.std(ddof=1) * spread > UNMEASURED
    better = (right - guessed).mean() > (right - guessed).std(ddof=1) * spread
    worth = round(float(right.mean()), 3) if sure and better else 0.0
    report |= {
        "right": round(float(right.mean()), 4),
        "right_as_read": round(float(guessed.mean()), 4),
        "filling": worth,
    }
    if not worth:
        report["note"] = "its arguments did not help on the demonstrations' calls, so it is not asked for them"
    return worth, report
