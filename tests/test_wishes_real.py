"""Several wishes and opposites with a real encoder: five tool sets that no fit saw (data/wishes), from tools alone
and from some forty demonstrations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import edgeret
from edgeret_export.cli import main

pytestmark = pytest.mark.real
SETS = sorted((Path(__file__).parent / "data" / "wishes").glob("*.json"))
CASES = [(file, json.loads(file.read_text(encoding="utf-8"))) for file in SETS]


def planned(runtime: edgeret.Runtime, query: str) -> list[str]:
    """What is called for a request."""
    return [step.call.tool for step in runtime.plan(query).steps if step.call is not None]


def both(runtime: edgeret.Runtime, cases: list[dict[str, object]]) -> int:
    """How many plans have all that their requests ask for."""
    return sum(set(case["calls"]) <= set(planned(runtime, str(case["query"]))) for case in cases)


def right(runtime: edgeret.Runtime, cases: list[dict[str, object]]) -> int:
    """How many first decisions are for the tool that turns what the request turns."""
    return sum([runtime.task(str(case["query"])).next().tool] == case["calls"] for case in cases)


def read(value: dict[str, object]) -> list[edgeret.Tool]:
    return [edgeret.Tool(tool["name"], tool["description"], tool["parameters"]) for tool in value["tools"]]


def test_from_tools_alone(real: Path) -> None:
    base = edgeret.load(real, overlay=False, profile="full")
    made = [(edgeret.from_tools(read(value), base=base), value) for _, value in CASES]
    assert sum(both(runtime, value["two"]) for runtime, value in made) >= 11
    assert sum(right(runtime, value["turned"]) for runtime, value in made) >= 26


@pytest.mark.full
def test_with_forty_demonstrations_of_single_calls(tmp_path: Path) -> None:
    kept = turned = 0
    for file, value in CASES[:2]:
        tools, shown, bundle = (tmp_path / f"{file.stem}.{part}" for part in ("tools.jsonl", "demos.jsonl", "bundle"))
        tools.write_text("".join(json.dumps(tool) + "\n" for tool in value["tools"]), encoding="utf-8")
        plans = [{**plan, "calls": [{"tool": call} for call in plan["calls"]]} for plan in value["demonstrations"]]
        shown.write_text("".join(json.dumps(plan) + "\n" for plan in plans), encoding="utf-8")
        assert main(["build", "--tools", str(tools), "--demos", str(shown), "-o", str(bundle)]) == 0
        runtime = edgeret.load(bundle, overlay=False)
        kept, turned = kept + both(runtime, value["two"]), turned + right(runtime, value["turned"])
    assert kept >= 5
    assert turned >= 9


def test_a_plan_that_ends_says_what_it_left_aside(real: Path) -> None:
    base = edgeret.load(real, overlay=False, profile="full")
    tools = [edgeret.Tool("lock_door", "Locks a door."), edgeret.Tool("boil_kettle", "Heats water in the kettle.")]
    task = edgeret.from_tools(tools, base=base).task("lock the front door then sing a song for grandma")
    while task.accept(decision := task.next()):
        pass
    assert decision.tool == edgeret.END
    assert decision.left_aside == ("sing a song for grandma",)
    assert decision.to_dict()["left_aside"] == ["sing a song for grandma"]
