"""Free answers of language models, and the one tool that they name."""

from __future__ import annotations

import pytest

from edgeret.adapters.answers import MOST_CHARS, tool_named

MASK = ["send_mail", "search", "sendMailLater", "play", "find_file", "get.weather"]


@pytest.mark.parametrize(
    ("answer", "tool"),
    [
        ("send_mail", "send_mail"),
        ("Sure! send_mail", "send_mail"),
        ("I'd use `sendMail`.", "send_mail"),
        ("I'll send mail.", "send_mail"),
        ("SEND-MAIL", "send_mail"),
        ("Use send_mail_later here", "sendMailLater"),
        ("search", "search"),
        ("**search**", "search"),
        ("play!", "play"),
        ('search("lease")', "search"),
        ("The best fit is get_weather: it knows the rain.", "get.weather"),
        ('{"name": "send_mail", "arguments": {"name": "Ana"}}', "send_mail"),
        ('```json\n{"tool": "find_file", "argum', "find_file"),
        ('{"tool": "send_mail", "arguments": {"text": "I will not come"}}', "send_mail"),
        ("<tool_call>\n{'name': 'find_file'}", "find_file"),
        ("It is what you'd want: send_mail. It isn't much work.", "send_mail"),
    ],
)
def test_one_tool_is_found_however_it_is_said(answer: str, tool: str) -> None:
    assert tool_named(answer, MASK) == tool


@pytest.mark.parametrize(
    "answer",
    ["", "none", "send_mail or find_file", "I would not use send_mail.", "Let me search for something that fits",
     "You can't do that with send_mail", "`search`, then `play`", '{"tool": "send_mail"} {"tool": "find_file"}',
     "first find_file(x), then send_mail(y)", "delete_everything", "x" * (MOST_CHARS + 1), "(" * 9000, "`" * 9000],
)  # fmt: skip
def test_nothing_is_guessed(answer: str) -> None:
    assert tool_named(answer, MASK) is None


def test_tools_that_differ_in_spelling_alone_are_told_apart_by_it_alone() -> None:
    mask = ["sendMail", "send_mail"]
    assert tool_named("I'd use send_mail", mask) == "send_mail"
    assert tool_named("I'd use Send-Mail", mask) is None
    assert tool_named("send_mail", []) is None
