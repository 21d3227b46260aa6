"""Figures of a set of plans, as in table 5 of the DTDR paper."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgeret.inputs.demonstrations import Demonstration
from edgeret.types import Tool

_REFERENCE = re.compile(r"\$out_([1-9][0-9]{0,8})(?![0-9])")


def statistics(tools: Sequence[Tool], demonstrations: Sequence[Demonstration]) -> dict[str, Any]:
    """Plans, tools, calls and dependencies per plan (mean and standard deviation), and plans by number of calls.

    A dependency is a pair of calls of which the later one takes the earlier one's output in an argument, be it a part
    of a longer text only; links that come without such an argument are counted apart. The paper counts the end of a
    plan as a tool: `n_tools_with_end`.
    """
    lengths = [len(d.calls) for d in demonstrations]
    dependent = [len(dependencies(d)) for d in demonstrations]
    called = {call.tool for d in demonstrations for call in d.calls}
    return {
        "n_plans": len(demonstrations),
        "n_tools": len(tools),
        "n_tools_with_end": len(tools) + 1,
        "n_tools_called": len(called),
        "calls_per_plan": _spread(lengths),
        "dependencies_per_plan": _spread(dependent),
        "links_per_plan": _spread([len(d.links or ()) for d in demonstrations]),
        "n_chains": sum(d.links is None for d in demonstrations),
        "plans_by_length": {str(length): count for length, count in sorted(Counter(lengths).items())},
    }


def dependencies(demonstration: Demonstration) -> set[tuple[int, int]]:
    """Pairs (i, j), counted from 0: an argument of call j holds the output of call i."""
    return {
        (int(k) - 1, j)
        for j, call in enumerate(demonstration.calls)
        for text in _texts(call.arguments)
        for k in _REFERENCE.findall(text)
        if int(k) <= j
    }


def _texts(value: Any) -> list[str]:
    """All strings anywhere in a value."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return found


def _spread(values: Sequence[int]) -> dict[str, float]:
    numbers = np.array(values or [0], dtype=float)
    return {"mean": float(numbers.mean()), "std": float(numbers.std())}
