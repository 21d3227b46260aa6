"""Which clauses of a request ask for something by themselves."""

from __future__ import annotations

import pytest

from edgeret_export.reference.inputs.clauses import MOST_WISHES, parts, split_clauses


def asked(query: str) -> list[str]:
    """What a request asks for one after the other; nothing where that is one thing."""
    cut = parts(query)
    return [query[slice(*cut.spans[number])] for number in cut.wishes]


@pytest.mark.parametrize(
    ("query", "wishes"),
    [
        ("boil water then feed the cat", ["boil water", "feed the cat"]),
        ("we need milk. also remind me to call mum", ["we need milk.", "remind me to call mum"]),
        ("Turn off the lights and play some jazz", ["Turn off the lights", "play some jazz"]),
        ("lights off please. could you lock up the shop too", ["lights off please.", "could you lock up the shop too"]),
        ("how warm is it, and where is the cat", ["how warm is it", "where is the cat"]),
    ],
)
def test_wishes_are_found(query: str, wishes: list[str]) -> None:
    assert asked(query) == wishes


@pytest.mark.parametrize(
    "query",
    [
        "turn off the lights in the kitchen and the hall",
        "remind me to buy milk, eggs and some bread",
        "tell Ana I'm late and that I love her",
        "if it rains, close the windows",
        "I'm bored. Could you find a game for two?",
        "the baby's asleep, keep the speakers low",
        "text, please",
        "",
        "and and and then",
    ],
)
def test_what_only_tells_more_of_a_wish_is_none(query: str) -> None:
    assert asked(query) == []


def test_a_story_is_not_read_wish_by_wish() -> None:
    assert asked(", then ".join(["close the door"] * (MOST_WISHES + 1))) == []


def test_short_clauses_count_only_beside_another_wish() -> None:
    assert [parts(query).least for query in ("boil water", "boil water then feed the cat")] == [3, 2]
    assert split_clauses("boil water then feed the cat") == ["feed the cat"]
