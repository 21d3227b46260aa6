"""What calls need first, worked by hand: keys, logins, states, chains, circles, hubs; and searches that tell it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import edgeret
from edgeret import InputError, Runtime, Tool
from edgeret.inputs.needs import facts_of
from edgeret.runtime.needs import FLOOR, MOST_NEEDS, Needs, with_needed
from edgeret.types import Hit, Need


def tool(name: str, description: str = "", *required: str, optional: Sequence[str] = (), **told: str) -> Tool:
    properties: dict[str, Any] = {
        key: {"type": "string", "description": told.get(key, "")} for key in (*required, *optional)
    }
    return Tool(name, description, {"type": "object", "properties": properties, "required": list(required)})


def needed(tools: Sequence[Tool], name: str) -> dict[str, str]:
    return {need.tool: need.needed_for for need in Needs(tools).of(name)}


HOUSE = [
    tool("set_thermostat", "Sets a room's temperature.", "room_id", "degrees"),
    tool("list_rooms", "Lists the rooms of the house."),
    tool("play_song", "Plays a song.", "title"),
]
PHONE = [
    tool("send_email", "Sends a mail.", "to", "subject"),
    tool("find_contact", "Looks up a person's address.", "name"),
    tool("get_current_location", "Tells where the device is. Requires GPS to be on."),
    tool("set_gps_status", "Turns GPS on or off.", "on"),
    tool("get_gps_status", "Tells whether GPS is on."),
    tool("find_parking", "Finds places to park.", "location"),
    tool("add_numbers", "Adds two numbers.", "first", "second"),
]


def test_a_key_needs_the_tool_that_lists_what_it_belongs_to() -> None:
    assert needed(HOUSE, "set_thermostat") == {"list_rooms": "set_thermostat"}
    assert needed(HOUSE, "play_song") == needed(HOUSE, "list_rooms") == {}


def test_a_mail_needs_its_recipients_contact() -> None:
    assert needed(PHONE, "send_email") == {"find_contact": "send_email"}


def test_a_chain_says_at_each_link_for_which_tool_it_is() -> None:
    found = needed(PHONE, "find_parking")
    assert found["get_current_location"] == "find_parking"
    assert found["set_gps_status"] == found["get_gps_status"] == "get_current_location"
    sure = [need.sureness for need in Needs(PHONE).of("find_parking")]
    assert sure == sorted(sure, reverse=True) and FLOOR <= sure[-1] < sure[0] <= 1
    assert needed(PHONE, "add_numbers") == {}


def test_what_is_named_comes_first_unless_the_words_say_that_it_does_not() -> None:
    tools = [
        tool("open-door", "Opens a door.", "code", code="the code, from make-code"),
        tool("make-code", "Makes a code. Call this before open-door, or use ask-guard."),
        tool("ask-guard", "Asks the guard."),
    ]
    assert needed(tools, "open-door") == {"make-code": "open-door"}
    assert needed(tools, "make-code") == {}


def test_a_session_needs_its_own_login_alone() -> None:
    tools = [
        *(tool(f"{shop}_login", "Logs the user in.", "password") for shop in ("acme", "corner")),
        *(tool(f"{shop}_order", "Orders something.", "session_id") for shop in ("acme", "corner")),
        tool("next_page", "Turns the page.", "page_token"),
    ]
    assert list(needed(tools, "acme_order")) == ["acme_login"]
    assert list(needed(tools, "corner_order")) == ["corner_login"]
    assert needed(tools, "next_page") == {}
    one = [tool("sign_in", "Signs in.", "password"), tool("read_inbox", "Reads mail.", "access_token")]
    assert list(needed(one, "read_inbox")) == ["sign_in"]


def test_other_servers_know_nothing_of_a_key() -> None:
    tools = [
        tool("git__close_issue", "Closes an issue.", "issue_id"),
        tool("git__list_issues", "Lists issues."),
        tool("press__list_issues", "Lists a newspaper's issues."),
        tool("git__merge", "Merges.", "branch", branch="as git__list_branches gives it"),
        tool("git__list_branches", "Lists branches."),
        tool("git__rebase", "Rebases.", "branch", branch="as list_branches gives it"),
    ]
    assert list(needed(tools, "git__close_issue")) == ["git__list_issues"]
    assert list(needed(tools, "git__merge")) == list(needed(tools, "git__rebase")) == ["git__list_branches"]


def test_what_reaches_out_needs_one_network_and_what_does_not_needs_none() -> None:
    networks = [tool(f"set_{kind}_status", f"Enables or disables {kind}.", "on") for kind in ("cellular", "wifi")]
    tools = [*networks, tool("read_website", "Shows a page.", "url"), tool("set_screen", "Sets it.", "colour")]
    assert list(needed(tools, "read_website")) == ["set_wifi_status"]
    assert needed(tools, "set_screen") == {}
    assert needed(tools, "set_wifi_status") == {}


def test_what_turns_something_off_is_not_needed() -> None:
    tools = [tool("play", "Plays. Needs bluetooth."), tool("disable_bluetooth", ""), tool("enable_bluetooth", "")]
    assert list(needed(tools, "play")) == ["enable_bluetooth"]


def test_circles_end_and_no_tool_needs_itself() -> None:
    tools = [
        tool("get_order", "Gets an order.", "customer_id"),
        tool("get_customer", "Gets a customer.", "order_id"),
        tool("get_user", "Gets a user.", "user_id"),
    ]
    assert list(needed(tools, "get_order")) == ["get_customer"]
    assert list(needed(tools, "get_customer")) == ["get_order"]
    assert needed(tools, "get_user") == {}


def test_what_must_be_given_a_value_gives_nothing_new() -> None:
    tools = [tool("delete_file", "Deletes.", "file_id"), tool("get_file", "Shows a file.", "file_id")]
    assert needed(tools, "delete_file") == {}
    assert list(needed([*tools, tool("list_files", "Lists files.")], "delete_file")) == ["list_files"]


def test_a_value_is_made_only_where_nothing_finds_it() -> None:
    tools = [tool("play_list", "Plays it.", "playlist_id"), tool("create_playlist", "Makes one.", "title")]
    assert list(needed(tools, "play_list")) == ["create_playlist"]
    assert list(needed([*tools, tool("find_playlist", "Finds one.", "title")], "play_list")) == ["find_playlist"]


def test_where_anything_would_do_nobody_knows_what_is_meant() -> None:
    hub = [tool(f"get_x_{i}", "Gets x.", "x_id") for i in range(3)]
    hub += [tool(f"find_x_{i}", "Finds x.") for i in range(20)]
    needs = Needs(hub)
    assert all(needs.of(each.name) == () for each in hub)


def test_needs_are_few_where_each_tool_names_all_others() -> None:
    names = [f"tool_{i}" for i in range(200)]
    tools = [tool(name, " ".join(f"from {other}" for other in names)) for name in names]
    assert len(Needs(tools).of("tool_0")) == MOST_NEEDS


def test_five_thousand_tools_are_read_once_and_keep_no_pairs() -> None:
    # Each takes and gives the same: 25 million pairs, were they made.
    tools = [tool(f"get_x_{i}", "Gets x, enables or disables x mode.", "x_id", "session_token") for i in range(5000)]
    tracemalloc.start()
    needs = Needs(tools)
    told, (kept, _) = needs.of("get_x_7"), tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert told == () and kept < 32_000_000


def test_odd_schemas_say_nothing() -> None:
    for parameters in ({}, {"properties": 3}, {"properties": {"a_id": 3}, "required": 3}, {"properties": {"": {}}}):
        assert Needs([Tool("get_a", "", parameters), Tool("", "")]).of("get_a") == ()
    deep: dict[str, Any] = {}
    for _ in range(50):
        deep = {"properties": {"a": deep, "room_id": {"type": "string"}}, "required": ["a", "room_id"]}
    assert needed([Tool("dim", "", deep), *HOUSE], "dim") == {"list_rooms": "dim"}
    assert len(facts_of(Tool("dim", "", deep)).keys) == 3  # that many levels


def hits(**shares: float) -> list[Hit]:
    return [Hit(name, 0.5, share) for name, share in shares.items()]


def test_a_needed_tool_stands_behind_what_is_likelier_and_is_marked() -> None:
    needs = Needs(HOUSE)
    told = with_needed(hits(set_thermostat=0.6, play_song=0.3), needs, lambda _: 0.25)
    assert [hit.tool for hit in told] == ["set_thermostat", "list_rooms", "play_song"]
    assert told[1] == Hit("list_rooms", 0.25, pytest.approx(0.54), "set_thermostat")
    assert told[0].needed_for is told[2].needed_for is None
    assert "needed_for" not in told[0].to_dict() and told[1].to_dict()["needed_for"] == "set_thermostat"


def test_a_tool_that_was_found_too_moves_up_and_one_that_is_likelier_stays() -> None:
    needs = Needs(HOUSE)
    told = with_needed(hits(set_thermostat=0.6, play_song=0.3, list_rooms=0.1), needs, lambda _: 0.0)
    assert [(hit.tool, hit.needed_for) for hit in told][1] == ("list_rooms", "set_thermostat") and len(told) == 3
    assert told[1].similarity == 0.5
    likelier = hits(list_rooms=0.7, set_thermostat=0.3)
    assert with_needed(likelier, needs, lambda _: 0.0) == likelier


def test_unlikely_hits_bring_nothing_and_ranks_do_where_there_are_no_shares() -> None:
    needs = Needs(HOUSE)
    unlikely = hits(play_song=0.9, set_thermostat=0.1)
    assert with_needed(unlikely, needs, lambda _: 0.0) == unlikely
    told = with_needed([Hit("play_song", 0.5), Hit("set_thermostat", 0.4)], needs, lambda _: 0.0)
    assert told[2] == Hit("list_rooms", 0.0, None, "set_thermostat")
    assert with_needed([], needs, lambda _: 0.0) == []


TOOLS = [
    tool("book_meeting", "book a meeting", "calendar_id"),
    tool("find_calendar", "find the calendar"),
    tool("send_mail", "send a mail"),
    tool("write_note", "write a note"),
]


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.from_tools(TOOLS, base=tiny_original)


@pytest.mark.parametrize("strategy", ["auto", "hybrid", "description", "clauses", "re-invoke"])
def test_only_a_search_that_asks_is_another_one(runtime: Runtime, strategy: str) -> None:
    plain = runtime.search("book a meeting", 1, strategy=strategy)
    told = runtime.search("book a meeting", 1, strategy=strategy, needed=True)
    assert [hit.tool for hit in plain] == ["book_meeting"] and plain[0].needed_for is None
    assert [hit.tool for hit in told] == ["book_meeting", "find_calendar"]
    assert told[0] == plain[0] and told[1].needed_for == "book_meeting"
    everything = {hit.tool: hit for hit in runtime.search("book a meeting", 4, strategy="description")}
    assert told[1].similarity == pytest.approx(everything["find_calendar"].similarity, abs=1e-5)
    assert runtime.search("book a meeting", 1, strategy=strategy) == plain
    assert runtime.search("send mail", 1, needed=True) == runtime.search("send mail", 1)


def test_a_search_that_never_asks_reads_nothing_for_it(tiny_original: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeret.runtime.needs.Needs", lambda _: pytest.fail("read"))
    runtime = edgeret.from_tools(TOOLS, base=tiny_original)
    assert runtime.search("book a meeting", 2) and runtime.task("book a meeting").next()


def test_needs_follow_tools_that_come_and_go(runtime: Runtime) -> None:
    assert runtime.needs("book_meeting") == (Need("find_calendar", "book_meeting", pytest.approx(0.9)),)
    assert runtime.with_tools(remove=["find_calendar"]).needs("book_meeting") == ()
    more = runtime.with_tools(add=[tool("share_calendar", "share it", "calendar_id")])
    assert [need.tool for need in more.needs("share_calendar")] == ["find_calendar"]


def test_wrong_input_is_told(runtime: Runtime) -> None:
    with pytest.raises(InputError, match="needed must be True or False, found int"):
        runtime.search("book", needed=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match='unknown tool "book_meting"'):
        runtime.needs("book_meting")
