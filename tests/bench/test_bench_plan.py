"""The plan benchmark on a tiny bundle, with a made-up language model where a planner has a say."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import make_demonstrations

import edgeret
from edgeret.errors import InputError, PlannerError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.planner.chat import Prompt
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.model import Scores
from edgeret.planner.reranker import RerankParameters
from edgeret.runtime.runtime import Runtime
from edgeret.types import Call, Candidate, Usage
from edgeret_bench.accuracy import with_llm as plan
from edgeret_bench.accuracy.rollouts import isomorphic
from edgeret_bench.accuracy.with_llm import Options
from edgeret_bench.cli import make_parser
from edgeret_export.reference.runtime import components_of, runtime_of
from edgeret_export.reference.scoring.calibration import Calibration

_KEYS = """n_plans n_steps dag seed coverage weighted planner unavailable methods by_plan_length by_history
conformal prompts reuse plans threads device versions"""
_ROW = """n_steps fsa abstained declined_rightly planner_calls planner_calls_per_step constant_tokens variable_tokens
tokens_evaluated tokens_reused n_from_second_step reuse_from_second_step ms_per_step ms_per_planner_call outside_mask"""
KEYS, ROW = _KEYS.split(), _ROW.split()
MASKED = ["planner/none", "planner/hard", "planner/soft", "planner/demos"]


class Model:
    """Stands in for `Planner`: words are tokens, the last prompt is its cache; it likes long names."""

    def __init__(self, reply: str = "{}") -> None:
        self.reply = reply
        self.kept: list[str] = []
        self.asked: list[list[str]] = []
        self.cleared = 0
        self.fails = False

    def clear(self) -> None:
        self.kept, self.cleared = [], self.cleared + 1

    def count(self, prompt: Prompt) -> tuple[int, int]:
        return len(" ".join(turn.text for turn in prompt.constant).split()), len(prompt.variable.text.split())

    def score(self, prompt: Prompt, answers: Sequence[str], deadline: float = 0.0) -> Scores:
        if self.fails:
            raise PlannerError("the prompt is too long")
        self.asked.append(list(answers))
        tokens = " ".join(message["content"] for message in prompt.messages).split()
        common = [a == b for a, b in zip(self.kept, tokens, strict=False)]
        reused = [*common, False].index(False)
        self.kept = tokens
        usage = Usage(*self.count(prompt), len(tokens) - reused, reused, 1.0)
        return Scores(np.array([len(answer) for answer in answers]), np.ones(len(answers), np.intp), usage)

    def write(self, prompt: Prompt, gbnf: str, max_tokens: int = 384, *_: float) -> tuple[str, bool, Usage]:
        if self.fails:
            raise PlannerError("the prompt is too long")
        return self.reply, True, Usage(1, 1, 1, 1, 5.0)


@pytest.fixture
def bare(tiny_original: Path) -> Runtime:
    """The tiny bundle, which has no planner."""
    return edgeret.load(tiny_original, threads=1)


def with_planner(runtime: Runtime, model: Model, weight: float = 0, scale: float = 1, least: float = 0) -> Runtime:
    """`least`: the probability from which on candidates are in the conformal set of every coverage above 0."""
    components = components_of(runtime)
    parameters = replace(components.calibration.parameters, right_probabilities=(least, 1.0))
    return runtime_of(
        replace(
            components,
            calibration=Calibration(parameters),
            planner=LazyPlanner(lambda: model),  # type: ignore[arg-type,return-value]
            reranking=RerankParameters(weight, scale, 1.1),
        )
    )


def truth(*calls: Call, links: Sequence[tuple[int, int]] | None = None) -> Demonstration:
    return Demonstration("x", "find my file and send a mail", calls, None if links is None else tuple(links))


def call(tool: str, **arguments: Any) -> Call:
    return Call(tool, arguments)


def test_the_same_calls_are_isomorphic_and_others_are_not() -> None:
    plan_ = (call("find", name="a"), call("send", file="$out_1"))
    assert isomorphic(plan_, truth(*plan_))
    assert isomorphic(plan_, truth(*plan_, links=[(0, 1)]))
    assert isomorphic((), truth())
    assert isomorphic((), truth(links=[]))
    assert not isomorphic(plan_[:1], truth(*plan_))
    assert not isomorphic((*plan_, call("send")), truth(*plan_))
    assert not isomorphic((), truth(call("find")))
    assert not isomorphic((call("find"),), truth())


def test_a_chain_has_one_order_and_a_dag_as_many_as_its_links_allow() -> None:
    a, b, c = call("find"), call("note"), call("send")
    assert isomorphic((a, b, c), truth(a, b, c))
    assert not isomorphic((b, a, c), truth(a, b, c))
    dag = truth(a, b, c, links=[(0, 2), (1, 2)])
    assert isomorphic((b, a, c), dag)
    assert not isomorphic((a, c, b), dag)
    assert isomorphic((c, b, a), truth(a, b, c, links=[]))


def test_arguments_count_only_if_asked() -> None:
    wrong, right = call("find", name="lease"), call("find", name="contract")
    for found, wanted in ((wrong, right), (call("find"), right), (right, call("find"))):
        assert not isomorphic((found,), truth(wanted))
        assert isomorphic((found,), truth(wanted), arguments=False)


def test_arguments_are_compared_as_json() -> None:
    same = """[[" Lease  Contract", "lease contract"], ["STRASSE", "straße"], [30, 30.0], [true, true], [null, null],
    [{"a": 1, "b": ["X "]}, {"b": ["x"], "a": 1}]]"""
    other = """[["lease", "lease contract"], [30, "30"], [true, 1], [0, false], [null, ""], [[true], [1]],
    [[1, 2], [2, 1]], [{"a": 1}, {"a": 1, "b": null}], ["$out_1", "$out_2"], ["$OUT_1", "$out_1"]]"""
    for pairs, expected in ((same, True), (other, False)):
        for found, wanted in json.loads(pairs):
            assert isomorphic((call("t", x=found),), truth(call("t", x=wanted))) is expected, (found, wanted)


def test_references_follow_the_map() -> None:
    file, mail = call("file", name="a"), call("mail", name="b")
    dag = truth(file, mail, call("send", file="$out_1", to=["$out_2"]), links=[(0, 2), (1, 2)])
    assert isomorphic((file, mail, call("send", file="$out_1", to=["$out_2"])), dag)
    assert isomorphic((mail, file, call("send", file="$out_2", to=["$out_1"])), dag)
    assert not isomorphic((mail, file, call("send", file="$out_1", to=["$out_2"])), dag)
    assert isomorphic((mail, file, call("send", file="$out_1", to=["$out_2"])), dag, arguments=False)


def test_calls_of_one_tool_are_told_apart_by_what_comes_later() -> None:
    # Both `find` look alike; only the references behind them say which is which.
    find, links = call("find"), [(0, 2), (1, 3)]
    dag = truth(find, find, call("send", x="$out_1"), call("note", x="$out_2"), links=links)
    assert isomorphic((find, find, call("send", x="$out_1"), call("note", x="$out_2")), dag)
    assert isomorphic((find, find, call("send", x="$out_2"), call("note", x="$out_1")), dag)
    assert isomorphic((find, call("note", x="$out_1"), find, call("send", x="$out_3")), dag)
    assert not isomorphic((find, find, call("send", x="$out_1"), call("note", x="$out_1")), dag)


def test_many_calls_alike_are_not_tried_in_all_their_orders() -> None:
    alike = [call("find")] * 15
    dag = truth(*alike, call("send", x=1), links=[(i, 15) for i in range(15)])
    assert isomorphic((*alike, call("send", x=1)), dag)
    assert not isomorphic((*alike, call("send", x=2)), dag)


def test_whole_plans_are_sampled_until_there_are_steps_enough() -> None:
    plans = make_demonstrations(1)  # 3, 3, 2, 2, 3, 3 and 1 steps
    assert plan.sampled(plans, 1) == plans[:1]
    assert plan.sampled(plans, 3) == plans[:1]
    assert plan.sampled(plans, 4) == plans[:2]
    assert plan.sampled(plans, 0) == plans
    assert plan.sampled(plans, 10_000) == plans


def test_a_seed_gives_the_same_sample_and_another_one_another(bare: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    walk = plan.walk

    def spy(runtime: Runtime, sample: Sequence[Demonstration], *rest: Any) -> list[plan.Answer]:
        seen.append([d.id for d in sample])
        return walk(runtime, sample, *rest)

    monkeypatch.setattr(plan, "walk", spy)
    for seed in (3, 3, 4):
        plan.run(bare, make_demonstrations(3), Options(policies=["heads", "auto"], steps=10, plans=0, seed=seed))
    assert seen[0] == seen[1] == seen[2] == seen[3]
    assert seen[4] == seen[5] != seen[0]


def test_a_bundle_without_planner_says_why_there_are_no_figures(bare: Runtime) -> None:
    found = plan.run(bare, make_demonstrations(2), Options(steps=0, plans=5))
    assert list(found) == KEYS
    assert list(found["methods"]) == ["auto", "heads"]
    for reason in (found["unavailable"]["planner"], found["prompts"]["unavailable"], found["reuse"]["unavailable"]):
        assert reason.startswith("this bundle has no planner")
    assert found["n_steps"] == 2 * (3 + 3 + 2 + 2 + 3 + 3 + 1)
    for row in found["methods"].values():
        assert list(row) == ROW
        assert row["planner_calls"] == row["planner_calls_per_step"] == 0
        assert row["constant_tokens"] is row["ms_per_planner_call"] is row["outside_mask"] is None


def test_declining_what_no_tool_fits_is_told_apart_from_other_abstentions(bare: Runtime) -> None:
    found = plan.run(bare, make_demonstrations(4), Options(policies=["auto", "heads"], steps=0, plans=0))
    auto, heads = found["methods"]["auto"], found["methods"]["heads"]
    assert auto["declined_rightly"] == pytest.approx(4 / found["n_steps"])
    assert auto["abstained"] >= auto["declined_rightly"]
    assert heads["abstained"] == 0
    assert found["by_plan_length"]["auto"]["0"] == {"n": 4, "fsa": 1.0}
    assert found["by_plan_length"]["heads"]["0"] == {"n": 4, "fsa": 1.0}


def test_tables_split_the_steps_without_losing_any(bare: Runtime) -> None:
    long = Demonstration("long", "find my file and send a mail", tuple(Call("send_mail") for _ in range(8)))
    found = plan.run(bare, [*make_demonstrations(2), long], Options(policies=["heads"], steps=0, plans=0))
    lengths, history = found["by_plan_length"]["heads"], found["by_history"]["heads"]
    assert list(lengths) == ["0", "1", "2", "6+"]
    assert list(history) == ["0", "1", "2", "3", "4+"]
    assert lengths["6+"]["n"] == 9
    assert history["4+"]["n"] == 5
    for rows in (lengths, history):
        assert sum(row["n"] for row in rows.values()) == found["n_steps"]
        right = sum(row["n"] * row["fsa"] for row in rows.values())
        assert right / found["n_steps"] == pytest.approx(found["methods"]["heads"]["fsa"])


def test_conformal_sets_grow_with_the_coverage(bare: Runtime) -> None:
    rows = plan.conformal(bare, make_demonstrations(3))
    assert [row["nominal"] for row in rows] == [0.8, 0.9, 0.95, 0.99]
    assert rows == sorted(rows, key=lambda row: (row["covered"], row["mean_size"]))
    for row in rows:
        assert row["covered"] >= row["nominal"]  # these demonstrations made the bundle
        assert row["covered_asked"] == row["covered"]  # seven candidates are never cut


def test_whole_plans_without_a_planner_have_arguments_as_they_are_read(bare: Runtime) -> None:
    demonstrations = make_demonstrations(2)
    found = plan.run(bare, demonstrations, Options(policies=["heads", "auto"], steps=1, plans=14))["plans"]
    assert list(found) == ["heads", "auto"]
    for row in found.values():
        assert row["n_plans"] == sum(row["outcomes"].values()) == 14
        assert row["plan_fsa"] > 0.7
        assert row["sr"] is row["ms_per_filling"] is None
        assert row["valid_arguments"] == 1.0
        assert row["sr_unavailable"] == "no demonstration has arguments to compare with"
    with_arguments = [Demonstration("a", "write a note", (call("write_note", text="x"),))]
    row = plan.run(bare, with_arguments, Options(policies=["heads"], steps=1, plans=1))["plans"]["heads"]
    assert (row["sr"], row["plan_fsa"]) == (0.0, 1.0)
    assert "sr_unavailable" not in row


def test_every_masking_is_a_row_over_the_same_steps(bare: Runtime) -> None:
    runtime = with_planner(bare, Model())
    found = plan.run(runtime, make_demonstrations(2), Options(steps=12, plans=0))
    assert list(found) == KEYS
    assert list(found["methods"]) == ["auto", "heads", *MASKED]
    assert found["unavailable"] == {}
    assert found["plans"] == {}
    assert found["planner"] == {"weight": 0.0, "scale": 1.0, "ask_below": 1.1, "filling": 0.5}
    for name, row in found["methods"].items():
        assert row["n_steps"] == found["n_steps"]
        assert row["planner_calls_per_step"] == (name in MASKED)
        assert row["outside_mask"] == (0 if name in MASKED else None)


def test_only_the_maskings_asked_for_are_measured(bare: Runtime) -> None:
    runtime = with_planner(bare, Model())
    found = plan.run(runtime, make_demonstrations(1), Options(maskings=["hard", "soft"], steps=3, plans=0))
    assert list(found["methods"]) == ["auto", "heads", "planner/hard", "planner/soft"]
    assert list(found["prompts"]["maskings"]) == ["hard", "soft"]
    assert found["prompts"]["hard_saves"] is None
    found = plan.run(runtime, make_demonstrations(1), Options(policies=["heads"], steps=3, plans=0))
    assert found["reuse"] == {"unavailable": "policy planner was not among those to measure"}
    assert list(found["prompts"]["maskings"]) == ["none", "hard", "soft", "demos"]


def test_auto_asks_a_planner_whose_advice_helps(bare: Runtime) -> None:
    runtime = with_planner(bare, Model(), weight=1.0)
    auto = plan.walk(runtime, make_demonstrations(1), "auto", "none", Options())
    row = plan.summary(auto)
    assert row["planner_calls"] == sum(answer.usage is not None for answer in auto) > 0
    assert row["outside_mask"] == 0


def test_reuse_is_that_of_steps_in_their_order(bare: Runtime) -> None:
    model = Model()
    runtime = with_planner(bare, model)
    demonstrations = [d for d in make_demonstrations(1) if d.calls]
    answers = plan.walk(runtime, demonstrations, "planner", "none", Options())
    assert model.cleared == 1
    assert [(a.history, a.plan_length) for a in answers[:3]] == [(0, 2), (1, 2), (2, 2)]
    assert answers[0].usage is not None
    assert answers[0].usage.tokens_reused == 0
    row = plan.summary(answers)
    later = [a.usage for a in answers if a.history and a.usage]
    total = sum(u.constant_tokens + u.variable_tokens for u in later)
    assert row["n_from_second_step"] == len(later) == len(answers) - len(demonstrations)
    assert row["reuse_from_second_step"] == pytest.approx(sum(u.tokens_reused for u in later) / total)
    assert row["reuse_from_second_step"] > 0.9  # only the calls at the prompt's end are new


def test_answers_outside_the_mask_are_counted(bare: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = with_planner(bare, Model())
    others = [Candidate(tool, 0.1) for tool in runtime.tools if tool != "phone_call"]
    monkeypatch.setattr(plan, "asked_about", lambda *_: others)
    cases = ("phone_call", "none", False), ("phone_call", "hard", True), ("send_mail", "hard", False)
    for tool, masking, outside in (*cases, ("no_such_tool", "soft", True)):
        answer = ([Candidate(tool, 1.0)], Usage(1, 1, 2, 0, 1.0))
        monkeypatch.setattr("edgeret_export.reference.decide.rerank", lambda *_, answer=answer, **__: answer)
        answers = plan.walk(runtime, make_demonstrations(1), "planner", masking, Options())  # type: ignore[arg-type]
        assert plan.summary(answers)["outside_mask"] == (len(answers) if outside else 0), (tool, masking)


def test_a_hard_mask_shortens_the_prompt(bare: Runtime) -> None:
    model = Model()
    found = plan.lengths(with_planner(bare, model, least=0.3), make_demonstrations(1), Options())
    assert model.asked == []
    means = found["maskings"]
    assert means["none"]["constant"] == means["soft"]["constant"] > means["hard"]["constant"]
    assert found["hard_saves"] == pytest.approx(1 - means["hard"]["total"] / means["none"]["total"])


def test_a_warm_cache_is_compared_with_an_empty_one(bare: Runtime) -> None:
    model = Model()
    found = plan.reuse(with_planner(bare, model), make_demonstrations(4), Options())
    assert 0 < found["n_steps"] <= plan.REUSE_STEPS
    assert model.cleared == 2 * found["n_steps"]
    assert found["warm_tokens_evaluated"] < found["cold_tokens_evaluated"]
    assert found["warm_ms"]["n"] == found["cold_ms"]["n"] == found["n_steps"]
    assert found["warm_over_cold"] == pytest.approx(found["warm_ms"]["p50"] / found["cold_ms"]["p50"])
    empty = [d for d in make_demonstrations(1) if not d.calls]
    found = plan.reuse(with_planner(bare, model), empty, Options())
    assert found == {"unavailable": "no two steps in a row of the sample leave the planner a choice; raise --steps"}


def test_a_planner_that_fails_on_the_way_does_not_end_the_benchmark(bare: Runtime) -> None:
    model = Model()
    model.fails = True
    arguments = [Demonstration("a", "find my file", (call("find_file", name="my file"),))]
    found = plan.run(with_planner(bare, model), arguments * 3, Options(steps=0, plans=3))
    assert {"auto", "heads"} <= set(found["methods"])
    assert "planner/none" not in found["methods"]
    assert found["unavailable"]["planner/none"] == "the prompt is too long"
    for row in found["plans"].values():
        assert row["outcomes"] == {"complete": 3}  # what reading fills asks no planner
        assert (row["plan_fsa"], row["n_validated"]) == (1.0, 3)
    number = {"type": "object", "properties": {"name": {"description": "Phone number."}}, "required": ["name"]}
    tools = {
        **components_of(bare).tools,
        "find_file": replace(components_of(bare).tools["find_file"], parameters=number),
    }
    asked = with_planner(runtime_of(replace(components_of(bare), tools=tools)), model)
    for row in plan.run(asked, arguments * 3, Options(steps=0, plans=3))["plans"].values():
        assert row["outcomes"] == {"failed": 3}
        assert (row["sr"], row["plan_fsa"], row["ms_per_plan"], row["n_validated"]) == (0.0, 0.0, None, 0)


def test_filled_arguments_decide_over_success(bare: Runtime) -> None:
    demonstrations = [
        Demonstration(
            "a", d.query, tuple(Call(c.tool, {"name": "It"} if c.tool == "find_file" else {}) for c in d.calls)
        )
        for d in make_demonstrations(1)
    ]
    number = {"type": "object", "properties": {"name": {"description": "Phone number."}}, "required": ["name"]}
    asked = replace(bare.tools["find_file"], parameters=number)  # which no request has
    bare = runtime_of(replace(components_of(bare), tools={**bare.tools, "find_file": asked}))
    right = plan.run(with_planner(bare, Model(reply='{"name": " it"}')), demonstrations, Options(("heads",), steps=1))
    row = right["plans"]["heads"]
    assert row["sr"] == row["plan_fsa"] > 0.7
    assert row["valid_arguments"] == 1.0
    assert row["n_validated"] > 0
    assert row["ms_per_filling"]["p50"] == 5.0
    wrong = plan.run(with_planner(bare, Model(reply='{"name": "me"}')), demonstrations, Options(("heads",), steps=1))
    assert wrong["plans"]["heads"]["sr"] < wrong["plans"]["heads"]["plan_fsa"] == row["plan_fsa"]


def test_options_that_make_no_sense_are_refused(bare: Runtime) -> None:
    for options, message in (
        (Options(policies=["tails"]), "unknown policy 'tails'; choose among: auto, heads, planner"),
        (Options(maskings=["all"]), "unknown masking 'all'; choose among: none, hard, soft, demos"),
        (Options(coverage=1.0), "coverage must lie between 0 and 1, found 1.0"),
        (Options(steps=-1), "steps and plans must be 0 or more, found -1 and 40"),
        (Options(policies=["heads", "planner"]), "this bundle has no planner; choose policy 'auto' or 'heads'"),
    ):
        with pytest.raises(InputError, match=f"^{re.escape(message)}"):
            plan.run(bare, make_demonstrations(1), options)


def test_tables_are_printed_with_a_planner_too(bare: Runtime) -> None:
    runtime = with_planner(bare, Model(), scale=0.0)
    result = plan.run(runtime, make_demonstrations(3), Options(steps=20, plans=2))
    text = make_parser().parse_args(["plan", "b", "--demos", "d"]).printer({"kind": "plan", **result})
    for words in ("planner/hard", "masking hard saves", "warm cache", "constant tokens"):
        assert words in text
