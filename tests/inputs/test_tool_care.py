"""How careful a tool's definition asks to be, in the places where clients and servers write it."""

from __future__ import annotations

from typing import Any

import pytest

from edgeret.errors import InputError
from edgeret.inputs.tools import read_tool, stored_tool

LOCK = {"name": "lock_door", "description": "Locks the door."}
ASKED = {"risk": 0.01, "confirm": True}


@pytest.mark.parametrize(
    "entry",
    [
        {**LOCK, "edgeret": ASKED},
        {"type": "function", "function": {**LOCK, "edgeret": ASKED}},
        {"type": "function", "edgeret": ASKED, "function": LOCK},
        {**LOCK, "inputSchema": {"type": "object"}, "_meta": {"edgeret": ASKED}},
        {**LOCK, "annotations": {"destructiveHint": False}, "edgeret": ASKED},
    ],
)
def test_it_is_read_wherever_it_stands(entry: dict[str, Any]) -> None:
    tool = read_tool(entry)
    assert (tool.risk, tool.confirm) == (0.01, True)
    assert stored_tool(tool.to_dict(), "here") == tool


def test_what_is_destructive_is_confirmed_unless_the_definition_says_otherwise() -> None:
    destructive = {**LOCK, "annotations": {"destructiveHint": True}}
    assert read_tool(destructive).confirm
    assert not read_tool({**destructive, "edgeret": {"confirm": False}}).confirm
    assert not read_tool({**LOCK, "annotations": {"destructiveHint": "yes"}}).confirm


def test_who_asks_for_nothing_says_nothing() -> None:
    plain = read_tool(LOCK)
    assert set(plain.to_dict()) == {"name", "description", "parameters"}


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"risk": 0}, "must lie between 0.005 and 0.5, found 0"),
        ({"risk": 0.9}, "found 0.9"),
        ({"risk": float("nan")}, "must lie between"),
        ({"risk": "low"}, '"risk" must lie between 0.005 and 0.5, found'),
        ({"risk": True}, '"risk" must lie between'),
        ({"risk": 10**400}, '"risk" must lie between'),
        ({"confirm": "yes"}, '"confirm" must be true or false'),
        ({"confirm": 1}, '"confirm" must be true or false'),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(told: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        read_tool({**LOCK, "edgeret": told})


@pytest.mark.parametrize("told", [None, [], "careful", 3])
def test_what_is_no_object_says_nothing(told: object) -> None:
    assert read_tool({**LOCK, "edgeret": told}).risk is None
