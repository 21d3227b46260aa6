"""Calls whose request does not say what they must be given, made of calls whose request does."""

from __future__ import annotations

import random

import pytest
from pytest import MonkeyPatch

from edgeret import Call, Tool
from edgeret.inputs.demonstrations import Demonstration
from edgeret_export.fitting import argument_unsaid
from edgeret_export.fitting.argument_pool import Step
from edgeret_export.fitting.argument_unsaid import unsaid

TEXT = {"type": "string"}
BOOK = Tool(
    "book",
    "Books a table.",
    {
        "type": "object",
        "properties": {"place": TEXT, "guest": TEXT, "wish": TEXT},
        "required": ["place", "guest"],
    },
)
FIND = Tool("find", "Finds it. Returns the name.", {"type": "object", "properties": {"what": TEXT}})
TOOLS = {"book": BOOK, "find": FIND}


@pytest.fixture(autouse=True)
def each(monkeypatch: MonkeyPatch) -> None:
    """One call of every plan, not of some."""
    monkeypatch.setattr(argument_unsaid, "SHARE", 1.0)


def made(query: str, *calls: Call) -> list[Step]:
    """What comes of one plan, in so many draws that each way of cutting is among them."""
    plan = Demonstration("a", query, calls)
    return [step for seed in range(20) for step in unsaid(TOOLS, [plan], random.Random(seed))]


def test_the_words_of_what_must_be_given_go_and_all_else_stays() -> None:
    given = {"place": "Chez Anna", "guest": "$out_1", "wish": "window"}
    found = made("a table at Chez Anna, window please", Call("find"), Call("book", given))
    assert {query for _, query, _, _ in found} == {"a table at , window please", "a table , window please"}
    for tool, _, before, call in found:
        assert (tool, before, call) == (BOOK, (Call("find"),), Call("book", {"guest": "$out_1", "wish": "window"}))


@pytest.mark.parametrize(
    ("query", "given"),
    [
        ("a table at Chez Anna, the Chez Anna", {"place": "Chez Anna"}),  # still said
        ("a table for two", {"place": "Chez Anna"}),  # never said
        ("Chez Anna", {"place": "Chez Anna"}),  # nothing would be left
        ("a table at Anna's for me", {"place": "Anna's", "wish": "Anna"}),  # another argument loses its words
        ("a window for me", {"wish": "window"}),  # may be left out
    ],
)
def test_no_call_is_made_of(query: str, given: dict[str, str]) -> None:
    assert made(query, Call("book", given)) == []


def test_what_an_earlier_call_took_is_known_without_words() -> None:
    assert (
        made("look for Anna and a table at Anna", Call("find", {"what": "Anna"}), Call("book", {"place": "Anna"})) == []
    )
    assert made("see Anna, book a table", Call("find", {"what": "Anna"}), Call("book", {"place": "Anna"})) == []
