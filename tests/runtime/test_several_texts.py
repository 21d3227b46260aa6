"""One search for several texts that belong together: each says as much, and what is none is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import edgeret
from edgeret import InputError, Runtime
from edgeret.adapters.aio import AsyncRuntime

BOTH = ["write a note", "play my song"]


@pytest.fixture(scope="module", params=["tiny_tools", "tiny_original"])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    return edgeret.load(request.getfixturevalue(request.param), threads=1)


def test_shares_of_each_text_over_all_tools_are_added(runtime: Runtime) -> None:
    every = len(runtime.tools)
    alone = [{hit.tool: hit for hit in runtime.search(text, every)} for text in BOTH]
    hits = runtime.search(BOTH, every)
    for hit in hits:
        assert hit.share == pytest.approx(sum(each[hit.tool].share or 0.0 for each in alone) / 2)
        assert hit.similarity == max(each[hit.tool].similarity for each in alone)
    shares = [hit.share or 0.0 for hit in hits]
    assert shares == sorted(shares, reverse=True) and sum(shares) <= 1 + 1e-6
    assert {hit.tool for hit in runtime.search(BOTH, 2)} == {"write_note", "play_music"}
    assert [hit.tool for hit in runtime.search(BOTH[::-1], every)] == [hit.tool for hit in hits]


def test_a_text_that_stands_twice_counts_once(runtime: Runtime) -> None:
    twice = [BOTH[0], BOTH[1], " Play  MY song\n"] * 3
    assert runtime.search(twice, 3) == runtime.search(BOTH, 3)
    assert runtime.search([BOTH[0]], 3) == runtime.search((BOTH[0], BOTH[0]), 3) == runtime.search(BOTH[0], 3)


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ([], "no text to search for; give the user's words, or what the tool should do"),
        (["write a note", " "], "text 2 of 2: empty; give the user's words"),
        (["write a note", 7], "text 2 of 2: expected text, found int"),
        (["write a note", "x" * 20_001], "text 2 of 2: 20001 characters, at most 20000"),
        (["write a note", "\ud800"], "text 2 of 2: holds half a surrogate pair"),
        (["a", "b", "c", "d", "e"], "more than 4 different texts to search for; search for the others"),
        ({"a"}, "query: expected text, found set"),
    ],
    ids=str,
)
def test_what_is_no_list_of_one_to_four_texts_is_told(runtime: Runtime, texts: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        runtime.search(texts)


@pytest.mark.parametrize("strategy", ["hybrid", "description", "clauses", "re-invoke"])
def test_every_strategy_takes_several(runtime: Runtime, strategy: str) -> None:
    found = runtime.search_with_trace(BOTH, 2, strategy=strategy, budget_ms=60_000)
    assert {hit.tool for hit in found.hits} == {"write_note", "play_music"}
    assert found.trace.complete and found.trace.strategy == strategy
    assert set(BOTH) <= {event.text for event in found.trace.events}
    times = [event.ms for event in found.trace.events]
    assert times == sorted(times) and times[-1] <= found.trace.ms


def test_texts_that_no_time_is_left_for_are_searched_for_once_all_the_same(runtime: Runtime) -> None:
    found = runtime.search_with_trace(BOTH, 2, strategy="clauses", budget_ms=1e-6)
    assert {hit.tool for hit in found.hits} == {"write_note", "play_music"}


def test_beside_an_event_loop_too(runtime: Runtime) -> None:
    async def ask() -> list[edgeret.Hit]:
        async with AsyncRuntime(runtime) as awaited:
            return await awaited.search(BOTH, 2)

    assert asyncio.run(ask()) == runtime.search(BOTH, 2)
