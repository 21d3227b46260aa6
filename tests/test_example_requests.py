"""The requests that encoders were tuned on: readable, one call each, and none that search is measured on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import edgeret
from edgeret.inputs.demonstrations import parse_plan
from edgeret.inputs.jsonl import parse_objects, read_text

EXAMPLES = Path(__file__).parents[1] / "examples"
WRITTEN = EXAMPLES / "requests"
FILES = {"seal-tools.jsonl": 2200, "toolbench.jsonl": 900, "bfcl.jsonl": 900, "mcp-servers/demonstrations.jsonl": 979}
"""Each file's tools."""


def rows(path: Path) -> list[dict[str, Any]]:
    """A file's lines."""
    return [row for _, row in parse_objects(read_text(path, "requests as JSONL"), path)]


def called(row: dict[str, Any]) -> list[str]:
    """The tools that a line calls."""
    return [call.tool for call in parse_plan(row, str(row["id"]))[1]]


def said(path: Path) -> set[str]:
    """The requests of a file, as letters and digits alone."""
    return {re.sub(r"\W+", " ", row["query"].lower()).strip() for row in rows(path)}


@pytest.mark.parametrize("name", FILES)
def test_every_request_is_of_one_tool_and_every_tool_has_some(name: str) -> None:
    found = rows(WRITTEN / name)
    assert len({row["id"] for row in found}) == len(found)
    assert {len(called(row)) for row in found} == {1}
    assert len({called(row)[0] for row in found}) == FILES[name]


def test_tools_of_servers_are_those_that_the_requests_call() -> None:
    tools = edgeret.read_tools(str(WRITTEN / "mcp-servers" / "tools.jsonl"))
    found = rows(WRITTEN / "mcp-servers" / "demonstrations.jsonl")
    assert {tool.name for tool in tools} == {called(row)[0] for row in found}


@pytest.mark.parametrize("measured", ["mcp/requests.jsonl", "desktop/requests.jsonl"])
def test_nothing_is_learned_that_search_is_measured_on(measured: str) -> None:
    written = set().union(*(said(WRITTEN / name) for name in FILES))
    assert not written & said(EXAMPLES / measured)


@pytest.mark.parametrize("language", ["de", "es", "fr", "zh"])
def test_requests_in_other_languages_have_the_plans_of_the_english_ones(language: str) -> None:
    for file in EXAMPLES.glob(f"transfer/*/demonstrations.{language}.jsonl"):
        english = {row["id"]: row for row in rows(file.with_name("demonstrations.jsonl"))}
        for row in rows(file):
            assert called(row) == called(english[row["id"]])
