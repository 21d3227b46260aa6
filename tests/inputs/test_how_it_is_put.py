"""How a request is put: questions, what is known, and what has nothing to give to a tool."""

from __future__ import annotations

import pytest

from edgeret.types import Tool
from edgeret_export.reference.inputs.asking import asks_for_knowledge, asks_question, is_bare, only_asks
from edgeret_export.reference.inputs.changing import changes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("why is the sky blue", True),
        ('  "Who won?"', True),
        ("How do I get home", True),
        ("Tell me who won", False),
        ("Whatever, lock the door", False),
        ("turn on the lights", False),
        ("", False),
    ],
)
def test_a_question_begins_with_a_question_word(text: str, expected: bool) -> None:
    assert asks_question(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Why not", True),
        ("tell me how to boil an egg", True),
        ("What's an overdraft", True),
        ("what\u2019s an overdraft", True),
        ("and WHAT  ARE fees", True),
        ("explain recursion", True),
        ("who was Ada Lovelace", True),
        ("how many lights are on", False),
        ("show the whole list", False),
        ("what time does it start", False),
    ],
)
def test_knowledge_is_asked_for_anywhere(text: str, expected: bool) -> None:
    assert asks_for_knowledge(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write a poem about autumn", True),
        ("wait 5 minutes", False),
        ("play \u201chello\u201d", False),
        ('say "hello"', False),
        ("call Ana", False),
        ("say it, Ana", False),
        ("HELLO", True),
        ("I like Berlin", False),
        ("今天天气", True),
    ],
)
def test_bare_is_what_has_no_number_no_quotation_and_no_name(text: str, expected: bool) -> None:
    assert is_bare(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("is the front door locked", True),
        ("any windows open upstairs?", True),
        ("Where is the parcel? Has it left Graz yet?", True),
        ("front door locked?", True),
        ('"how warm is it?"', True),
        ("could you lock the front door?", False),
        ("Is it cold? Then turn up the heating.", False),
        ("please, what is left to do", False),
        ("book a table for two?", False),
        ("lock the front door", False),
        ("Do the dishes", False),
        ("steht das Garagentor auf", True),
        ("Kannst du das Garagentor öffnen?", False),
        ("Setz einen Tag auf den Commit, ja?", False),
        ("y a-t-il du lait ?", True),
        ("tu peux fermer les volets ?", False),
        ("¿Hay gas en la cocina?", True),
        ("¿me puedes abrir la puerta?", False),
        ("客厅现在多少度", True),
        ("能不能把灯关了？", False),
        ("", False),
        ("?", False),
    ],
)
def test_who_only_asks_demands_nothing(text: str, expected: bool) -> None:
    assert only_asks(text) is expected


@pytest.mark.parametrize(
    ("name", "description", "expected"),
    [
        ("get_state", "", False),
        ("getOrderStatus", "", False),
        ("set-alarm", "", True),
        ("HassTurnOn", "Turns on/opens a device or entity", True),
        ("HassListAddItem", "Adds an item to a todo list", True),
        ("HassTimerStatus", "Reports on the current status of timers", False),
        ("media.next", "Skip to the next title.", True),
        ("weather", "The weather of a place.", False),
        ("translation", "", False),
        ("", "", False),
        ("天气", "查询天气", False),
    ],
)
def test_a_tool_changes_what_its_first_verb_says(name: str, description: str, expected: bool) -> None:
    assert changes(Tool(name, description)) is expected


def test_one_question_among_20_000_signs_is_read_in_part() -> None:
    assert only_asks("is it on? " * 2000)
    assert not only_asks("is it on? " * 20 + "please turn it off. " + "is it on? " * 2000)
