"""How a request is put: questions, what is known, and what has nothing to give to a tool."""

from __future__ import annotations

import pytest

from edgeret.inputs.asking import asks_for_knowledge, asks_question, is_bare


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
