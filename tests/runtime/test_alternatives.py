"""Two or three tools that share what is left, and what tells them apart."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import edgeret
from edgeret import END, Call, Candidate, Demonstration, Tool
from edgeret.runtime.alternatives import sharing, told_apart
from edgeret.runtime.ranking import ranked
from edgeret.runtime.runtime import Runtime

LIGHTS = [
    Tool("open_letter", "open a letter"),
    Tool("close_letter", "close a letter"),
    Tool("play_music", "play music"),
    Tool("phone_call", "call a phone"),
]


def listed(*probabilities: float, nothing: float = 0.0) -> list[Candidate]:
    found = [Candidate(f"tool_{i}", probability) for i, probability in enumerate(probabilities)]
    return sorted([*found, Candidate(END, nothing)], key=lambda candidate: -candidate.probability)


@pytest.mark.parametrize(
    ("candidates", "shared"),
    [
        (listed(0.5, 0.45, 0.05), 2),
        (listed(0.4, 0.3, 0.2, 0.1), 3),
        (listed(0.9, 0.1), 0),  # one stands clear
        (listed(1.0), 0),
        (listed(0.2, 0.2, 0.15, 0.15, 0.15, 0.15), 3),
        (listed(*[0.1] * 10), 0),  # everybody shares it
        (listed(0.2, 0.1, nothing=0.7), 0),  # that nothing fits stands clear
        (listed(0.35, 0.3, nothing=0.3), 2),
    ],
)
def test_who_shares_what_is_left(candidates: list[Candidate], shared: int) -> None:
    assert [candidate.tool for candidate in sharing(candidates)] == [f"tool_{i}" for i in range(shared)]


def test_tools_are_told_apart_by_words_of_their_own() -> None:
    pause = Tool("pause_music", "Pauses the music that plays.")
    volume = Tool("set_volume", "Makes music louder or quieter.", {"properties": {"level": {"type": "integer"}}})
    assert told_apart([pause, volume]) == [["pause", "plays"], ["set", "volume", "makes", "louder"]]
    assert told_apart([Tool("turn_on", "Turns it on"), Tool("turn_off", "Turns it off")]) == [["on"], ["off"]]
    assert told_apart([Tool("a", "same"), Tool("b", "same")])[1] == ["b"]


def either(tiny_tools: Path) -> Runtime:
    return edgeret.from_tools(LIGHTS, base=tiny_tools)


def test_an_assistant_can_ask_back(tiny_tools: Path) -> None:
    runtime = either(tiny_tools)
    decision = runtime.task("the letter").next(min_probability=0.0)
    first, second = decision.alternatives
    assert {first.tool, second.tool} == {"open_letter", "close_letter"}
    assert {first.distinction, second.distinction} == {"open", "close"}
    assert first.probability >= second.probability > 0 and first.example is None
    assert decision.to_dict()["alternatives"][0] == {
        "tool": first.tool,
        "probability": first.probability,
        "distinction": first.distinction,
        "example": None,
    }
    assert runtime.task("play music").next(min_probability=0.0).alternatives == ()


def test_as_many_alternatives_however_many_candidates_are_listed(tiny_tools: Path) -> None:
    task = either(tiny_tools).task("the letter")
    assert task.next(k=1).alternatives == task.next(k=None).alternatives != ()


def test_a_demonstrated_wording_stands_beside_them(tiny_tools: Path) -> None:
    runtime = either(tiny_tools)
    shown = [("close", "close_letter"), ("please close the letter of the meeting", "close_letter")]
    shown += [("close the letter", "close_letter"), ("open the letter", "open_letter")]
    runtime.learn([Demonstration(str(i), query, (Call(tool),)) for i, (query, tool) in enumerate(shown)])
    found = {one.tool: one.example for one in runtime.task("open close").next(min_probability=0.0).alternatives}
    assert found == {"open_letter": "open the letter", "close_letter": "close the letter"}


def test_nobody_pays_for_alternatives_that_nobody_reads(tiny_tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int | None] = []

    def counting(*given: Any) -> tuple[Candidate, ...]:
        calls.append(given[4])
        return ranked(*given)

    monkeypatch.setattr("edgeret_export.reference.request.ranked", counting)
    monkeypatch.setattr("edgeret.runtime.asked.ranked", counting)
    decision = either(tiny_tools).task("the letter").next(min_probability=0.0)
    assert calls == []
    assert decision.alternatives is decision.alternatives
    assert len(calls) == 1


def test_they_go_with_a_decision_that_is_sent(tiny_tools: Path) -> None:
    decision = either(tiny_tools).task("the letter").next(min_probability=0.0)
    sent = pickle.loads(pickle.dumps(decision))  # noqa: S301
    assert sent == decision and sent.alternatives == decision.alternatives != ()
    with pytest.raises(edgeret.InputError, match="was copied or sent; explain the one that"):
        sent.explain()
