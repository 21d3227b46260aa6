"""MCP logs: whose words a request is, calls that overlap, sessions side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transcript_samples import command, reasons, run, write


def asked(identifier: Any, name: str, arguments: Any = None, **beside: Any) -> dict[str, Any]:
    parameters = {"name": name, "arguments": arguments or {}}
    message = {"jsonrpc": "2.0", "id": identifier, "method": "tools/call", "params": parameters}
    return {**beside, "message": message}


def answered(identifier: Any, text: str = "ok", failed: bool = False, **beside: Any) -> dict[str, Any]:
    result = {"content": [{"type": "text", "text": text}], "isError": failed}
    return {**beside, "message": {"jsonrpc": "2.0", "id": identifier, "result": result}}


def test_calls_through_a_tool_that_calls_are_the_tools_own(tmp_path: Path) -> None:
    call = asked(2, "call_tool", {"name": "mail", "arguments": {"to": "Ana"}})
    path = write(tmp_path / "log.jsonl", asked(1, "find_tools", {"query": "Mail Ana"}), answered(1), call, answered(2))
    (found,), _ = run(tmp_path, path)
    assert (found.query, found.calls[0].tool, found.calls[0].arguments) == ("Mail Ana", "mail", {"to": "Ana"})


def test_a_request_beside_the_message_needs_no_tool_that_finds(tmp_path: Path) -> None:
    lines = [asked(1, "mail", query="Mail Ana"), answered(1), asked("b", "note", query="Take a note"), answered("b")]
    found, _ = run(tmp_path, write(tmp_path / "log.jsonl", *lines))
    assert [(each.query, each.calls[0].tool) for each in found] == [("Mail Ana", "mail"), ("Take a note", "note")]


def test_calls_that_overlap_are_linked_to_what_had_returned(tmp_path: Path) -> None:
    lines = [
        asked(1, "a", query="Do it all at once"),
        asked(2, "b"),
        answered(1),
        asked(3, "c"),
        answered(3),
        answered(2),
    ]
    (found,), _ = run(tmp_path, write(tmp_path / "log.jsonl", *lines))
    assert ([call.tool for call in found.calls], found.links) == (["a", "b", "c"], ((0, 2),))


def test_sessions_with_the_same_ids_are_kept_apart(tmp_path: Path) -> None:
    lines = [
        asked(1, "a", query="First thing", session="x"),
        asked(1, "b", query="Second thing", session="y"),
        answered(1, failed=True, session="x"),
        answered(1, session="y"),
        asked(2, "late", query="Third thing", session="x"),
    ]
    (found,), report = run(tmp_path, write(tmp_path / "log.jsonl", *lines))
    assert (found.query, found.calls[0].tool) == ("Second thing", "b")
    assert reasons(report) == {"failed": 2, "every call failed": 2}


def test_calls_that_nobody_asked_for_are_counted(tmp_path: Path) -> None:
    lines = [asked(1, "a"), answered(1), asked(2, "b", query="Play jazz"), answered(2)]
    found, report = run(tmp_path, write(tmp_path / "log.jsonl", *lines))
    assert len(found) == 1
    assert reasons(report) == {'before any request; log what the user wanted as "query"': 1}


def test_ways_to_tools_are_no_tools(tmp_path: Path) -> None:
    tools = [{"name": name, "description": "It does."} for name in ("find_tools", "call_tool", "play")]
    listing = {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}
    lines = [
        listing,
        {"jsonrpc": "2.0", "id": 9, "result": {"tools": tools}},
        asked(2, "play", query="Play"),
        answered(2),
    ]
    path = write(tmp_path / "log.jsonl", *lines)
    assert command(path, "-o", tmp_path / "d", "--tools-out", tmp_path / "t") == 0
    assert [json.loads(line)["name"] for line in (tmp_path / "t").read_text().splitlines()] == ["play"]


def test_of_several_texts_that_were_searched_for_the_first_is_the_users(tmp_path: Path) -> None:
    call = asked(2, "call_tool", {"name": "mail", "arguments": {"to": "Ana"}})
    for given in ({"queries": ["Mail Ana", "send an email"]}, {"query": "Mail Ana", "queries": ["send an email"]}):
        path = write(tmp_path / "log.jsonl", asked(1, "find_tools", given), answered(1), call, answered(2))
        (found,), _ = run(tmp_path, path)
        assert (found.query, found.calls[0].tool) == ("Mail Ana", "mail")
