"""Tools in the order of what a planner takes their users to say, and when `auto` asks a planner at all."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from scripted import USAGE, Scripted

import edgeret
from edgeret import Route, Runtime, Tool, read_route
from edgeret.errors import InputError, PlannerError
from edgeret.planner.answers import Limits
from edgeret.planner.chat import Prompt
from edgeret.strategies import STRATEGIES, rerank
from edgeret.strategies.auto import routed
from edgeret.strategies.base import Found, Search, run
from edgeret.strategies.rerank import NAMING, RERANK, WEIGHT, reranked
from edgeret.strategies.routing import contested
from edgeret.types import Hit, Usage
from edgeret_export.reference.python_finder import PythonFinder
from edgeret_export.reference.scoring.index import Index

NAMES = ("alpha", "beta", "gamma")
SHARES = (0.6, 0.3, 0.1)
QUERY = "do the third thing"
INTENTS = {"intents": ["gamma"]}


@pytest.fixture(autouse=True)
def three_are_enough_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerank, "NAMED_FROM", 3)


class Reader(Scripted):
    """Says how likely the request is behind each tool, and each tool's name behind a request."""

    def __init__(
        self, likely: Callable[[str], float], most: int = 99, named: Callable[[str, str], float] = lambda *_: 0.0
    ) -> None:
        super().__init__(())
        self._likely, self._most, self._named = likely, most, named
        self.kept: list[str] = []

    def likelihoods(self, prompts: Sequence[Prompt], text: str, _: Limits) -> tuple[Sequence[float], Usage]:
        self.prompts += [prompt.variable.text for prompt in prompts]
        return [self._likely(prompt.variable.text) for prompt in prompts[: self._most]], USAGE

    def replies(
        self, asked: Sequence[tuple[Prompt, Sequence[str]]], _: Limits, *, keep: bool
    ) -> tuple[Sequence[Sequence[float]], Usage]:
        self.kept += [prompt.variable.text for prompt, _ in asked if keep]
        return [[self._named(prompt.variable.text, text) for text in texts] for prompt, texts in asked], USAGE


def search(answerer: Any, deadline: float = math.inf) -> Search:
    """Hybrid search gives NAMES with SHARES; only a text of one name alone finds that first."""

    def rank(text: str, k: int) -> list[Hit]:
        order = sorted(range(3), key=lambda i: NAMES[i] != text)
        return [Hit(NAMES[i], 0.5, SHARES[i]) for i in order[:k]]

    finder = PythonFinder(Index(NAMES, np.eye(3, dtype=np.float32)), lambda _: np.zeros(3, np.float32), rank)
    return Search(QUERY, 3, finder, answerer, deadline, tools={"gamma": Tool("gamma", "Does the third thing.")})


def names(found: Found) -> list[str]:
    return [hit.tool for hit in found.hits]


def problems(found: Found) -> list[str]:
    return [event.text for event in found.trace.events if event.kind == "problem"]


def test_shares_are_weighed_with_likelihoods_and_stay_the_same_in_sum() -> None:
    # 0.6 · e^-2.8 = 0.03649, 0.1 · e^-0.4 = 0.06703: gamma has 0.7 · 0.06703 / 0.10352.
    first, second = reranked([Hit("alpha", 0.5, 0.6), Hit("gamma", 0.2, 0.1)], [-2.8, -0.4])
    assert (first.tool, second.tool, first.similarity) == ("gamma", "alpha", 0.2)
    assert first.share == pytest.approx(0.4533, abs=1e-4) and second.share == pytest.approx(0.2467, abs=1e-4)


def test_the_tool_whose_user_would_say_the_request_comes_first() -> None:
    reader = Reader(lambda text: -2.0 if "third" in text else -20.0)
    found = run(RERANK, search(reader))
    assert names(found) == ["gamma", "alpha", "beta"] and found.trace.complete
    assert reader.prompts == ["alpha.", "beta.", "gamma. Does the third thing."]
    assert found.trace.answers == 5  # three tools, their names, and the request
    assert reader.kept == ["I need something done."] * 3 + ["Does the third thing."]  # of tools, and never a request


def test_few_tools_are_read_and_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerank, "NAMED_FROM", 4)
    reader = Reader(lambda text: -2.0 if "third" in text else -20.0, named=lambda *_: pytest.fail("a tool was named"))
    found = run(RERANK, search(reader))
    assert names(found) == ["gamma", "alpha", "beta"] and found.trace.answers == 3 and found.trace.complete


def test_a_name_counts_by_how_much_likelier_the_request_makes_it() -> None:
    # Alpha is the likeliest name for any request. This one makes gamma 10 nats likelier, and gamma's own description 4:
    # (10 - 4 / 2) / √18 = 1.89 > log(0.6 / 0.1) = 1.79.
    made = {"alpha": (-3.0, -3.0), "beta": (-9.0, -9.0), "gamma": (-16.0, -6.0)}
    for own, best in ((-12.0, "gamma"), (-11.0, "alpha")):

        def named(said: str, name: str, own: float = own) -> float:
            return own if said == "Does the third thing." else made[name][said == QUERY]

        found = run(RERANK, search(Reader(lambda _: -5.0, named=named)))
        assert names(found)[0] == best and found.trace.complete
    assert pytest.approx(1.0) == NAMING


def test_without_time_to_name_tools_they_are_read() -> None:
    class Hurried(Reader):
        def replies(self, *_: Any, keep: bool) -> tuple[Sequence[Sequence[float]], Usage]:
            return [], USAGE

    found = run(RERANK, search(Hurried(lambda text: -2.0 if "third" in text else -20.0)))
    assert names(found) == ["gamma", "alpha", "beta"] and not found.trace.complete
    assert problems(found) == ["there was no time to name tools"]


def test_tools_are_read_in_the_order_that_their_names_gave() -> None:
    reader = Reader(lambda _: -5.0, named=lambda said, name: 9.0 if (said, name) == (QUERY, "gamma") else 0.0, most=1)
    found = run(RERANK, search(reader))
    assert reader.prompts == ["gamma. Does the third thing.", "alpha.", "beta."]
    assert names(found) == ["gamma", "alpha", "beta"] and problems(found) == ["there was time for 1 of 3 tools"]


def test_a_planners_word_counts_less_the_longer_the_request_is() -> None:
    # Alpha is 1.8 nats ahead of gamma; 9.9 against it count 3.3 over nine characters, and 1 over a hundred.
    reader = Reader(lambda text: -2.0 if "third" in text else -11.9)
    found = search(reader)
    for length, best in ((9, "gamma"), (100, "alpha")):
        asked = replace(found, request="x" * length, events=[], rankings=[])
        assert names(run(RERANK, asked))[0] == best
    assert pytest.approx(1.0) == WEIGHT


def test_what_there_was_no_time_to_read_stays_behind() -> None:
    found = run(RERANK, search(Reader(lambda text: -20.0 if "alpha" in text else -2.0, most=2)))
    assert names(found) == ["beta", "alpha", "gamma"] and not found.trace.complete
    assert problems(found) == ["there was time for 2 of 3 tools"]


def test_a_planner_that_only_writes_or_cannot_be_asked_leaves_the_ranking_as_it_is() -> None:
    def broken(_: str) -> float:
        raise PlannerError("it went away")

    for answerer, problem in ((Scripted(()), "does not say how likely"), (Reader(broken), "it went away")):
        found = run(RERANK, search(answerer))
        assert names(found) == list(NAMES) and not found.trace.complete
        assert problem in problems(found)[0]


@pytest.mark.parametrize(("strategy", "endpoint"), [("rerank", False), ("tooldreamer", True)])
def test_without_a_planner_nothing_is_suggested_that_would_not_do(strategy: str, endpoint: bool) -> None:
    with pytest.raises(InputError, match="or choose strategy 'hybrid'") as caught:
        run(STRATEGIES[strategy], search(None))
    assert ("--endpoint" in str(caught.value)) == endpoint


def test_auto_asks_where_another_tool_has_the_routes_part_of_the_first_ones_share() -> None:
    for least, asked in ((0.0, True), (0.4, True), (0.7, False), (2.0, False)):
        found = run(routed(Route("re-invoke", least, 10.0), STRATEGIES["re-invoke"]), search(Scripted([INTENTS])))
        assert (found.trace.answers > 0) == asked
        assert names(found)[:2] == (["alpha", "gamma"] if asked else ["alpha", "beta"])


def test_by_a_route_a_planner_reads_the_contested_tools_alone() -> None:
    reader = Reader(lambda text: -2.0 if "third" in text else -20.0)
    found = run(routed(Route("rerank", 0.4, 0.0), RERANK), search(reader))
    assert reader.prompts == ["alpha.", "beta."] and names(found) == list(NAMES)
    assert run(routed(Route("rerank", 0.6, 0.0), RERANK), search(reader)).trace.answers == 0


def test_auto_does_not_ask_without_the_time_that_it_takes() -> None:
    hurried = search(Scripted([INTENTS]), perf_counter() + 5)
    found = run(routed(Route("re-invoke", 0.0, 60_000.0), STRATEGIES["re-invoke"]), hurried)
    assert names(found) == list(NAMES) and found.trace.answers == 0 and found.trace.complete


def test_nonsense_leaves_autos_own_ranking() -> None:
    found = run(routed(Route("re-invoke", 0.0, 10.0), STRATEGIES["re-invoke"]), search(Scripted([None, None])))
    assert names(found) == list(NAMES) and not found.trace.complete


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


def test_the_runtime_takes_a_route_with_auto_alone(runtime: Runtime) -> None:
    route, planner = Route("re-invoke", 0.0, 10.0), Scripted([INTENTS])
    assert runtime.search_with_trace(QUERY, planner=planner, route=route).trace.answers == 1
    for wrong, problem in (
        ({"strategy": "clauses", "route": route}, "takes no route"),
        ({"route": Route("clauses", 1.0, 1.0)}, "asks no planner; expected one of rerank, re-invoke"),
        ({"route": "re-invoke"}, "must be an edgeret.Route"),
        ({"planner": planner}, "say when with a route"),
    ):
        with pytest.raises(InputError, match=problem):
            runtime.search(QUERY, **wrong)  # type: ignore[arg-type]


def test_a_route_is_read_as_it_was_written_and_damage_is_named(tmp_path: Path) -> None:
    file, route = tmp_path / "route.json", Route("toolqp", 0.25, 900.0)
    file.write_text(json.dumps({"route": route.to_dict()}), encoding="utf-8")
    assert read_route(file) == route
    for damage, problem in (
        ("[]", 'an object with "route"|object with'),
        ("{", "not JSON"),
        ('{"route": {"strategy": "toolqp", "contested": -1, "ms": 1}}', '"contested" must lie between 0 and 2'),
        ('{"route": {"strategy": 1, "contested": 1, "ms": 1}}', '"strategy" must be str'),
    ):
        file.write_text(damage, encoding="utf-8")
        with pytest.raises(InputError, match=problem) as caught:
            read_route(file)
        assert "edgeret-export lab route" in str(caught.value) and "build the bundle" not in str(caught.value)


def test_what_nothing_speaks_for_is_contested_unless_a_route_never_asks() -> None:
    unknown = [Hit("alpha", 0.5, 0.0), Hit("beta", 0.4, 0.0)]
    assert [contested(unknown, least) for least in (0.0, 0.5, 1.0, 1.5)] == [[0, 1], [0, 1], [0, 1], []]
