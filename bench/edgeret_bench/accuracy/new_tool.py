"""A tool that nothing was learned of yet: how soon it is found, and what the other tools lose by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgeret.bundle.reader import open_bundle
from edgeret.cli.drawn import read_drawn
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import say, track
from edgeret_bench.accuracy.walk import ranked, score, walk
from edgeret_bench.metrics import mean, next_tool_metrics, rank

AFTER = (0, 1, 3, 10)
"""Demonstrations of the tool after which it is tested, as far as there are so many."""


def split(
    plans: Sequence[Demonstration], test: Sequence[Demonstration], tool: str
) -> tuple[list[Demonstration], list[Demonstration]]:
    """The plans that do not call the tool, and those that do. Raises InputError where plans or test never do."""
    for option, given in (("--stream", plans), ("--test", test)):
        if not any(_uses(d, tool) for d in given):
            raise InputError(f"--new-tool {tool}: no plan of {option} calls it; name a tool that both files call")
    return [d for d in plans if not _uses(d, tool)], [d for d in plans if _uses(d, tool)]


def run(learner: Runtime, tool: str, lessons: Sequence[Demonstration], test: Sequence[Demonstration]) -> dict[str, Any]:
    """`known_before`: whether the bundle was built with demonstrations of the tool, which is then not new. `after`:
    number of `lessons` learned to `top1` and `recall@5` of the tool over the test steps that accept it, and
    `others_top1` over all other steps."""
    known = tool in read_drawn(open_bundle(learner.path, content_hash=learner.loaded.bundle_hash)).labels
    if known:
        say(f"the bundle was built with demonstrations of {tool}, so it is no new tool")
    taught, after = 0, {}
    for number in [n for n in AFTER if n <= len(lessons)]:
        for demonstration in lessons[taught:number]:
            learner.learn([demonstration])
        taught = number
        after[str(number)] = _test(learner, tool, test)
        say(f"{tool} after {number} demonstrations: top-1 {after[str(number)]['top1']:.3f}")
    return {"tool": tool, "known_before": known, "after": after}


def _uses(demonstration: Demonstration, tool: str) -> bool:
    return any(call.tool == tool for call in demonstration.calls)


def _test(runtime: Runtime, tool: str, test: Sequence[Demonstration]) -> dict[str, Any]:
    wanted: list[dict[str, float]] = []
    rest: list[float] = []
    for demonstration in track(test, "test plans", len(test)):
        for found, step in zip(walk(runtime, demonstration, ranked), demonstration.steps(), strict=True):
            names, probabilities = found
            if tool in step.acceptable:
                position = {names.index(tool)} if tool in names else set()
                wanted.append(next_tool_metrics(rank(probabilities), position, 1))
            else:
                rest.append(score(found, step)["top1"])
    found_rows = mean(wanted)
    return {
        "n_steps": len(wanted),
        "top1": found_rows["top1"],
        "recall@5": found_rows["recall@5"],
        "others_top1": float(np.mean(rest)),
    }
