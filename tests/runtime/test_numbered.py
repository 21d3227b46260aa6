"""Numbers that belong to something else, short names of days, lists of files and streets with numbers, as the library
reads them and as Python does."""

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


TOOLS = {
    one.name: one
    for one in (
        _tool(
            "log_freezer",
            "Write down how cold a freezer is",
            freezer={"type": "integer"},
            celsius={"type": "number", "description": "Degrees Celsius"},
        ),
        _tool("water_bed", "Water a bed of the garden", bed={"type": "string"}, litres={"type": "number"}),
        _tool("ask_leave", "Ask for a day off", day={"type": "string", "format": "date"}),
        _tool("meet", "Meet somebody", start={"type": "string", "format": "date-time"}),
        _tool("bundle_up", "Put files into one", files={"type": "array", "items": {"type": "string"}}),
        _tool(
            "drop_off",
            "Bring boxes somewhere",
            address={"type": "string", "description": "Where to"},
            boxes={"type": "integer"},
        ),
        _tool("pay", "Pay somebody", euros={"type": "number", "description": "Amount in euros"}),
        _tool("open_page", "Open a page", url={"type": "string"}),
    )
}


@pytest.fixture(scope="module")
def runtime() -> edgeret.Runtime:
    return by_rules([*TOOLS.values()])


@pytest.mark.parametrize(
    ("tool", "query", "values"),
    [
        ("log_freezer", "freezer 7 was at -20", {"freezer": 7, "celsius": -20}),
        ("log_freezer", "freezer no 7 is at -20 degrees", {"freezer": 7, "celsius": -20}),
        ("log_freezer", "freezer 7 was at 4 F", {"freezer": 7}),
        ("log_freezer", "walk-in 2: 4 °F", {"freezer": 2}),
        ("log_freezer", "freezer 7 was at 4 degrees Fahrenheit", {"freezer": 7}),
        ("log_freezer", "freezer 7 was at minus 20 °C", {"freezer": 7, "celsius": -20}),
        ("log_freezer", "freezer 7 was at 5 degrees celsius", {"freezer": 7, "celsius": 5}),
        ("water_bed", "bed 3 got 12 today", {"bed": "3", "litres": 12}),
        ("ask_leave", "I'd like fri off", {"day": "2026-12-04"}),
        ("ask_leave", "can i have thurs off please", {"day": "2026-12-03"}),
        ("ask_leave", "off on mon pls", {"day": "2026-12-07"}),
        ("meet", "see Ana on sat at 8 pm", {"start": "2026-12-05T20:00:00"}),
        ("meet", "we sat in the sun at 8 pm", {"start": "2026-12-02T20:00:00"}),
        ("bundle_up", "bundle a.png b.png and c.png", {"files": ["a.png", "b.png", "c.png"]}),
        ("drop_off", "2 boxes to 12 Baker Street", {"address": "12 Baker Street", "boxes": 2}),
        ("drop_off", "take them to 12 Baker Street", {"address": "12 Baker Street"}),
        ("drop_off", "Bring sie zur Gartenstraße 12", {"address": "Gartenstraße 12"}),
        ("meet", "see Ana tmrw at 8 pm", {"start": "2026-12-03T20:00:00"}),
        ("pay", "pay 1.200 euros", {"euros": 1200}),
        ("pay", "€1.200 please", {"euros": 1200}),
        ("pay", "überweise bitte 1.200,50 Euro", {"euros": 1200.5}),
        ("pay", "pay 1.20 euros", {"euros": 1.2}),
        ("open_page", "open 'https://a.example.org/b'", {"url": "https://a.example.org/b"}),
    ],
)
@pytest.mark.filterwarnings("ignore::edgeret.errors.LanguageWarning")
def test_whose_a_number_is(runtime: edgeret.Runtime, tool: str, query: str, values: dict[str, Any]) -> None:
    by_reference = fill(TOOLS[tool], query, (), TOOLS, NOW)
    by_library = runtime.task(query, now=NOW).arguments(tool)
    assert {name: one.value for name, one in by_reference.given.items()} == values
    assert {name: one.value for name, one in by_library.given.items()} == values


def test_a_list_is_as_sure_as_all_its_values_together(runtime: edgeret.Runtime) -> None:
    def sure(query: str) -> float:
        return runtime.task(query).arguments("bundle_up").given["files"].confidence

    assert sure("bundle a.png, b.png, c.png and d.png") > 0.8 * sure("bundle a.png")
