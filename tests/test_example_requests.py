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
PRODUCTS = sorted(folder.name for folder in WRITTEN.iterdir() if folder.is_dir() and folder.name != "mcp-servers")
"""Invented ones, with requests that need one tool, several or none."""


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


@pytest.mark.parametrize("name", PRODUCTS)
def test_an_invented_product_has_requests_of_each_tool_and_of_none(name: str) -> None:
    tools = edgeret.read_tools(str(WRITTEN / name / "tools.jsonl"))
    found = rows(WRITTEN / name / "demonstrations.jsonl")
    assert len({row["id"] for row in found}) == len({row["query"] for row in found}) == len(found)
    assert {tool for row in found for tool in called(row)} == {tool.name for tool in tools}
    assert any(not row["calls"] for row in found)


@pytest.mark.parametrize("measured", ["mcp/requests.jsonl", "desktop/requests.jsonl"])
def test_nothing_is_learned_that_search_is_measured_on(measured: str) -> None:
    written = set().union(
        *(said(WRITTEN / name) for name in (*FILES, *(f"{p}/demonstrations.jsonl" for p in PRODUCTS)))
    )
    assert not written & said(EXAMPLES / measured)


@pytest.mark.parametrize("language", ["de", "es", "fr", "zh"])
def test_requests_in_other_languages_have_the_plans_of_the_english_ones(language: str) -> None:
    for file in EXAMPLES.glob(f"transfer/*/demonstrations.{language}.jsonl"):
        english = {row["id"]: row for row in rows(file.with_name("demonstrations.jsonl"))}
        for row in rows(file):
            assert called(row) == called(english[row["id"]])


@pytest.mark.parametrize(("language", "most"), [("de", 3000), ("es", 3000), ("fr", 2000), ("zh", 2000)])
def test_what_was_translated_calls_what_the_english_request_does(language: str, most: int) -> None:
    english = {row["id"]: row for name in FILES for row in rows(WRITTEN / name)}
    found = rows(WRITTEN / f"{language}.jsonl")
    assert len({row["id"] for row in found}) == len(found) == most
    assert all(called(row) == called(english[row["id"]]) for row in found)


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "zh"])
def test_home_assistants_tools_have_three_examples_a_language(language: str) -> None:
    found = rows(EXAMPLES / "home-assistant" / f"examples.{language}.jsonl")
    assert len(found) == len({row["name"] for row in found}) == 33
    assert all(len({said.lower() for said in row["examples"]}) == 3 for row in found)
