"""Tools that failed: left out of decisions, whose other candidates keep their odds, until something changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TOOLS, tiny_bundle

import edgeret
from edgeret import END, Failure, Runtime, Task, Tool
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.model import Scores
from edgeret.planner.reranker import RerankParameters
from edgeret.runtime.options import POLICIES
from edgeret.types import Usage
from edgeret_export.reference.runtime import components_of, runtime_of
from edgeret_export.reference.scoring.calibration import Calibration

QUERY = "find my file and send a mail"
NAMES = [tool.name for tool in TOOLS]


class Listening:
    """A planner that keeps which answers it was asked to score, and likes the last one."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def score(self, prompt: object, answers: list[str], deadline: float = 0.0) -> Scores:
        self.asked.append(answers)
        return Scores(np.linspace(-9.0, -1.0, len(answers)), np.ones(len(answers), np.intp), Usage(1, 1, 1, 1, 1.0))


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


def odds(task: Task, first: str, second: str) -> float:
    """How much more probable one candidate is than another."""
    probability = dict(zip(task.names, task.probabilities().tolist(), strict=True))
    return probability[first] / probability[second]


def test_a_failed_tool_is_left_out_until_something_changed(runtime: Runtime) -> None:
    task = runtime.task(QUERY)
    first = task.next(policy="heads")
    assert first.tool == "find_file"
    task.failed("find_file", "no such id")
    assert task.calls == ()
    assert task.failures == (Failure("find_file", "no such id", 0),)
    other = task.next(policy="heads")
    assert "find_file" not in [c.tool for c in other.candidates]
    assert len(other.candidates) == len(first.candidates) - 1
    assert other.reason.endswith("; find_file was left out: it failed (no such id)")
    task.call("write_note")
    changed = task.next(policy="heads")
    assert "find_file" in [c.tool for c in changed.candidates]
    assert "left out" not in changed.reason
    assert changed.candidates == runtime.task(QUERY, ["write_note"]).next(policy="heads").candidates


def test_retry_lets_a_failed_tool_be_chosen_at_once(runtime: Runtime) -> None:
    task = runtime.task(QUERY)
    before = task.candidates()
    assert task.retry("find_file") is False
    task.failed("find_file", "busy")
    assert task.retry("find_file") is True
    assert task.retry("find_file") is False
    assert task.candidates() == before
    assert "left out" not in task.next().reason
    task.failed("find_file", "still busy")
    assert task.next().reason.endswith("find_file was left out: it failed (still busy)")
    task.undo()
    assert task.candidates() == before


@pytest.mark.parametrize("history", [[], ["find_file"], ["phone_call"], ["find_file", "phone_call"]])
@pytest.mark.parametrize("failed", [["find_file"], ["phone_call"], ["send_mail", "find_file"], NAMES[:4]])
def test_the_candidates_that_are_left_keep_their_odds_and_sum_to_one(
    runtime: Runtime, history: list[str], failed: list[str]
) -> None:
    # The map changes the best candidate's share alone, so it is made to change nothing; and no candidate is hopeless.
    parameters = replace(
        components_of(runtime).calibration.parameters,
        calibration_map=((0.0, 0.0), (1.0, 1.0)),
        head_weight=0.2,
        graph_weight=0.2,
        memory_weight=0.2,
    )
    plain = runtime_of(replace(components_of(runtime), calibration=Calibration(parameters)))
    task, whole = plain.task(QUERY, history), plain.task(QUERY, history)
    for name in failed:
        task.failed(name, "no")
    left = [name for name in task.names if name not in failed]
    assert task.probabilities().sum() == pytest.approx(1, abs=1e-5)
    assert [c.tool for c in task.candidates()] == [c.tool for c in whole.candidates() if c.tool in left]
    for name in left:
        assert odds(task, name, END) == pytest.approx(odds(whole, name, END), rel=1e-4, abs=0)


def test_the_new_best_candidate_is_calibrated_as_any_best_one(runtime: Runtime) -> None:
    parameters = replace(components_of(runtime).calibration.parameters, calibration_map=((0.0, 0.7), (1.0, 0.7)))
    flat = runtime_of(replace(components_of(runtime), calibration=Calibration(parameters))).task(QUERY)
    for _ in range(len(TOOLS)):
        best = flat.candidates(1)[0]
        if best.tool == END:
            break
        nothing = dict(flat.candidates())[END]
        assert best.probability / (1 - nothing) == pytest.approx(0.7, abs=1e-5)
        flat.failed(best.tool, "no")


@pytest.mark.parametrize(("head_weight", "graph_weight"), [(0.0, 1.0), (1.0, 0.0), (60.0, 0.0), (0.0, 0.0)])
def test_a_failed_tool_is_left_out_whatever_the_fusion_weighs(
    runtime: Runtime, head_weight: float, graph_weight: float
) -> None:
    parameters = replace(
        components_of(runtime).calibration.parameters, head_weight=head_weight, graph_weight=graph_weight
    )
    task = runtime_of(replace(components_of(runtime), calibration=Calibration(parameters))).task(QUERY)
    for number in range(1, len(TOOLS) + 1):
        task.failed(next(c.tool for c in task.candidates() if c.tool != END), "no")
        probabilities = task.probabilities()
        assert np.isfinite(probabilities).all()
        assert probabilities.sum() == pytest.approx(1, abs=1e-5)
        assert len(task.candidates()) == len(TOOLS) + 1 - number


@pytest.mark.parametrize("k", [1, 2, 3, 100, None])
@pytest.mark.parametrize("crowd", [1, 1000])
def test_as_many_candidates_are_listed_as_were_asked_for(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, k: int | None, crowd: int
) -> None:
    monkeypatch.setattr("edgeret.runtime.ranking.CROWD", crowd)
    task = runtime.task(QUERY)
    whole = task.candidates()
    task.failed(whole[0].tool, "no")
    task.failed(whole[2].tool, "no")
    assert [c.tool for c in task.candidates(k)] == [c.tool for c in (whole[1], *whole[3:])][:k]


@pytest.mark.parametrize("policy", ["auto", "heads"])
def test_edgeret_abstains_where_every_tool_failed(runtime: Runtime, policy: Any) -> None:
    task = runtime.task(QUERY)
    for name in NAMES:
        task.failed(name, "offline")
    decision = task.next(policy=policy)
    assert (decision.tool, decision.abstained) == (None, True)
    assert [c.tool for c in decision.candidates] == [END]
    assert decision.reason == (
        "every tool failed, so none is left to choose; find_file was left out: it failed (offline); send_mail was left "
        "out: it failed (offline); write_note was left out: it failed (offline); 3 more were left out, which failed too"
    )
    assert task.accept(decision) is False
    assert task.prompt().variable.text.count("- ") == 1
    task.retry("send_mail")
    assert task.next(policy="heads", k=1).candidates[0].tool in ("send_mail", END)


def test_the_tools_alone_leave_failed_ones_out_too(tiny_many: Path) -> None:
    task = edgeret.load(tiny_many, threads=1).task("call a phone")
    task.failed("phone_call", "")
    decision = task.next()
    assert "phone_call" not in [c.tool for c in decision.candidates]
    assert sum(c.probability for c in decision.candidates) == pytest.approx(1, abs=1e-5)
    assert decision.reason.endswith("; phone_call was left out: it failed")


@pytest.mark.parametrize("masking", ["hard", "none"])
@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy != "heads"])
def test_a_planner_is_not_asked_about_failed_tools(runtime: Runtime, policy: Any, masking: Any) -> None:
    calibration = Calibration(
        replace(components_of(runtime).calibration.parameters, right_probabilities=(0.0, 0.0, 1.0))
    )
    listening: Any = Listening()
    components = replace(
        components_of(runtime),
        calibration=calibration,
        planner=LazyPlanner(lambda: listening),
        reranking=RerankParameters(weight=1.0, ask_below=1.1),
    )
    for query in (QUERY, "call a phone"):
        task = runtime_of(components).task(query)
        task.failed("find_file", "no")
        decision = task.next(policy=policy, min_probability=0, masking=masking)
        assert decision.source == "planner"
        assert "; find_file was left out: it failed (no)" in decision.reason
        assert "find_file" not in [c.tool for c in decision.candidates]
    assert len(listening.asked) == 2
    assert all("find_file" not in asked for asked in listening.asked)


def test_a_reason_is_one_short_line_of_visible_text(runtime: Runtime) -> None:
    task = runtime.task(QUERY)
    task.failed("find_file", "Traceback:\n\x1b[31m" + "x" * 5000)
    assert len(task.failures[0].reason) == 1000
    reason = task.next().reason
    assert reason.isprintable()
    assert len(reason) < 500


def test_an_hnsw_index_leaves_failed_tools_out_too(tmp_path: Path) -> None:
    pytest.importorskip("hnswlib")
    from edgeret_export.recipe import Recipe

    extra = [Tool(f"free_{i}", f"share day {i} letter") for i in range(80)]
    folder = tiny_bundle(tmp_path / "b", recipe=Recipe(precision="fp32", hnsw_from=10), tools=[*TOOLS, *extra])
    task = edgeret.load(folder, threads=1, index="hnsw").task("call a phone")
    assert task.next().tool == "phone_call"
    for name in ("phone_call", "free_1", "find_file"):
        task.failed(name, "no")
    decision = task.next(k=None)
    assert not {"phone_call", "free_1", "find_file"} & {c.tool for c in decision.candidates}
    assert task.probabilities().sum() == pytest.approx(1, abs=1e-5)
