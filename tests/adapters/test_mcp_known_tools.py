"""Requests that ship for tools of servers that many use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgeret.adapters.mcp import known_tools
from edgeret.adapters.mcp.definitions import accepted
from edgeret.adapters.mcp.known_tools import examples_of
from edgeret.inputs.tool_examples import MAX_EXAMPLE_CHARS, MOST_EXAMPLES

LINES = Path(known_tools.__file__).with_name("known_tools.jsonl").read_text("utf-8").splitlines()


def test_the_file_is_bounded_and_says_nothing_twice() -> None:
    entries = [json.loads(line) for line in LINES]
    assert len({(entry["server"], entry["name"]) for entry in entries}) == len(entries) >= 500
    assert len({entry["server"] for entry in entries}) >= 50
    for entry in entries:
        assert 0 < len(entry["examples"]) <= MOST_EXAMPLES
        assert len(set(entry["examples"])) == len(entry["examples"])
        assert all(said == " ".join(said.split()) and len(said) <= MAX_EXAMPLE_CHARS for said in entry["examples"])


def test_a_tool_is_known_by_its_name_and_parameters() -> None:
    known = examples_of("my_repo", "git_status", ["repo_path"])
    assert known and examples_of("git", "git_status", []) == known
    assert examples_of("my_repo", "git_status", ["wombat", "hue"]) == ()
    assert examples_of("my_repo", "no_such_tool", ["repo_path"]) == ()
    assert examples_of("gitlab", "create_issue", ["title"]) != examples_of("github", "create_issue", ["title"])


def read(**more: Any) -> tuple[str, ...]:
    schema = {"type": "object", "properties": {"repo_path": {"type": "string"}}}
    entry = {"name": "git_status", "description": "Shows the status.", "inputSchema": schema, **more}
    (found,) = accepted("git", "git", [entry], pytest.fail).values()
    return found.searched().examples


def test_what_a_server_shows_itself_counts_alone() -> None:
    assert read() == examples_of("git", "git_status", ["repo_path"])
    assert read(_meta={"examples": ["anything left to commit"]}) == ("anything left to commit",)
    assert read(examples=["say it"] * 3) == ("say it",)


def test_what_a_file_shows_stands_behind_the_server_s_own_and_in_the_place_of_what_is_known() -> None:
    (plain,) = accepted(
        "git", "git", [{"name": "git_status", "description": "Status.", "inputSchema": {}}], pytest.fail
    ).values()
    assert plain.searched({"git_status": ("anything left",)}).examples == ("anything left",)
    assert plain.searched({"git__git_status": ("by name",), "git_status": ("x",)}).examples == ("by name",)
    own = {
        "name": "git_status",
        "description": "Status.",
        "inputSchema": {},
        "examples": [f"own {i}" for i in range(3)],
    }
    (showing,) = accepted("git", "git", [own], pytest.fail).values()
    given = {"git_status": ("own 1", *(f"given {i}" for i in range(4)))}
    assert showing.searched(given).examples == ("own 0", "own 1", "own 2", "given 0", "given 1")
