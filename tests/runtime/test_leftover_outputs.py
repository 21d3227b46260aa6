"""Outputs that nobody took: a text that nobody dictated takes them, and what is no text is left alone."""

from __future__ import annotations

import pytest
from argument_tools import ALL, MESSAGE, TEXT, read, tool

from edgeret import Call, Tool

NOTE = tool("read_note", "Opens a note of the notebook. Returns its whole text.", note=TEXT)
PDF = tool("convert_to_pdf", "Converts a document. Returns the path of the PDF.", file=TEXT)
PHONE = tool("get_phone", "Looks a person up. Returns the person's phone number.", about=TEXT)
BOOK = tool("book_room", "Books a room. Returns the id of the booking.", room=TEXT)
FILE = tool("find_file", "Finds a file. Returns the path of the file.", about=TEXT)
SEND = tool("send_file", "Sends a file.", file={"type": "string", "description": "Path of the file to send."})
FIND = tool("find_booking", "Looks up a booking.", topic={"type": "string", "description": "Words of the booking."})
QUERY = "let Ana know what my garden note says"


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tools beside the others."""
    for one in (NOTE, PDF, PHONE, BOOK, FIND, FILE, SEND):
        monkeypatch.setitem(ALL, one.name, one)


def test_a_text_that_nobody_dictated_is_what_was_looked_up() -> None:
    assert read(MESSAGE, QUERY, [Call("read_note", {"note": "garden"})]) == {"person": "Ana", "text": "$out_1"}


def test_it_is_the_latest_output_that_is_there_to_be_read() -> None:
    calls = [
        Call("read_note", {"note": "garden"}),
        Call("read_note", {"note": "shed"}),
        Call("convert_to_pdf", {"file": "a.odt"}),
    ]
    assert read(MESSAGE, QUERY, calls)["text"] == "$out_2"


def test_a_file_that_another_was_made_of_is_taken_no_more() -> None:
    found, asked = Call("find_file", {"about": "plan"}), "find the plan, work on it and send it"
    assert read(SEND, asked, [found, Call("convert_to_pdf", {"file": "$out_1"})])["file"] == "$out_2"
    assert read(SEND, asked, [found, Call("read_note", {"note": "$out_1"})])["file"] == "$out_1"


def test_an_output_is_taken_once() -> None:
    calls = [Call("read_note", {"note": "garden"}), Call("message_person", {"person": "Ana", "text": "$out_1"})]
    assert read(MESSAGE, QUERY, calls).get("text") != "$out_1"


def test_one_parameter_takes_one_the_required_one_if_there_is_any() -> None:
    calls = [Call("read_note", {"note": "garden"}), Call("read_note", {"note": "shed"})]
    for needed, given in (
        (["text"], {"text": "$out_2"}),
        (["body", "text"], {"body": "$out_2"}),
        ([], {"body": "$out_2"}),
    ):
        entry = tool("keep_entry", "Keeps an entry.", needed, body=TEXT, text=TEXT)
        assert {name: one for name, one in read(entry, "keep that", calls).items() if one.startswith("$")} == given


def test_what_was_dictated_goes_before_it() -> None:
    calls = [Call("read_note", {"note": "garden"})]
    assert read(MESSAGE, 'message Ana "the gate is open"', calls)["text"] == "the gate is open"


@pytest.mark.parametrize("giver", [PDF, BOOK], ids=lambda one: one.name)
def test_a_path_and_an_id_are_no_text(giver: Tool) -> None:
    assert read(MESSAGE, QUERY, [Call(giver.name, {})]).get("text") != "$out_1"


def test_what_is_told_of_a_person_is_not_the_name() -> None:
    assert read(MESSAGE, "and the other one", [Call("get_phone", {"about": "Ana"})]).get("person") != "$out_1"


def test_an_id_is_no_topic() -> None:
    assert read(FIND, "and then", [Call("book_room", {"room": "Oslo"})]) == {}
