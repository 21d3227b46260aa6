"""How often, how many, how heavy in another unit, and how wide, as the library reads them and as Python does."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from argument_tools import by_rules

import edgeret
from edgeret.types import Tool
from edgeret_export.reference.arguments.filling import fill

NOW = datetime(2026, 12, 2, 9, 0)  # a Wednesday


def _tool(name: str, told: str, **asked: dict[str, Any]) -> Tool:
    return Tool(name, told, {"type": "object", "properties": asked, "required": [*asked]})


def _number(told: str, kind: str = "number") -> dict[str, Any]:
    return {"type": kind, "description": told}


TEXT: dict[str, Any] = {"type": "string"}
TOOLS = {
    one.name: one
    for one in (
        _tool(
            "feed_horse",
            "Note a feed for a horse",
            millilitres=_number("Oil in ml"),
            times_per_day=_number("How many times a day", "integer"),
        ),
        _tool("weigh_parcel", "Weigh a parcel", kilograms=_number("Weight in kg")),
        _tool("log_walk", "Log a walk", km=_number("Distance in km"), minutes=_number("How long, in minutes")),
        _tool("log_swim", "Log a swim", seconds=_number("How long, in seconds", "integer")),
        _tool("count_rolls", "Count bread rolls", rolls=_number("How many", "integer")),
        _tool("cut_board", "Cut a board", width=_number("Width", "integer"), height=_number("Height", "integer")),
        _tool("soak_beans", "Soak beans", days=_number("For how many days", "integer")),
        _tool("tag_row", "Tag a row", row_id=TEXT),
        _tool("print_card", "Print a card", size={"enum": ["9x13", "10x15"]}, copies=_number("How many", "integer")),
        _tool("invite", "Invite people", people=_number("Number of people", "integer")),
        _tool("visit", "Visit somebody", address=TEXT),
        _tool("meet", "Meet somebody", start={"type": "string", "format": "date-time"}),
    )
}


@pytest.fixture(scope="module")
def runtime() -> edgeret.Runtime:
    return by_rules([*TOOLS.values()])


@pytest.mark.filterwarnings("ignore::edgeret.LanguageWarning")
@pytest.mark.parametrize(
    ("tool", "query", "values"),
    [
        ("feed_horse", "oil 30ml twice a day", {"millilitres": 30, "times_per_day": 2}),
        ("feed_horse", "30 ml 4x daily", {"millilitres": 30, "times_per_day": 4}),
        ("feed_horse", "30 ml once a day for a week", {"millilitres": 30, "times_per_day": 1}),
        ("feed_horse", "30 ml three times daily", {"millilitres": 30, "times_per_day": 3}),
        ("feed_horse", "30 ml dreimal täglich", {"millilitres": 30, "times_per_day": 3}),
        ("feed_horse", "30 ml", {"millilitres": 30}),
        ("feed_horse", "30 ml every 6 hours", {"millilitres": 30}),
        ("soak_beans", "stir them three times a day", {}),
        ("soak_beans", "stir them twice a day for 2 days", {"days": 2}),
        ("tag_row", "row for 3-4pm", {}),
        ("tag_row", "tag it 4x daily", {}),
        ("weigh_parcel", "the parcel is 20 lbs", {"kilograms": 9.072}),
        ("weigh_parcel", "the parcel is 8 oz", {"kilograms": 0.227}),
        ("weigh_parcel", "the parcel costs 20 euros", {}),
        ("log_walk", "walked 2 miles in 41:30", {"km": 3.219, "minutes": 41.5}),
        ("log_swim", "swam in 12:05", {"seconds": 725}),
        ("count_rolls", "two dozen rolls", {"rolls": 24}),
        ("count_rolls", "a couple dozen rolls", {"rolls": 24}),
        ("count_rolls", "a couple of hundred rolls", {"rolls": 200}),
        ("count_rolls", "a couple of rolls", {"rolls": 2}),
        ("count_rolls", "we have half a dozen rolls", {"rolls": 6}),
        ("count_rolls", "20 rolls, no, make that 25", {"rolls": 25}),
        ("cut_board", "cut it 40x90", {"width": 40, "height": 90}),
        ("print_card", "two of 10x15", {"size": "10x15", "copies": 2}),
        ("invite", "wir kommen zu fünft", {"people": 5}),
        ("invite", "on vient à trois", {"people": 3}),
        ("invite", "cenamos entre cinco", {"people": 5}),
        ("invite", "come at 7-9pm", {}),
        ("visit", "visit Ana, 5 mill lane", {"address": "5 mill lane"}),
        ("meet", "choir sat at 9am", {"start": "2026-12-05T09:00:00"}),
    ],
)
def test_what_is_said_is_read(runtime: edgeret.Runtime, tool: str, query: str, values: dict[str, Any]) -> None:
    given = runtime.task(query, now=NOW).arguments(tool).given
    assert given == fill(TOOLS[tool], query, (), TOOLS, NOW).given
    assert {name: one.value for name, one in given.items()} == values
