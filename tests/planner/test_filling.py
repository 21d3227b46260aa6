"""What a planner is asked for beside arguments that were read, what becomes of its word, and what that is worth."""

from __future__ import annotations

from pathlib import Path

import pytest
from planner_samples import QUERY, FakePlanner, varied, with_planner, with_schema

import edgeret
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.planner.arguments import Filled
from edgeret.planner.exemplars import Exemplar, Exemplars
from edgeret.planner.filling import fill
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.reranker import UNMEASURED, RerankParameters
from edgeret.types import Argument, Arguments, Call
from edgeret_export.planner.filling import Gain, fit_filling, is_hopeless, judge


def test_a_planner_chooses_among_what_may_be_meant_and_its_word_is_marked(tiny_original: Path) -> None:
    tool = with_schema(edgeret.load(tiny_original).tools["send_mail"], at={"type": "string"})
    read = Arguments(
        {"to": Argument("my", "rule", (5, 7), 0.3, ("file",)), "note": Argument("a mail", "rule", (22, 28), 0.9)},
        {"to": "Which phone number?"},
    )
    planner = FakePlanner(answers=['{"to":"file"}'])
    lazy = LazyPlanner(lambda: planner)
    filled, usage = fill(lazy, Exemplars(), tool, QUERY, [], read, 0.7)
    assert '"my' in planner.grammars[0].replace("\\", "") and "find" not in planner.grammars[0]
    assert "note" not in planner.grammars[0]
    assert filled.given["to"] == Argument("file", "planner", (8, 12), 0.7)
    assert filled.given["note"] == read.given["note"]
    assert (filled.arguments, usage is None) == ({"note": "a mail", "to": "file"}, False)
    sure = Arguments({"to": Argument("my", "rule", (5, 7), 0.6)}, {})
    assert fill(lazy, Exemplars(), tool, QUERY, [], sure)[1] is None
    assert len(planner.grammars) == 1


def test_objects_are_asked_for_beside_what_was_read(tiny_original: Path) -> None:
    where = {"type": "object", "properties": {"city": {"type": "string"}}}
    tool = with_schema(edgeret.load(tiny_original).tools["send_mail"], where=where)
    planner = FakePlanner(answers=['{"where":{"city":"file"}}'])
    read = Arguments({"to": Argument("555", "rule", None, 0.9)}, {})
    filled, _ = fill(LazyPlanner(lambda: planner), Exemplars(), tool, QUERY, [], read)
    assert filled.arguments == {"where": {"city": "file"}, "to": "555"}
    assert filled.given["where"].source == "planner"


def test_a_planner_of_no_worth_is_not_asked_by_plans(tiny_original: Path) -> None:
    planner = FakePlanner(answers=['{"to":"my file"}'])
    tools = {"send_mail": with_schema(edgeret.load(tiny_original).tools["send_mail"])}
    idle = varied(with_planner(tiny_original, planner, RerankParameters(filling=0.0)), tools=tools)
    plan = idle.plan(QUERY)
    assert (plan.steps[1].missing, plan.steps[1].filling, planner.grammars) == (("to",), None, [])
    assert idle.task(QUERY).fill("send_mail")[0].arguments == {"to": "my file"}  # who asks it by name, gets its word
    assert RerankParameters.from_dict({"weight": 1, "scale": 1, "ask_below": 0}, "").filling == UNMEASURED


def test_arguments_weigh_only_where_they_proved_right() -> None:
    worth, report = judge([Gain(True, False)] * 30 + [Gain(False, False)] * 6, 40)
    assert (worth, report["questions"], report["given"], report["right_as_read"]) == (0.833, 40, 36, 0.0)
    wrong, report = judge([Gain(True, False)] * 20 + [Gain(False, False)] * 20, 40)
    assert (wrong, "did not help" in report["note"]) == (0.0, True)
    assert judge([Gain(True, True)] * 40, 40)[0] == 0.0  # what was read is as good
    few, report = judge([Gain(True, False)] * 5, 9)
    assert (few, "too few" in report["note"]) == (0.0, True)


def test_arguments_are_weighed_on_calls_that_nobody_shows(tiny_original: Path) -> None:
    tool = with_schema(edgeret.load(tiny_original).tools["send_mail"])
    plans = [Demonstration(str(k), f"dial {k} file", (Call("send_mail", {"to": "file"}),)) for k in range(30)]
    planner = FakePlanner(answers=['{"to":"file"}'])
    worth, report = fit_filling(
        planner,  # type: ignore[arg-type]
        [tool],
        plans,
        [Exemplar(plans[0].query, plans[0].calls)],
        lambda *_: Arguments({}, {"to": "Which?"}),
        0,
    )
    assert (worth, report["questions"], report["right"]) == (1.0, 29, 1.0)
    sure = Arguments({"to": Argument("file", "rule", None, 0.9)}, {})
    assert fit_filling(planner, [tool], plans, [], lambda *_: sure, 0)[1]["questions"] == 0  # type: ignore[arg-type]


def test_a_planner_that_is_wrong_is_asked_no_longer_than_that_takes(tiny_original: Path) -> None:
    tool = with_schema(edgeret.load(tiny_original).tools["send_mail"])
    plans = [Demonstration(str(k), f"dial {k} file", (Call("send_mail", {"to": "me"}),)) for k in range(60)]
    missing = Arguments({}, {"to": "Which?"})
    planner = FakePlanner(answers=['{"to":"file"}'])
    worth, report = fit_filling(planner, [tool], plans, [], lambda *_: missing, 0)  # type: ignore[arg-type]
    assert (worth, report["questions"]) == (0.0, 20)
    assert not is_hopeless([Gain(False, False)] * 19)
    assert not is_hopeless([Gain(True, False)] * 12 + [Gain(False, False)] * 12)
    assert is_hopeless([Gain(True, True)] * 30)  # what was read is as good


def test_a_required_argument_that_nothing_gives_is_missing(tiny_original: Path) -> None:
    runtime = with_planner(tiny_original, FakePlanner(answers=['{"to":null,"note":"my file"}']))
    runtime = varied(runtime, tools={"send_mail": with_schema(runtime.tools["send_mail"])})
    filled, usage = runtime.task(QUERY).fill("send_mail")
    assert (filled.arguments, filled.missing) == ({}, ("to",))  # nobody asked for the note
    assert usage is not None
    assert runtime.task(QUERY).fill("write_note") == (Filled({}, (), ()), None)
    with pytest.raises(InputError, match='unknown tool "nope"'):
        runtime.task(QUERY).fill("nope")


def test_a_schema_without_grammar_is_asked_twice_then_missing(tiny_original: Path) -> None:
    planner = FakePlanner(answers=['{"to":5}', '{"to":"2026-11-27","odd":"x"}'])
    runtime = with_planner(tiny_original, planner)
    odd = with_schema(runtime.tools["send_mail"], to={"type": "string", "not": {"const": "x"}, "format": "date"})
    runtime = varied(runtime, tools={"send_mail": odd})
    filled, _ = runtime.task(QUERY).fill("send_mail")
    assert filled.arguments == {"to": "2026-11-27"}
    assert filled.given["to"] == Argument("2026-11-27", "planner", None, UNMEASURED)
    assert len(planner.grammars) == 2
    runtime = varied(runtime, planner=LazyPlanner(lambda: FakePlanner(answers=["not json"])))
    assert runtime.task(QUERY).fill("send_mail")[0].missing == ("to",)
