"""What a planner's advice may change: weights, masks, policies, arguments and plans. The planner here is made up; what
a real one says is in test_planner.py.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planner_samples import QUERY, FakePlanner, planned, varied, with_planner, with_schema

import edgeret
from edgeret.cli.doctor import examine
from edgeret.errors import InputError, PlannerError
from edgeret.planner.arguments import Filled
from edgeret.planner.exemplars import Exemplars
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.prompts import MASKINGS
from edgeret.planner.reranker import RerankParameters
from edgeret.runtime.runtime import Runtime
from edgeret.types import END, Call, Candidate, Usage
from edgeret_bench.speed.latency import planner_cost
from edgeret_export.planner.weight import Question, is_hopeless, weigh
from edgeret_export.reference.runtime import components_of
from edgeret_export.reference.scoring.calibration import Calibration, CalibrationParameters


def second_best(runtime: Runtime, coverage: float = 0.95) -> str:
    mask = components_of(runtime).calibration.candidate_set(runtime.task(QUERY).candidates(16), coverage)
    return next(candidate.tool for candidate in mask[1:] if candidate.tool != END)


def test_advice_is_fused_and_named(tiny_original: Path) -> None:
    planner = FakePlanner()
    runtime = with_planner(tiny_original, planner)
    planner.favourite = second_best(runtime)
    decision = runtime.task(QUERY).next(coverage=0.95, min_probability=0)
    assert (decision.tool, decision.source) == (planner.favourite, "planner")
    assert "weight 1" in decision.reason
    assert decision.usage == Usage(10, 20, 15, 10, 1.0)
    assert decision.timings_ms["planner"] > 0
    assert sum(c.probability for c in decision.candidates) <= 1 + 1e-6
    assert decision.to_dict()["usage"]["tokens_reused"] == 10
    explained, asked_before = decision.explain(), len(planner.asked)
    advice = next(vote for vote in explained.votes if vote.part == "planner")
    assert advice.pull > 0 and len(planner.asked) == asked_before  # nobody asks it again to explain
    before = {c.tool: c.probability for c in runtime.task(QUERY).candidates()}
    asked = planner.asked[0][1]
    after = {c.tool: c.probability for c in decision.candidates}
    assert sum(after[name] for name in asked) == pytest.approx(sum(before[name] for name in asked), abs=1e-5)


@pytest.mark.parametrize(
    ("parameters", "why"),
    [(RerankParameters(0.0, 1.0, 1.1), "did not help"), (RerankParameters(1.0, 1.0, 0.0), "sure enough")],
)
def test_a_planner_is_not_asked_without_need(tiny_original: Path, parameters: RerankParameters, why: str) -> None:
    planner = FakePlanner()
    runtime = with_planner(tiny_original, planner, parameters)
    decision = runtime.task(QUERY).next(coverage=0.95)
    assert not planner.asked
    assert decision.source == "heads"
    assert "usage" not in decision.to_dict()
    assert why in decision.reason
    runtime.task(QUERY).next(policy="heads")
    assert not planner.asked


def test_heads_go_on_when_the_planner_cannot_answer(tiny_original: Path) -> None:
    runtime = with_planner(tiny_original, FakePlanner(problem="the model is broken"))
    plain = edgeret.load(tiny_original).task(QUERY).next()
    decision = runtime.task(QUERY).next(coverage=0.95)
    assert (decision.tool, decision.source) == (plain.tool, "heads")
    assert decision.reason.endswith("the planner could not be asked: the model is broken")
    with pytest.raises(PlannerError, match="the model is broken"):
        runtime.task(QUERY).next(policy="planner", coverage=0.95)


@pytest.mark.parametrize("masking", MASKINGS)
def test_policy_planner_answers_from_its_mask(tiny_original: Path, masking: Any) -> None:
    planner = FakePlanner()
    runtime = with_planner(tiny_original, planner)
    planner.favourite = second_best(runtime)
    decision = runtime.task(QUERY).next(policy="planner", coverage=0.95, masking=masking)
    assert (decision.tool, decision.source) == (planner.favourite, "planner")
    prompt, asked = planner.asked[0]
    everything = {c.tool for c in runtime.task(QUERY).candidates()}
    mask = {c.tool for c in components_of(runtime).calibration.candidate_set(runtime.task(QUERY).candidates(16), 0.95)}
    assert set(asked) == (mask if masking == "hard" else everything)
    assert prompt.variable.text.startswith(f'Request: "{QUERY}"')


def test_one_candidate_needs_no_question(tiny_original: Path) -> None:
    planner = FakePlanner()
    decision = with_planner(tiny_original, planner).task(QUERY).next(policy="planner", coverage=0.01)
    assert not planner.asked
    assert decision.source == "heads"
    assert "not asked" in decision.reason


def test_without_a_planner_the_error_says_how_to_get_one(tiny_original: Path) -> None:
    task = edgeret.load(tiny_original).task(QUERY)
    with pytest.raises(InputError, match=r"has no planner; .* --planner smollm2"):
        task.next(policy="planner")
    assert task.next().timings_ms["encode"] > 0  # the refusal used nothing up
    assert task.fill("find_file") == (Filled({}, (), ()), None)  # nothing to ask for
    tools = {"send_mail": with_schema(edgeret.load(tiny_original).tools["send_mail"])}
    with pytest.raises(InputError, match="has no planner"):
        varied(edgeret.load(tiny_original), tools=tools).task(QUERY).fill("send_mail")
    for wrong in ({"coverage": 0.0}, {"masking": "soggy"}, {"weighted": "maybe"}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            task.prompt(**wrong)  # type: ignore[arg-type]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=50), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_conformal_sets_grow_with_coverage(right: list[float], a: float, b: float) -> None:
    calibration = Calibration(CalibrationParameters(right_probabilities=tuple(sorted(right))))
    low, high = sorted((a, b))
    assert calibration.threshold(high) <= calibration.threshold(low)
    covered = np.mean([probability >= calibration.threshold(a) for probability in right])
    assert covered >= a - 1 / (len(right) - 1)
    candidates = [Candidate(str(i), p) for i, p in enumerate(np.linspace(0.9, 0, 10).tolist())]
    assert len(calibration.candidate_set(candidates, low)) <= len(calibration.candidate_set(candidates, high))
    assert calibration.candidate_set(candidates[-1:], low)


def questions(informative: bool, n: int = 200) -> list[Question]:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(n):
        right = np.zeros(4, bool)
        right[rng.integers(4)] = True
        advice = rng.normal(size=4) + (2.0 * right if informative else 0)
        found.append(Question(np.log(np.full(4, 0.25)) + 0.1 * rng.normal(size=4), advice, right))
    return found


def test_advice_weighs_only_what_it_proved() -> None:
    useful, report = weigh(questions(True), 0.6)
    assert useful.weight > 0.5
    assert report["top1_together"] > report["top1_heads"]
    worthless, report = weigh(questions(False), 0.6)
    assert worthless.weight == 0
    assert "did not help" in report["note"]
    assert worthless.ask_below == 0.6
    few, report = weigh(questions(True, 5), 0.6)
    assert few.weight == 0
    assert "too few" in report["note"]
    assert [is_hopeless(asked) for asked in (questions(True), questions(False), questions(False, 5))] == [
        False,
        True,
        False,
    ]


def test_a_plan_fills_arguments_and_links_them(tiny_original: Path) -> None:
    runtime = with_planner(tiny_original, FakePlanner(), RerankParameters())
    tool = runtime.tools["send_mail"]
    runtime = varied(runtime, tools={"send_mail": with_schema(tool)})
    runtime = varied(runtime, planner=LazyPlanner(lambda: FakePlanner(answers=['{"to":"$out_1","note":null}'])))
    told: list[edgeret.PlanStep] = []
    plan = runtime.plan(QUERY, decided=told.append)
    assert plan.tools == ("find_file", "send_mail")
    assert plan.calls[1] == Call("send_mail", {"to": "$out_1"})
    assert plan.links == ((0, 1),)
    assert told == list(plan.steps)
    assert plan.outcome == "complete"
    result = plan.to_dict()
    assert result["links"] == [[0, 1]]
    assert [step["arguments"] for step in result["steps"]][1:] == [{"to": "$out_1"}, None]
    unfilled = runtime.plan(QUERY, arguments=False)
    assert unfilled.steps[1].missing == ("to",)


@pytest.mark.parametrize(
    ("parameters", "asked"),
    [
        ({"required": None}, True),
        ({"properties": [], "required": "to"}, True),
        # Nothing is required, so nothing is asked for, and there is no answer to be checked.
        ({"properties": {"to": {}}, "required": None}, False),
        ({"properties": {"to": {"$ref": 5}}}, False),
        ({"properties": {"to": {"type": "text"}}}, False),
        ({"properties": {"to": {"$ref": 5}}, "required": ["to"]}, True),
        ({"properties": {"to": {"type": "text"}}, "required": ["to"]}, True),
    ],
    ids=str,
)
def test_a_schema_that_cannot_be_checked_fills_nothing_and_says_why(
    tiny_original: Path, parameters: Any, asked: bool
) -> None:
    runtime = with_planner(tiny_original, FakePlanner(answers=['{"to":"my file"}']))
    runtime = varied(runtime, tools={"send_mail": replace(runtime.tools["send_mail"], parameters=parameters)})
    filled, _ = runtime.task(QUERY).fill("send_mail")
    assert (filled.arguments, filled.missing) == ({}, ("to",) if parameters.get("required") == ["to"] else ())
    assert [problem.partition(" ")[0].partition(".")[0] for problem in filled.problems] == ["parameters"] * asked
    runtime = varied(runtime, planner=LazyPlanner())
    assert "send_mail" in runtime.plan(QUERY, arguments=False).tools


def test_an_answer_of_brackets_alone_is_no_answer(tiny_original: Path) -> None:
    runtime = with_planner(tiny_original, FakePlanner(answers=["[" * 100_000]))
    runtime = varied(runtime, tools={"send_mail": with_schema(runtime.tools["send_mail"], odd={"not": {}})})
    assert runtime.task(QUERY).fill("send_mail")[0].missing == ("to",)


def test_examples_of_other_tools_are_not_shown(tiny_original: Path) -> None:
    runtime = with_planner(tiny_original, FakePlanner(answers=['{"to":null}']))
    strange = [{"query": "?", "calls": [{"tool": "nobody"}, {"tool": "send_mail", "arguments": {"to": "me"}}]}] * 3
    runtime = varied(runtime, exemplars=Exemplars(json.dumps(strange).encode()))
    runtime = varied(runtime, tools={"send_mail": with_schema(runtime.tools["send_mail"])})
    task = runtime.task(QUERY)
    for masking in MASKINGS:
        prompt = task.prompt(masking=masking)
        assert not any("nobody" in turn.text for turn in (*prompt.constant, prompt.variable))
    assert task.fill("send_mail")[0].missing == ("to",)


@pytest.mark.parametrize(("answer", "outcome", "calls"), [('{"to":"file"}', "repeated", 1), ("{}", "repeated", 3)])
def test_a_plan_that_goes_round_in_circles_ends(
    tiny_original: Path, monkeypatch: pytest.MonkeyPatch, answer: str, outcome: str, calls: int
) -> None:
    runtime = with_planner(tiny_original, FakePlanner(answers=[answer]))
    runtime = varied(runtime, tools={"send_mail": with_schema(runtime.tools["send_mail"])})
    stuck = runtime.task(QUERY).next(policy="heads")
    monkeypatch.setattr("edgeret.runtime.task.Task.next", lambda *_, **__: replace_tool(stuck, "send_mail"))
    plan = runtime.plan(QUERY)
    assert (plan.outcome, len(plan.calls)) == (outcome, calls)
    assert runtime.plan(QUERY, max_steps=1).outcome == "bound"
    assert runtime.plan(QUERY, cancelled=lambda: True).outcome == "cancelled"


def replace_tool(decision: edgeret.Decision, tool: str) -> edgeret.Decision:
    fields = {name: getattr(decision, name) for name in decision.__slots__}
    return edgeret.Decision(**{**fields, "tool": tool, "candidates": (Candidate(tool, 1.0), Candidate(END, 0.0))})


def test_the_state_of_the_constant_prompt_is_kept_and_proved(tiny_original: Path, tmp_path: Path) -> None:
    folder = tmp_path / "states"
    planner = FakePlanner()
    runtime = with_planner(tiny_original, planner, folder=folder)
    prompt = runtime.task(QUERY).prompt()
    pytest.importorskip("llama_cpp", reason="its version is part of a state's name")
    assert not components_of(runtime).planner.warm(prompt)
    (file,) = folder.iterdir()
    assert components_of(runtime).planner.warm(prompt)
    assert planner.states == [b"state"]
    for damage in (file.read_bytes()[:-1], file.read_bytes().replace(b"state", b"stale"), b""):
        file.write_bytes(damage)
        assert not components_of(runtime).planner.warm(prompt)
    assert planner.states == [b"state"]
    (tmp_path / "file").write_text("in the way")
    blocked = with_planner(tiny_original, planner, folder=tmp_path / "file")
    assert not components_of(blocked).planner.warm(prompt)


def test_doctor_and_latency_speak_of_the_planner(tiny_original: Path) -> None:
    check = examine(planned(tiny_original, FakePlanner()))["checks"][-1]
    assert (check["name"], check["ok"]) == ("planner", True)
    cost = planner_cost(with_planner(tiny_original, FakePlanner()), [QUERY, "play my song"])
    assert cost["first"]["tokens_reused"] == 10
    assert cost["first"]["ms"]["n"] >= 1
    broken = with_planner(tiny_original, FakePlanner(problem="the model is broken"))
    found = examine(planned(tiny_original, FakePlanner(problem="the model is broken")))
    assert not found["ok"]
    assert found["checks"][-1]["detail"] == "the model is broken"
    assert planner_cost(broken, [QUERY]) == {"unavailable": "the model is broken"}
