"""Strategies that ask a planner: what they make of its answers, good, bad and none, and that a budget ends them."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE_S
from scripted import Scripted, Willing

import edgeret
from edgeret import Runtime
from edgeret.errors import InputError, PlannerError
from edgeret.planner.lazy import LazyPlanner
from edgeret.runtime.searching import finder_of
from edgeret.strategies import STRATEGIES
from edgeret.strategies.base import Found, Search, run
from edgeret.strategies.rerank import RERANK
from edgeret.strategies.toolqp import MAX_TURNS, NO_QUERY, PARALLEL
from edgeret.strategies.toolreagt import MAX_ROUNDS
from edgeret.types import Hit
from edgeret_export.reference.python_finder import PythonFinder
from edgeret_export.reference.runtime import components_of, runtime_of
from edgeret_export.reference.scoring.index import Index

QUERY = "find my file and then send it"
WRITING = [strategy for strategy in STRATEGIES.values() if strategy is not RERANK]
ASKING = [strategy for strategy in WRITING if strategy.asks]
ALL = [*(strategy for strategy in WRITING if strategy.asks or strategy.helped), PARALLEL, NO_QUERY]


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


def search(runtime: Runtime, answerer: Any, k: int = 3, deadline: float = math.inf) -> Search:
    return Search(QUERY, k, finder_of(runtime.loaded), answerer, deadline)


def texts(found: Found, kind: str = "search") -> list[str]:
    return [event.text for event in found.trace.events if event.kind == kind]


@pytest.mark.parametrize("strategy", ALL, ids=lambda strategy: strategy.name)
def test_a_ranking_has_as_many_different_tools_as_asked_for(runtime: Runtime, strategy: Any) -> None:
    for k in (1, 3, 50):
        found = run(strategy, search(runtime, Willing(), k))
        names = [hit.tool for hit in found.hits]
        assert len(names) == len(set(names)) == min(k, len(runtime.tools))
        assert found.trace.complete and found.trace.answers > 0
        assert found.trace.tokens == 3 * found.trace.answers


@pytest.mark.parametrize("strategy", ALL, ids=lambda strategy: strategy.name)
@pytest.mark.parametrize("nonsense", [None, "words", {"other": 1}, [], 7], ids=repr)
def test_an_answer_that_is_none_costs_one_retry_and_then_the_requests_own_words_serve(
    runtime: Runtime, strategy: Any, nonsense: Any
) -> None:
    planner = Scripted(lambda _: nonsense)
    found = run(strategy, search(runtime, planner))
    assert len(planner.prompts) == 2 == found.trace.answers and not found.trace.complete
    assert [limits.temperature > 0 for limits in planner.limits] == [False, True]
    plain = runtime.search(QUERY, 3, strategy="hybrid")
    assert [hit.tool for hit in found.hits] == [hit.tool for hit in plain]
    assert len(texts(found, "problem")) == 2


@pytest.mark.parametrize("strategy", ALL, ids=lambda strategy: strategy.name)
def test_a_planner_that_cannot_be_asked_is_asked_once(runtime: Runtime, strategy: Any) -> None:
    class Broken:
        def answer(self, *_: Any) -> Any:
            raise PlannerError("it went away")

    found = run(strategy, search(runtime, Broken()))
    assert (len(found.hits), found.trace.answers, found.trace.complete) == (3, 0, False)
    assert "it went away" in texts(found, "problem")[0]


@pytest.mark.parametrize("strategy", ALL, ids=lambda strategy: strategy.name)
def test_a_budget_that_is_spent_gives_the_best_ranking_so_far(runtime: Runtime, strategy: Any) -> None:
    found = run(strategy, search(runtime, Willing(), deadline=perf_counter() - 1))
    assert [hit.tool for hit in found.hits] == [hit.tool for hit in runtime.search(QUERY, 3, strategy="hybrid")]
    assert not found.trace.complete and texts(found, "problem") == ["the budget is spent"]


def test_re_invoke_ranks_by_every_intent_and_by_the_request(runtime: Runtime) -> None:
    found = run(STRATEGIES["re-invoke"], search(runtime, Scripted([{"intents": [" find a file ", "", "send a mail"]}])))
    assert texts(found) == [QUERY, "find a file", "send a mail"]
    assert {"find_file", "send_mail"} <= {hit.tool for hit in found.hits}


def test_tooldreamer_searches_for_the_tools_it_imagines_behind_the_request(runtime: Runtime) -> None:
    nothing = dict.fromkeys(("thought", "name", "description"), "")
    imagined = {"tools": [{"thought": "a file", "name": "file_finder", "description": "finds"}, nothing]}
    found = run(STRATEGIES["tooldreamer"], search(runtime, Scripted([imagined])))
    assert texts(found) == [QUERY, f"{QUERY} a file, file_finder, finds"]


def test_toolqp_shows_each_turn_what_the_last_one_found_and_stops_when_told(runtime: Runtime) -> None:
    planner = Scripted(
        [
            {"plan": "find, then send", "goals": ["find", "send"]},
            {"query": "find a file", "stop": False},
            {"query": "send a mail", "stop": False},
            {"query": "", "stop": True},
        ]
    )
    found = run(STRATEGIES["toolqp"], search(runtime, planner))
    assert texts(found) == [QUERY, f"{QUERY} find a file", f"{QUERY} send a mail"]
    assert "Searched: send a mail\nFound: " in planner.prompts[3] and "Searched" not in planner.prompts[1]
    assert found.trace.answers == 4


def test_toolqps_ablations_leave_out_feedback_or_the_request(runtime: Runtime) -> None:
    plan = {"plan": "p", "goals": ["find a file", "send a mail"]}
    found = run(PARALLEL, search(runtime, Scripted([plan])))
    assert texts(found) == [QUERY, f"{QUERY} find a file", f"{QUERY} send a mail"]
    turns = [plan, {"query": "send a mail", "stop": False}, {"query": "", "stop": True}]
    assert texts(run(NO_QUERY, search(runtime, Scripted(turns)))) == [QUERY, "send a mail"]


@pytest.mark.parametrize("name", ["toolqp", "toolreagt"])
def test_a_planner_that_never_stops_or_only_repeats_itself_is_stopped(runtime: Runtime, name: str) -> None:
    count = iter(range(1000))

    def chatter(prompt: str, same: bool = False) -> Any:
        text = "mail" if same else f"mail {next(count)}"
        if name == "toolreagt":
            return {"thought": "", "done": False, "search": text, "tools": []}
        return {"query": text, "stop": False} if "Plan:" in prompt else {"plan": "p", "goals": []}

    long = run(STRATEGIES[name], search(runtime, Scripted(chatter)))
    assert len(texts(long)) == 1 + {"toolqp": MAX_TURNS, "toolreagt": MAX_ROUNDS}[name]
    short = run(STRATEGIES[name], search(runtime, Scripted(lambda prompt: chatter(prompt, True))))
    assert len(texts(short)) == 2


def test_toolreagt_searches_before_it_chooses_and_names_only_what_was_observed(runtime: Runtime) -> None:
    rounds = [
        {"thought": "done at once", "done": True, "search": "send a mail", "tools": ["erase_disk"]},
        {"thought": "now", "done": True, "search": "", "tools": ["send_mail", "erase_disk"]},
    ]
    found = run(STRATEGIES["toolreagt"], search(runtime, Scripted(rounds)))
    assert texts(found) == [QUERY, "send a mail"]
    assert texts(found, "chosen") == ["send_mail"]
    assert "erase_disk" not in {hit.tool for hit in found.hits} and "send_mail" in {hit.tool for hit in found.hits[:2]}


def test_less_is_more_falls_back_to_the_request_where_the_description_is_no_nearer(runtime: Runtime) -> None:
    found = run(STRATEGIES["less-is-more"], search(runtime, Scripted([{"tools": ["quantum chromodynamics"]}])))
    assert [hit.tool for hit in found.hits] == [hit.tool for hit in runtime.search(QUERY, 3, strategy="hybrid")]
    assert texts(found, "fallback")
    found = run(STRATEGIES["less-is-more"], search(runtime, Scripted([{"tools": ["send a mail"]}])))
    assert found.hits[0].tool == "send_mail"


@pytest.mark.parametrize("strategy", ASKING, ids=lambda strategy: strategy.name)
def test_without_a_planner_a_strategy_that_asks_says_how_to_get_one(runtime: Runtime, strategy: Any) -> None:
    with pytest.raises(InputError, match="--planner"):
        runtime.search(QUERY, strategy=strategy.name)


def test_a_view_is_not_begun_where_there_is_no_time_for_one_like_the_slowest(runtime: Runtime) -> None:
    searched: list[str] = []

    def slow(text: str, k: int) -> list[Hit]:
        searched.append(text)
        time.sleep(1.0)
        return [Hit("send_mail", 0.5)]

    finder = PythonFinder(Index(("send_mail",), np.eye(1, dtype=np.float32)), lambda _: np.ones(1, np.float32), slow)
    hurried = replace(search(runtime, Scripted([{"intents": ["find", "send"]}])), finder=finder)
    hurried.deadline = perf_counter() + 1.9
    found = run(STRATEGIES["re-invoke"], hurried)
    assert searched == [QUERY] and not found.trace.complete
    assert [hit.tool for hit in found.hits] == ["send_mail"]


def test_a_search_with_a_budget_does_not_wait_for_a_planner_that_is_still_being_loaded(runtime: Runtime) -> None:
    loading = threading.Event()

    def load() -> Any:
        assert loading.wait(PATIENCE_S)
        raise PlannerError("the file is gone")

    lazy = LazyPlanner(load)
    late = runtime_of(replace(components_of(runtime), planner=lazy))
    late = late.search_with_trace(QUERY, strategy="toolqp", budget_ms=1000)
    assert late.hits and "still being loaded" in texts(late, "problem")[0]
    loading.set()
    with pytest.raises(PlannerError, match="the file is gone"):
        lazy.get_by(perf_counter() + PATIENCE_S)


def test_a_planner_is_not_there_before_it_was_rehearsed() -> None:
    rehearsed = threading.Event()

    class Slow:
        def rehearse(self) -> None:
            assert rehearsed.wait(PATIENCE_S)

    slow: Any = Slow()
    lazy = LazyPlanner(lambda: slow)
    assert lazy.get_by(perf_counter() + 0.05) is None
    rehearsed.set()
    assert lazy.get_by(perf_counter() + PATIENCE_S) is slow
