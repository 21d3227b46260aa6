"""On which side of "on" and "off" a request is, and what a tool does."""

from __future__ import annotations

import pytest

from edgeret.types import Tool
from edgeret_export.reference.inputs.opposites import NOTHING, PAIRS, side_of, told, tool_sides


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("switch the bedroom lamp off", "off"),
        ("turn the radio on", "on"),
        ("lights on", "on"),
        ("quieter please", "down"),
        ("don't pause, we are dancing", "play"),
        ("mark it as not read yet", "unread"),
        ("strike the oat milk", "remove"),
    ],
)
def test_a_request_is_on_a_side(query: str, word: str) -> None:
    assert told(query).sides == {side_of(word)}


@pytest.mark.parametrize("query", ["what is on the menu on Friday", "tick it off", "how far is it", "", "!!", "1 2 3"])
def test_most_requests_say_nothing_of_opposites(query: str) -> None:
    assert told(query) == NOTHING


def test_words_for_somebody_else_are_no_wish() -> None:
    found = told("tell Mia to unlock the shed")
    assert not found.sides
    assert {"unlock", "shed"} <= found.quoted


def test_no_word_is_on_two_sides() -> None:
    words = [word for pair in PAIRS for side in pair for word in side.split()]
    assert len(words) == len(set(words))
    assert all(side_of(word) >> 1 == number for number, pair in enumerate(PAIRS) for word in pair[0].split())


def test_a_tool_is_where_its_name_says_and_takes_what_its_values_say() -> None:
    volume = {"properties": {"direction": {"enum": ["up", "down"]}, "room": {"enum": 3}, "odd": None}}
    assert tool_sides(Tool("unlock_door", "Opens a lock.")).named == {side_of("unlock")}
    assert tool_sides(Tool("unlock_door", "")).beside == {"door"}
    assert {side_of("up"), side_of("down")} <= tool_sides(Tool("volume", "Sets it.", volume)).taken
    assert not tool_sides(Tool("x", "", {"properties": 5})).taken
