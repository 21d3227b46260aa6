"""The live tool set: as tools come, change and go; and what it is taught."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from edgeret.adapters.mcp import catalogue as module
from edgeret.adapters.mcp.catalogue import Catalogue
from edgeret.adapters.mcp.definitions import Definition, accepted

CALENDAR = {"type": "object", "properties": {"calendar_id": {"type": "string"}}, "required": ["calendar_id"]}


def defined(*names: str, server: str = "a", description: str = "") -> dict[str, Definition]:
    listed = [{"name": name, "description": description or name, "inputSchema": {}} for name in names]
    return accepted(server, server, listed, print)


def updated(catalogue: Catalogue, tools: dict[str, Definition]) -> int:
    rounds = 1
    while catalogue.update(tools):
        rounds += 1
    return rounds


def test_tools_come_change_and_go(tiny: Path) -> None:
    catalogue = Catalogue(tiny, None)
    assert catalogue.rank("write a note", 5) == {}
    assert catalogue.likely("write a note", [], 5) == []
    updated(catalogue, defined("write_note", "send_mail"))
    assert sorted(catalogue.rank("write a note", 5)) == ["a__send_mail", "a__write_note"]
    updated(catalogue, defined("send_mail", "play_music"))
    assert "a__write_note" not in catalogue.rank("write a note", 5)
    other = defined("send_mail", "play_music", description="write note")
    updated(catalogue, other)
    assert catalogue.definitions == other
    updated(catalogue, {})
    assert catalogue.find("write a note", 5) == {} and catalogue.definitions == {}
    updated(catalogue, defined("write_note"))
    assert list(catalogue.rank("write a note", 5)) == ["a__write_note"]


def test_a_server_of_very_many_does_not_hold_up_one_of_few(tiny: Path) -> None:
    catalogue = Catalogue(tiny, None)
    many = defined(*(f"tool_{i}" for i in range(2 * module.AT_ONCE)), server="many")
    assert catalogue.update({**many, **defined("write_note")})
    assert "a__write_note" in catalogue.definitions and len(catalogue.definitions) == module.AT_ONCE
    assert updated(catalogue, {**many, **defined("write_note")}) == 2
    assert len(catalogue.definitions) == len(many) + 1


def test_the_next_tool_is_ranked_after_the_calls_so_far_whatever_they_were(tiny: Path) -> None:
    catalogue = Catalogue(tiny, None)
    updated(catalogue, defined("find_file", "send_mail", "write_note"))
    assert len(catalogue.likely("find my file and send a mail", ["a__find_file", "gone__tool"], 2)) == 2


@pytest.mark.real
def test_what_worked_once_is_found_among_the_first_afterwards(real: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.overlay"
    catalogue = Catalogue(real, kept)
    tools = defined("send_mail", "print_file", "room_report_defect", "order_taxi", "canteen_menu")
    updated(catalogue, tools)
    query = "the thing in the corner smells funny"
    unlikely = list(catalogue.rank(query, 5))[3]
    others = {
        text: list(catalogue.find(text, 1)) for text in ("what's for lunch", "write an email to Jo", "get me a cab")
    }
    catalogue.learn(query, unlikely)
    again = Catalogue(real, kept)
    updated(again, tools)
    assert unlikely in again.find(query, 2)
    assert unlikely in again.find("that thing in the corner smells really funny", 2)
    assert {text: list(again.find(text, 1)) for text in others} == others


def test_what_the_tools_found_need_is_told_with_the_tool_that_needs_it(tiny: Path) -> None:
    listed = [
        {"name": "book_meeting", "description": "book a meeting", "inputSchema": CALENDAR},
        {"name": "list_calendars", "description": "all calendars", "inputSchema": {}},
        {"name": "write_note", "description": "write a note", "inputSchema": {}},
    ]
    catalogue = Catalogue(tiny, None)
    assert catalogue.needed({"a__book_meeting": 1.0}, 5) == {}
    updated(catalogue, accepted("a", "a", listed, print))
    needed = catalogue.needed({"a__book_meeting": 0.8, "a__write_note": 0.1, "a__gone": 0.1}, 5)
    assert needed == {"a__list_calendars": (pytest.approx(0.72), "a__book_meeting")}
    assert catalogue.needed({"a__book_meeting": 0.8, "a__list_calendars": 0.1}, 5) == {}
    assert catalogue.needed({"a__write_note": 0.9, "a__book_meeting": 0.1}, 5) == {}
    assert catalogue.needed({"a__book_meeting": 0.8}, 0) == catalogue.needed({}, 5) == {}
