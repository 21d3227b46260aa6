"""A handful of tools alone, and what is shown and learned of them: it must not make them decline what they serve."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import edgeret
from edgeret import Call, Demonstration, Runtime, Tool
from edgeret.types import END

CALLS = Path(__file__).parents[2] / "examples" / "calls"
SETS = ("family-calendar", "garage", "language-tutor", "train-bus")
"""Their labels are in no encoder (docs/DATASETS.md)."""
FOREIGN = (
    "why is the sky blue",
    "tell me a joke",
    "capital of peru",
    "how tall is the eiffel tower",
    "who won the match",
)
Drawn = tuple[list[Tool], dict[str, list[str]], list[tuple[str, str]]]


def _drawn() -> Iterator[Drawn]:
    """Six tools of each set, three sentences to show of each, and others that ask for one of them."""
    chance = random.Random(4)
    for name in SETS:
        tools = {tool.name: tool for tool in edgeret.read_tools(CALLS / name / "tools.jsonl")}
        said: dict[str, list[str]] = {}
        for line in (CALLS / name / "demonstrations.jsonl").read_text("utf-8").splitlines():
            plan = json.loads(line)
            if plan["calls"] and len(plan["query"]) < 150 and "\n" not in plan["query"]:
                said.setdefault(plan["calls"][0]["tool"], []).append(plan["query"])
        chosen = chance.sample([tool for tool, queries in said.items() if len(queries) > 4], 6)
        shown = {tool: said[tool][:3] for tool in chosen}
        yield [tools[tool] for tool in chosen], shown, [(q, tool) for tool in chosen for q in said[tool][3:9]]


def _shown(tools: list[Tool], sentences: dict[str, list[str]]) -> Runtime:
    return edgeret.from_tools([replace(tool, examples=tuple(sentences[tool.name])) for tool in tools])


def _learned(tools: list[Tool], sentences: dict[str, list[str]]) -> Runtime:
    runtime = edgeret.from_tools(tools)
    listed = [(tool, query) for tool, queries in sentences.items() for query in queries]
    runtime.learn([Demonstration(f"{i}", query, (Call(tool),)) for i, (tool, query) in enumerate(listed)])
    return runtime


@pytest.mark.parametrize("taught", [_shown, _learned])
def test_what_is_taught_of_a_few_tools_declines_no_more_of_what_they_serve(
    taught: Callable[[list[Tool], dict[str, list[str]]], Runtime],
) -> None:
    right = {False: 0, True: 0}
    declined = {False: 0, True: 0}
    served = foreign = 0
    for tools, sentences, asked in _drawn():
        for is_taught in (False, True):
            runtime = taught(tools, sentences) if is_taught else edgeret.from_tools(tools)
            right[is_taught] += sum(runtime.task(query).next().tool == tool for query, tool in asked)
            declined[is_taught] += sum(runtime.task(query).next().tool in (None, END) for query in FOREIGN)
        served, foreign = served + len(asked), foreign + len(FOREIGN)
    assert served > 90
    assert right[True] >= right[False], (right, served)
    assert declined[True] >= 0.8 * foreign, (declined, foreign)
