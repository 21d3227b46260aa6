"""What a model writes to search: one text or several, in all the ways that models write."""

from __future__ import annotations

from typing import Any

import pytest

from edgeret import InputError
from edgeret.adapters.asked import asked, usable

FIVE = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ({"query": "a"}, ["a"]),
        ({"queries": ["a"]}, ["a"]),
        ({"queries": ["a", "b"]}, ["a", "b"]),
        ({"query": "a", "queries": ["b", "c"]}, ["a", "b", "c"]),
        ({"query": "", "queries": ["b"]}, ["b"]),
        ({"query": None, "queries": ["b"]}, ["b"]),
        ({"query": "a", "queries": []}, ["a"]),
        ({"query": "a", "queries": None}, ["a"]),
        ({"queries": "a"}, ["a"]),
        ({"queries": '["a", "b"]'}, ["a", "b"]),
        ({"queries": "[a] b"}, ["[a] b"]),
        ({"queries": ["a \ud800"], "k": 3}, ["a ?"]),
    ],
    ids=str,
)
def test_one_text_or_several_in_whatever_form(given: Any, texts: list[str]) -> None:
    assert asked(given) == texts == usable(given)


@pytest.mark.parametrize(
    ("given", "says", "left"),
    [
        ({}, "no words to search for", []),
        (None, "no words to search for", []),
        ("a", "no words to search for", []),
        ({"queries": []}, "no words to search for", []),
        ({"query": ""}, "an empty text among the queries", []),
        ({"queries": ["a", " "]}, "an empty text among the queries", ["a"]),
        ({"queries": ["a", 7, "b"]}, "something that is no text among the queries", ["a", "b"]),
        ({"query": ["a"]}, "something that is no text", []),
        ({"queries": {"a": "b"}}, "something that is no text", []),
        ({"queries": "[" * 100_000}, None, None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_none_is_answered_with_the_form(given: Any, says: str | None, left: list[str] | None) -> None:
    if says is None:
        assert len(asked(given)) == 1
        return
    with pytest.raises(InputError, match=says) as caught:
        asked(given)
    assert '"queries": [one to 4 texts]' in str(caught.value) and 'one text as "query"' in str(caught.value)
    assert usable(given) == left


def test_where_nothing_can_be_told_the_first_four_are_searched_for() -> None:
    assert usable({"queries": FIVE}) == FIVE[:4]
    assert len(usable({"query": "x" * 100_000})[0]) <= 20_000
