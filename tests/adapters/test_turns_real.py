"""Turns that say nothing themselves, in 15 languages, behind requests and behind each other, with a real encoder: the
tool of the request is kept, and a request of its own keeps its own."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLE, full

import edgeret
from edgeret.adapters.conversation import Conversation
from edgeret.adapters.selection import Amount, select
from edgeret.adapters.turns import SHORT, is_short, wish

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore::edgeret.LanguageWarning")]
TRANSFER = EXAMPLE.parent / "transfer"
TURNS = [json.loads(line) for line in (Path(__file__).parent / "turns_without_content.jsonl").read_text().splitlines()]
FREE = [turn["text"] for turn in TURNS]
LONG = (
    "I have thought about it for a while now, and yes, I would like you to go ahead with it just as you said",
    "Ich habe es mir noch einmal in Ruhe überlegt und bin jetzt der Meinung, dass wir es so machen, wie du gesagt hast",
    "Well, I was not sure at first, but the way in which you put it convinced me, so please carry on with that",
)


def said(*turns: str) -> Conversation:
    """A conversation of these turns, the last one last."""
    return Conversation(turns[-1], (), frozenset(), turns[-2::-1])


def kept(runtime: edgeret.Runtime, k: int, *turns: str) -> set[str]:
    return select(runtime, said(*turns), set(runtime.tools), Amount(k=k))


def single(file: Path, runtime: edgeret.Runtime) -> list[tuple[str, str]]:
    """Requests for one tool, each with it."""
    plans = edgeret.read_demonstrations(file, tuple(runtime.tools))
    return [(plan.query, plan.calls[0].tool) for plan in plans if len(plan.calls) == 1]


def told(runtime: edgeret.Runtime, requests: Sequence[tuple[str, str]], most: int = 12) -> list[tuple[str, str]]:
    """Requests whose tool leads: what is kept behind them says something of the turns alone."""
    drawn = random.Random(0).sample(requests, len(requests))
    return list(islice(((query, tool) for query, tool in drawn if tool in kept(runtime, 2, query)), most))


@pytest.fixture(scope="module", params=["demonstrated", *full("44 tools", "186 tools")])
def case(request: pytest.FixtureRequest, real: Path) -> tuple[edgeret.Runtime, list[tuple[str, str]]]:
    """A runtime, and requests for one tool each."""
    base = edgeret.load(real)
    if request.param == "demonstrated":
        return base, single(EXAMPLE / "requests.jsonl", base)
    if request.param == "44 tools":
        alone = edgeret.from_tools(edgeret.read_tools(EXAMPLE / "tools.jsonl"), base=base)
        return alone, single(EXAMPLE / "requests.jsonl", alone)
    files = [EXAMPLE / "tools.jsonl", *(TRANSFER / name / "tools.jsonl" for name in ("bank", "media", "devops"))]
    many = edgeret.from_tools(edgeret.read_tools(*files), base=base)
    return many, [pair for name in ("bank", "media") for pair in single(TRANSFER / name / "demonstrations.jsonl", many)]


Case = tuple[edgeret.Runtime, list[tuple[str, str]]]


def test_a_turn_without_content_leaves_the_tool_of_the_request(case: Case) -> None:
    runtime, requests = case[0], told(*case)
    for k, least, turns in ((16, 0.98, [*FREE[::6], *LONG]), (4, 0.94, [*FREE[1::9], *LONG])):
        lost = [
            turn
            for i, turn in enumerate(turns)
            if requests[i % 12][1] not in kept(runtime, k, requests[i % 12][0], turn)
        ]
        assert len(lost) <= (1 - least) * len(turns), (k, lost)


def test_several_turns_without_content_look_further_back(case: Case) -> None:
    # Of twelve requests one that hardly leads, as a CPU's own build has it, would be a twelfth of all.
    runtime, requests = case[0], told(*case, most=36)
    chosen = random.Random(1)
    chains = [chosen.sample(FREE, length) for length in (2, 3, 4) for _ in range(96)]
    lost = [
        (requests[i % len(requests)], chain)
        for i, chain in enumerate(chains)
        if requests[i % len(requests)][1] not in kept(runtime, 16, requests[i % len(requests)][0], *chain)
    ]
    assert len(requests) > 20
    assert len(lost) <= 0.06 * len(chains), lost


def test_a_request_behind_another_keeps_its_own_tool(case: Case) -> None:
    runtime, requests = case
    requests = requests[:60]
    for k, most_lost in ((16, 0.07), (4, 0.07)):
        alone = [tool in kept(runtime, k, query) for query, tool in requests]
        behind = [tool in kept(runtime, k, requests[i - 7][0], query) for i, (query, tool) in enumerate(requests)]
        assert sum(behind) >= sum(alone) - most_lost * len(requests), (k, sum(alone), sum(behind), len(requests))


def test_terse_requests_behind_another_keep_their_own_tool(real: Path) -> None:
    runtime = edgeret.load(real)
    terse = single(EXAMPLE / "terse.jsonl", runtime)[::2]
    former = single(EXAMPLE / "requests.jsonl", runtime)
    for k, least in ((16, 0.97), (4, 0.9)):
        found = [tool in kept(runtime, k, former[i % 30][0], query) for i, (query, tool) in enumerate(terse)]
        assert sum(found) >= least * len(found), (k, sum(found), len(found))


def test_later_turns_of_conversations_keep_their_tools(real: Path) -> None:
    runtime = edgeret.load(real)
    found: list[bool] = []
    for line in (EXAMPLE / "conversations.jsonl").read_text().splitlines():
        turns: list[dict[str, Any]] = json.loads(line)["turns"]
        for i, turn in enumerate(turns[1:], 1):
            if turn["calls"]:
                queries = [each["query"] for each in turns[: i + 1]]
                found.append({call["tool"] for call in turn["calls"]} <= kept(runtime, 16, *queries))
    assert len(found) > 150 and sum(found) >= 0.9 * len(found), (sum(found), len(found))


def test_what_is_learned_from_a_turn_without_content_names_the_request(case: Case) -> None:
    runtime, requests = case[0], told(*case)
    query = requests[0][0]
    assert wish(runtime, said(query, "yes, go ahead")) == f"{query}\nyes, go ahead"
    assert wish(runtime, said("yes", requests[1][0])) == requests[1][0] or is_short(requests[1][0])
    assert wish(runtime, said(query)) == query


def test_words_are_counted_in_scripts_without_spaces_too() -> None:
    assert all(is_short(turn) for turn in FREE) and not any(is_short(turn) for turn in LONG)
    assert is_short("开" * 2 * SHORT) and not is_short("开" * (2 * SHORT + 1))
    assert {turn["language"] for turn in TURNS} >= {"en", "de", "zh", "ja", "ko", "ar", "hi"} and len(TURNS) >= 300
