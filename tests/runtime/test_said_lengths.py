"""Lengths of time, degrees, two numbers that stand together and streets in small letters, as strangers said them: the
library reads them as Python does."""

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
        _tool("boil_eggs", "Boil eggs for a while", minutes={"type": "number", "description": "How long, in minutes"}),
        _tool("rest", "Rest for some time", minutes={"type": "integer"}),
        _tool(
            "note_well",
            "Write down a well's level and how warm its water is",
            depth_cm={"type": "number", "description": "Level in cm"},
            temperature_c={"type": "number", "description": "Degrees Celsius"},
        ),
        _tool(
            "note_pressure",
            "Write down a blood pressure",
            systolic={"type": "integer", "description": "The upper value"},
            diastolic={"type": "integer", "description": "The lower value"},
        ),
        _tool(
            "fetch_guests",
            "Fetch guests somewhere",
            address={"type": "string", "description": "Where they are"},
            guests={"type": "integer", "description": "How many people"},
        ),
        _tool("ring", "Ring at a time", at={"type": "string", "format": "date-time"}),
    )
}


@pytest.fixture(scope="module")
def runtime() -> edgeret.Runtime:
    return by_rules([*TOOLS.values()])


@pytest.mark.parametrize(
    ("tool", "query", "values"),
    [
        ("boil_eggs", "boil them for 2h", {"minutes": 120}),
        ("boil_eggs", "eggs 1h15", {"minutes": 75}),
        ("boil_eggs", "eggs, 1h 15m", {"minutes": 75}),
        ("boil_eggs", "boil eggs 4 min 30", {"minutes": 4.5}),
        ("boil_eggs", "boil eggs for 1 hour 20 minutes", {"minutes": 80}),
        ("boil_eggs", "boil them for 270 seconds", {"minutes": 4.5}),
        ("boil_eggs", "boil them for four and a half minutes", {"minutes": 4.5}),
        ("boil_eggs", "boil them for a quarter of an hour", {"minutes": 15}),
        ("boil_eggs", "boil them for an hour and a quarter", {"minutes": 75}),
        ("boil_eggs", "koch die Eier eine Dreiviertelstunde lang", {"minutes": 45}),
        ("boil_eggs", "Eier bitte dreieinhalb Minuten kochen", {"minutes": 3.5}),
        ("boil_eggs", "cuece los huevos tres cuartos de hora", {"minutes": 45}),
        ("boil_eggs", "cuece los huevos una hora y cuarto", {"minutes": 75}),
        ("boil_eggs", "fais cuire les œufs pendant une heure et quart", {"minutes": 75}),
        ("boil_eggs", "fais-les cuire pendant 1h30", {"minutes": 90}),
        ("rest", "rest for 90 seconds", {}),  # no whole minutes
        ("note_well", "well: 95 cm 11 deg", {"depth_cm": 95, "temperature_c": 11}),
        ("note_well", "Brunnen 95 cm 11 Grad", {"depth_cm": 95, "temperature_c": 11}),
        ("note_well", "the well is at 11 degrees", {"temperature_c": 11}),
        ("note_well", "the well stands at 2 m 15 cm", {"depth_cm": 215}),
        ("note_well", "well 1m 5cm, 11 °C", {"depth_cm": 105, "temperature_c": 11}),
        ("note_pressure", "135 over 85", {"systolic": 135, "diastolic": 85}),
        ("note_pressure", "it was 135/85 this morning", {"systolic": 135, "diastolic": 85}),
        ("note_pressure", "Blutdruck 135 zu 85", {"systolic": 135, "diastolic": 85}),
        ("note_pressure", "diastolic 85 and systolic 135", {"systolic": 135, "diastolic": 85}),
        ("fetch_guests", "fetch 3 guests at 7 mill lane", {"address": "7 mill lane", "guests": 3}),
        ("fetch_guests", "guests at 44 old kent rd", {"address": "44 old kent rd"}),
        ("fetch_guests", "hol die Gäste in der rosengasse 7 ab", {"address": "rosengasse 7"}),
        ("fetch_guests", "va chercher 2 clients au 7 rue de la gare", {"address": "7 rue de la gare", "guests": 2}),
        ("ring", "ring in a quarter of an hour", {"at": "2026-12-02T09:15:00"}),
        ("ring", "ring in two and a half hours", {"at": "2026-12-02T11:30:00"}),
    ],
)
@pytest.mark.filterwarnings("ignore::edgeret.errors.LanguageWarning")
def test_what_strangers_said(runtime: edgeret.Runtime, tool: str, query: str, values: dict[str, Any]) -> None:
    by_reference = fill(TOOLS[tool], query, (), TOOLS, NOW)
    by_library = runtime.task(query, now=NOW).arguments(tool)
    assert {name: one.value for name, one in by_reference.given.items()} == values
    assert {name: one.value for name, one in by_library.given.items()} == values
    assert {name: one.confidence for name, one in by_library.given.items()} == pytest.approx(
        {name: one.confidence for name, one in by_reference.given.items()}, abs=2e-3
    )
