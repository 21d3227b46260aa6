"""One tool alone, by the real encoder: what it does is done, and what nobody's tool does is declined."""

from __future__ import annotations

from pathlib import Path

import pytest

import edgeret
from edgeret.types import Tool


def tool(name: str, description: str, **parameters: str) -> Tool:
    told = {key: {"type": "string", "description": words} for key, words in parameters.items()}
    return Tool(name, description, {"type": "object", "properties": told})


MONEY = tool(
    "convert_currency",
    "Converts an amount of money from one currency to another.",
    amount="the amount",
    source="currency code",
    target="currency code",
)
TABLE = tool("book_table", "Books a table in a restaurant.", restaurant="its name", people="how many", time="when")
GARDEN = tool("start_irrigation", "Waters a zone of the garden.", zone="which zone", minutes="how long")


@pytest.fixture(scope="module")
def base(real: Path) -> edgeret.Runtime:
    return edgeret.load(real)


@pytest.mark.real
@pytest.mark.parametrize(
    ("alone", "query"),
    [
        (MONEY, "why was the euro introduced"),
        (MONEY, "what is the best way to save money"),
        (MONEY, "who decides on interest rates"),
        (TABLE, "what is the difference between pasta and noodles"),
        (TABLE, "who invented pizza"),
        (GARDEN, "why do leaves turn yellow"),
        (GARDEN, "what is the best soil for tomatoes"),
    ],
)
def test_a_question_about_a_tools_subject_is_not_for_the_tool(base: edgeret.Runtime, alone: Tool, query: str) -> None:
    assert edgeret.from_tools([alone], base=base).task(query).next().abstained


@pytest.mark.real
@pytest.mark.parametrize(
    ("alone", "query"),
    [
        (MONEY, "convert 200 dollars to euros"),
        (TABLE, "get us a table for 4 at Luigi's tonight"),
        (TABLE, "reserve a table at the Italian place at 8"),
        (GARDEN, "water the roses for 10 minutes"),
        (GARDEN, "start watering the lawn"),
    ],
)
def test_what_the_only_tool_does_is_done(base: edgeret.Runtime, alone: Tool, query: str) -> None:
    assert edgeret.from_tools([alone], base=base).task(query).next().tool == alone.name
