"""Values that stand near a parameter and are another's, or no value at all: read by the library and as Python does."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from argument_tools import by_rules

import edgeret
from edgeret.types import Tool
from edgeret_export.reference.arguments.filling import fill

NOW = datetime(2026, 11, 29, 14, 0)
DAY = {"type": "string", "format": "date"}
NUMBER = {"type": "number"}
ASKED: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "book_hotel": (
        "Books a hotel room.",
        {
            "check_in": {**DAY, "description": "Day of arrival"},
            "check_out": {**DAY, "description": "Day of departure"},
            "max_price": {**NUMBER, "description": "Most it may cost a night, in euros"},
        },
    ),
    "set_temperature": ("Sets the temperature of a room.", {"celsius": {**NUMBER, "description": "Degrees Celsius"}}),
    "change_temperature": (
        "Makes a room warmer or colder.",
        {"change": {**NUMBER, "description": "Degrees Celsius more or less"}},
    ),
    "set_volume": ("Sets the volume.", {"level": {"type": "integer", "maximum": 100, "description": "In percent"}}),
    "set_heating": ("Sets the heating.", {"degrees": {**NUMBER, "description": "Temperature in °C"}}),
    "rotate": ("Rotates an image.", {"degrees": {**NUMBER, "description": "By how much"}}),
    "sell": ("Sells a harvest.", {"price_per_kg": {**NUMBER, "description": "Price"}}),
}
TOOLS = {
    name: Tool(name, told, {"type": "object", "properties": asked, "required": [*asked]})
    for name, (told, asked) in ASKED.items()
}


@pytest.fixture(scope="module")
def runtime() -> edgeret.Runtime:
    return by_rules([*TOOLS.values()])


@pytest.mark.parametrize(
    ("tool", "query", "values"),
    [
        (
            "book_hotel",
            "porto, check in 12 june, check out 15 june",
            {"check_in": "2027-06-12", "check_out": "2027-06-15"},
        ),
        ("book_hotel", "check-out is on 15 june", {"check_out": "2027-06-15"}),
        # What is counted is no price; a night is what the price is for, and no unit of it.
        ("book_hotel", "two nights in Rome", {}),
        ("book_hotel", "at most 120 a night", {"max_price": 120}),
        ("sell", "70 kg at 1.20 a kilo", {"price_per_kg": 1.2}),
        # A difference from what is now, for what takes none.
        ("set_temperature", "two degrees warmer", {}),
        ("set_temperature", "turn it up by 2 degrees", {}),
        ("set_temperature", "2 Grad kälter", {}),
        ("set_heating", "down by 2", {}),
        ("rotate", "turn it by 30 degrees", {"degrees": 30}),
        ("set_heating", "19.5", {"degrees": 19.5}),
        ("set_temperature", "it should be warmer, 22 degrees", {"celsius": 22}),
        ("change_temperature", "two degrees warmer", {"change": 2}),
        ("set_volume", "10 percent louder", {}),
        ("set_volume", "volume 40", {"level": 40}),
    ],
)
@pytest.mark.filterwarnings("ignore::edgeret.errors.LanguageWarning")
def test_a_value_is_whose_the_words_beside_it_say(
    runtime: edgeret.Runtime, tool: str, query: str, values: dict[str, Any]
) -> None:
    found = runtime.task(query, now=NOW).arguments(tool).given
    assert {name: one.value for name, one in found.items()} == values
    assert found == fill(TOOLS[tool], query, (), TOOLS, NOW).given
