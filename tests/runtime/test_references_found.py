"""Outputs of earlier calls that people's plans go on with are found by tools' own words alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from argument_tools import by_rules

import edgeret
from edgeret.inputs.demonstrations import read_demonstrations

ROOT = Path(__file__).parents[2]
DESKTOP = ROOT / "examples" / "desktop"


def is_output(value: Any) -> bool:
    return any(map(is_output, value)) if isinstance(value, list) else str(value).startswith("$out_")


def test_nearly_all_are_found_and_nearly_all_found_are_right() -> None:
    """Of the plans that an example is chosen by, not of its requests."""
    runtime = by_rules(edgeret.read_tools(DESKTOP / "tools.jsonl"))
    wanted = found = given = right = 0
    for one in read_demonstrations(DESKTOP / "validation.jsonl", runtime.tools):
        task = runtime.task(one.query)
        for call in one.calls:
            read = {name: argument.value for name, argument in task.arguments(call.tool).given.items()}
            wanted += sum(map(is_output, call.arguments.values()))
            found += sum(is_output(value) and read.get(name) == value for name, value in call.arguments.items())
            given += sum(map(is_output, read.values()))
            right += sum(is_output(value) and call.arguments.get(name) == value for name, value in read.items())
            task.call(call.tool, call.arguments)
    assert wanted > 50
    assert found / wanted > 0.94
    assert right / given > 0.96
