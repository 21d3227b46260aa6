"""Which of two tools that undo each other a request is for."""

from __future__ import annotations

import numpy as np

from edgeret.types import Tool
from edgeret_export.reference.lexicon import tool_words
from edgeret_export.reference.opposites import Opposites

VALUES = {"properties": {"direction": {"enum": ["up", "down"]}}}
TOOLS = [
    Tool("lock_door", "Locks a door."),
    Tool("unlock_door", "Unlocks a door."),
    Tool("set_volume", "Sets the volume.", VALUES),
    Tool("send_text", "Sends a message."),
    Tool("stop_vacuum", "Stops the vacuum."),
]
OPPOSITES = Opposites([tool_words(tool) for tool in TOOLS])


def told(query: str) -> tuple[list[str], list[str]]:
    """The tools that are against a request, and those that do as it says."""
    found = OPPOSITES(query)
    if found is None:
        return [], []
    return [TOOLS[i].name for i in np.flatnonzero(found[0])], [TOOLS[i].name for i in np.flatnonzero(found[1])]


def test_the_tool_on_the_other_side_loses() -> None:
    assert told("unlock the shed") == (["lock_door"], ["unlock_door"])
    assert told("how far is it") == ([], [])


def test_a_tool_that_takes_a_degree_does_as_is_said() -> None:
    assert told("louder") == ([], ["set_volume"])


def test_a_tool_without_a_counterpart_is_against_nothing() -> None:
    assert "stop_vacuum" not in told("start cleaning")[0]


def test_what_is_not_to_be_done_is_not_done() -> None:
    against, agrees = told("don't lock the door")
    assert against == ["lock_door"] and agrees == ["unlock_door"]
    assert "stop_vacuum" in told("no vacuum please")[1]


def test_what_somebody_is_told_is_a_message() -> None:
    assert told("tell Mia to unlock the door") == (["lock_door", "unlock_door"], ["send_text"])


def test_both_sides_at_once_say_nothing() -> None:
    assert told("lock the shed, unlock the door") == ([], [])
