"""Lists that are read from requests: of plain values, of objects that hold one text, and what joins their items; and
schemas that count what is given."""

from __future__ import annotations

from typing import Any

import pytest
from argument_tools import tool

from edgeret import Call, Tool
from edgeret_export.reference.arguments.filling import fill
from edgeret_export.reference.inputs.parameters import parameters

TITLE = {"type": "string", "description": "Title of the song."}
SONG = {"type": "object", "properties": {"title": TITLE, "artist": {"type": "string"}}, "required": ["title"]}

FINDS = tool("find_songs", "Finds songs. Returns the title of the song.")


def read(items: Any, query: str, calls: tuple[Call, ...] = ()) -> Any:
    of = tool("make", "Makes it.", songs={"type": "array", "description": "Songs in order.", "items": items})
    found = fill(of, query, calls, {of.name: of, FINDS.name: FINDS}).given.get("songs")
    return None if found is None else found.value


def test_a_value_stands_for_an_object_that_needs_no_more() -> None:
    assert read(SONG, 'a list with "Hey Jude" and "Yesterday"') == [{"title": "Hey Jude"}, {"title": "Yesterday"}]
    three = [{"title": title} for title in ("Waterloo", "Vogue", "Kiss")]
    assert read(SONG, "make a list of Waterloo, Vogue and Kiss") == three


@pytest.mark.parametrize(
    "changed",
    [
        {"required": ["title", "artist"]},
        {"required": []},
        {"required": "title"},
        {"required": ["who"]},
        {"properties": {"title": {"type": "integer"}}},
        {"properties": {"title": {"type": "string", "enum": ["a"]}}},
        {"minProperties": 2},
    ],
)
def test_other_objects_are_left_to_a_planner(changed: Any) -> None:
    assert read({**SONG, **changed}, 'a list with "Hey Jude"') is None


def test_an_inner_schema_refuses_as_any_does() -> None:
    strict = {**SONG, "properties": {"title": {"type": "string", "maxLength": 4}}}
    assert {"title": "Hey Jude"} not in (read(strict, 'a list with "Hey Jude"') or [])


def test_an_output_is_no_object() -> None:
    calls = (Call("find_songs", {}),)
    assert read(TITLE, "make it of that", calls) == ["$out_1"]
    assert "$out" not in repr(read(SONG, "make it of that", calls))


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("zip a.png b.png and c.png", ["a.png", "b.png", "c.png"]),
        ("pack a.txt b.txt + c/d.png pls", ["a.txt", "b.txt", "c/d.png"]),
        ("pack notes.txt and img/x.jpg y.pdf", ["notes.txt", "img/x.jpg", "y.pdf"]),
    ],
)
def test_paths_need_nothing_between_them(query: str, paths: list[str]) -> None:
    of = tool("zip", "Packs files.", paths={"type": "array", "items": {"type": "string"}, "description": "Paths."})
    assert fill(of, query, (), {of.name: of}).given["paths"].value == paths


def test_only_such_a_list_has_something_inside() -> None:
    of = tool("make", "Makes it.", songs={"type": "array", "items": SONG}, names={"type": "array", "items": TITLE})
    assert {one.name: one.inside for one in parameters(of)} == {"songs": "title", "names": ""}


@pytest.mark.parametrize(
    ("counts", "query", "given", "asked"),
    [
        ({"minProperties": 1}, "mail it to jo@example.com", {"to": "jo@example.com"}, set()),
        ({"minProperties": 1}, "mail it", {}, {"to"}),
        ({"minProperties": 2}, "mail it to jo@example.com", {}, {"link"}),
        ({"maxProperties": 1}, "mail https://a.example/b to jo@example.com", {}, set()),
        ({"maxProperties": 2}, "mail it to jo@example.com", {"to": "jo@example.com"}, set()),
    ],
)
def test_a_schema_may_count_its_arguments(counts: Any, query: str, given: Any, asked: set[str]) -> None:
    properties = {"to": {"type": "string", "format": "email"}, "link": {"type": "string", "format": "uri"}}
    of = Tool("send_it", "Sends it.", {"type": "object", "properties": properties, **counts})
    found = fill(of, query, (), {of.name: of})
    assert {name: one.value for name, one in found.given.items()} == given
    assert found.missing.keys() == asked
