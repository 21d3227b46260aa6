"""ToolQP's reward: each term by hand, what holds for all rankings, and answers as serving would take them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from edgeret.types import Hit
from edgeret_export.encoders.parity import ndcg5
from edgeret_export.planner.judge import Judge
from edgeret_export.planner.lessons import State
from edgeret_export.planner.rewards import WEIGHTS, Terms, gains, ndcg, recall, stop_reward
from edgeret_export.planner.trajectories import Request, SearchTurn, Trajectory

NAMES = tuple("abcdefghij")
RANKINGS = some.permutations(NAMES)
NEEDED = some.sets(some.sampled_from(NAMES), min_size=1)


def hits(names: str) -> list[Hit]:
    return [Hit(name, 1 - i / 100) for i, name in enumerate(names)]


def test_ndcg_by_hand() -> None:
    # Two of two, at places 1 and 3: (1 + 1 / log2(4)) / (1 + 1 / log2(3)).
    assert ndcg("axbcd", {"a", "b"}) == pytest.approx(1.5 / 1.6309297535714575)
    assert ndcg("xxxxxa", {"a"}) == 0.0
    assert ndcg("xa", {"a"}) == pytest.approx(0.6309297535714575)


def test_recall_by_hand() -> None:
    assert recall("axbcd", {"a", "b", "z"}) == pytest.approx(2 / 3)
    assert recall("xxxxxa", {"a"}) == 0.0


def test_gains_by_hand() -> None:
    # Joined by peak rank, "b" comes second behind "x", whose first place is the surer one.
    before, more = [hits("xyabc")], [[Hit("b", 0.5), Hit("z", 0.4)]]
    found = gains(before, more, {"b"})
    assert found == (pytest.approx(1 / np.log2(3) - 1 / np.log2(5)), 0.0)
    assert gains(before, [], {"b"}) == (0.0, 0.0)


def test_stop_by_hand() -> None:
    assert [stop_reward(*case) for case in ((True, True), (False, False), (True, False), (False, True))] == [1, 1, 0, 0]


def test_the_reward_by_hand() -> None:
    assert Terms(0.5, 0.2, 1.0, 1.0, 0.8).total == pytest.approx(2.5 + 0.5 + 1.5 + 0.6 + 0.8)
    assert Terms().total == 0.0
    assert dict(WEIGHTS) == {"ndcg": 5.0, "recall": 2.5, "format": 1.5, "stop": 0.6, "plan": 1.0}


@given(RANKINGS, NEEDED)
def test_ndcg_is_that_of_the_encoders_gate_and_at_most_1(ranking: list[str], needed: set[str]) -> None:
    scores = np.array([[-ranking.index(name) for name in NAMES]], np.float32)
    assert ndcg(ranking, needed) == pytest.approx(ndcg5(scores, [frozenset(NAMES.index(name) for name in needed)])[0])
    assert 0.0 <= ndcg(ranking, needed) <= 1.0 + 1e-12


@given(RANKINGS, NEEDED)
def test_all_needed_tools_in_front_are_worth_most(ranking: list[str], needed: set[str]) -> None:
    best = sorted(ranking, key=lambda name: name not in needed)
    assert ndcg(best, needed) == pytest.approx(1.0) and recall(best, needed) == min(1.0, 5 / len(needed))
    assert ndcg(ranking, needed) <= ndcg(best, needed) + 1e-12


@given(RANKINGS, RANKINGS, NEEDED)
def test_gains_are_what_lies_between_two_rankings(first: list[str], second: list[str], needed: set[str]) -> None:
    found = gains([hits("".join(first))], [hits("".join(second))], needed)
    assert all(-1.0 <= gain <= 1.0 for gain in found)
    same = gains([hits("".join(first))], [hits("".join(first))], needed)
    assert same == (pytest.approx(0.0), pytest.approx(0.0))


@given(some.floats(-1, 1), some.floats(-1, 1), some.booleans(), some.booleans(), some.floats(-1, 1))
def test_a_better_term_is_never_worth_less(a: float, b: float, form: bool, stop: bool, plan: float) -> None:
    terms = Terms(a, b, form, stop, plan)
    better = Terms(a + 0.1, b + 0.1, 1.0, 1.0, plan + 0.1)
    assert better.total > terms.total


REQUEST = Request("r", "go", ("b",))
TRAJECTORY = Trajectory(REQUEST, "the plan", ("a goal",), (SearchTurn("bee", 0, ("b",), {"b": 1}),))
FINDS = {"go": "xyzuvb", "go bee": "bxyzuv", "go ex": "xbyzuv"}


def judge() -> Judge:
    return Judge(lambda text, k: hits(FINDS.get(text, FINDS["go"]))[:k], lambda a, b: float(a == b))


def turn(query: Any, stop: Any = False) -> str:
    return json.dumps({"query": query, "stop": stop})


def test_a_query_is_worth_what_it_adds() -> None:
    state = State(TRAJECTORY, 0)
    # Of two first places, the one that was there before stays in front.
    found = judge().terms(state, turn("bee"), 20)
    assert found.ndcg > 0.6 and found.recall == 1.0 and (found.format, found.stop, found.plan) == (1.0, 1.0, 0.0)
    assert judge().terms(state, turn("ex"), 20).ndcg < found.ndcg
    assert judge().terms(state, turn("nothing"), 20) == Terms(0, 0, 1, 1, 0)


def test_a_stop_is_worth_something_where_nothing_is_missing() -> None:
    for stop in (turn("", True), turn("bee"), turn(" ")):  # what was asked before, and nothing, end a search too
        assert judge().terms(State(TRAJECTORY, 1), stop, 20) == Terms(0, 0, 1, 1, 0)
    assert judge().terms(State(TRAJECTORY, 0), turn("", True), 20) == Terms(format=1.0)
    assert judge().terms(State(TRAJECTORY, 1), turn("more"), 20) == Terms(format=1.0)


def test_a_plan_is_worth_what_its_goals_find_and_how_near_it_is() -> None:
    state = State(TRAJECTORY, None)
    found = judge().terms(state, json.dumps({"plan": "the plan", "goals": ["bee", " "]}), 50)
    assert found.recall == 1.0 and (found.format, found.stop, found.plan) == (1.0, 0.0, 1.0)
    assert judge().terms(state, json.dumps({"plan": " ", "goals": []}), 50) == Terms(format=1.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bee",
        "[]",
        "null",
        '{"query": "bee"}',
        turn(3),
        turn("bee", "no"),
        turn("x" * 301),
        turn("\ud800"),
        "[" * 9999,
    ],
)
def test_an_answer_that_serving_would_not_take_is_worth_nothing(text: str) -> None:
    for state in (State(TRAJECTORY, None), State(TRAJECTORY, 0)):
        assert judge().terms(state, text, 20) == Terms()


def test_an_answer_that_serving_would_have_cut_off_is_worth_nothing() -> None:
    assert judge().terms(State(TRAJECTORY, 0), turn("bee"), 97) == Terms()
