"""Kinds of values that requests hold, and that tools take."""

from __future__ import annotations

import pytest

from edgeret import Tool
from edgeret_export.reference.inputs.values import KINDS, MOST_CHARS, values_in, values_taken

HELD = {
    "read https://example.org/blog/post-12": "url",
    "what is on example.com": "url",
    "mail ana@example.org": "email",
    "open ~/code/shop": "path",
    "show notes.txt": "path",
    "what's new in #general": "channel",
    "pay DE44 5001 0517 5407 3249 31": "iban phone number",
    "send $20": "money number",
    "schick 20 Euro": "money number",
    "wake me at 7am": "time",
    "Wecker auf 7 Uhr": "time number",
    "réveille-moi à 7 h": "time number",
    "明天 9点": "time date",
    "what's on tomorrow": "date",
    "was ist am Dienstag los": "date",
    "qué hay el viernes": "date",
    "in 2026-12-01": "date",
    "timer for 20 minutes": "duration number",
    "Timer für zehn Minuten": "duration",
    "call 0123 456 789": "phone number",
    'write "see you"': "quoted",
    "volume to 30%": "number percent",
    "turn on the light": "",
    "I don't know.": "",
    "": "",
    "add a tag": "",
    "😀": "",
}


@pytest.mark.parametrize(("text", "kinds"), HELD.items())
def test_a_text_holds_kinds(text: str, kinds: str) -> None:
    assert " ".join(KINDS[kind] for kind in values_in(text)) == kinds


def taken(properties: object) -> str:
    return " ".join(KINDS[kind] for kind in values_taken(Tool("t", "does it", {"properties": properties})))


def test_a_tool_takes_kinds_by_names_and_formats() -> None:
    assert taken({"websiteUrl": {}, "file_path": {}}) == "url path"
    assert taken({"domain1": {}}) == "url"
    assert taken({"x": {"format": "date-time"}, "y": {"format": ["email"]}, "z": 5}) == "date"
    assert taken({"payload": {}}) == ""
    assert taken(["url"]) == ""


def test_much_text_is_read_to_a_bound() -> None:
    assert values_in("word " * 100_000 + "a@b.org") == ()
    assert values_in("a@b.org " + "word " * MOST_CHARS) == (KINDS.index("email"),)
    assert values_in("1" * 200_000)  # no pattern goes over it again and again
    assert values_in("a-" * 100_000 + "@") == ()
