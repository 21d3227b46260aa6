"""Words as schemas want them: numbers in their unit, days by a clock, and nothing that a schema refuses."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest

from edgeret import Tool
from edgeret_export.reference.inputs.dates import day_of, time_of
from edgeret_export.reference.inputs.parameters import parameters
from edgeret_export.reference.inputs.value_forms import MISSING, fits, form, safe_pattern

NOW = datetime(2026, 11, 26, 12)
"""A Thursday."""


def formed(said: str, kind: str, name: str, schema: dict[str, Any], now: datetime | None = None) -> Any:
    tool = Tool("set_it", "Sets it.", {"type": "object", "properties": {name: schema}})
    return form(said, kind, parameters(tool)[0], now)


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("tomorrow", date(2026, 11, 27)),
        ("yesterday", date(2026, 11, 25)),
        ("Friday", date(2026, 11, 27)),
        ("last Friday", date(2026, 11, 20)),
        ("Thursday", date(2026, 12, 3)),
        ("the 17th", date(2026, 12, 17)),
        ("2 August", date(2027, 8, 2)),
        ("in two weeks", date(2026, 12, 10)),
        ("24.12.", date(2026, 12, 24)),
        ("August 2nd, 2025", date(2025, 8, 2)),
        ("14/3/2025", date(2025, 3, 14)),
        ("3/4/2025", None),
        ("next Friday", None),
        ("2025-02-30", None),
        ("soon", None),
    ],
)
def test_a_day_by_a_clock(said: str, day: date | None) -> None:
    assert day_of(said, NOW) == day


def test_without_a_clock_only_what_is_complete_is_a_day() -> None:
    assert day_of("tomorrow", None) is None
    assert day_of("2 August", None) is None
    assert day_of("2026-12-24", None) == date(2026, 12, 24)


@pytest.mark.parametrize(
    ("said", "told"),
    [("9am", "09:00"), ("nine pm", "21:00"), ("14:30", "14:30"), ("noon", "12:00"), ("at nine", None), ("25:00", None)],
)
def test_a_time(said: str, told: str | None) -> None:
    found = time_of(said)
    assert (None if found is None else found.strftime("%H:%M")) == told


@pytest.mark.parametrize(
    ("said", "kind", "name", "value"),
    [
        ("half an hour", "duration", "minutes", 30),
        ("1 hour and 20 minutes", "duration", "minutes", 80),
        ("five years", "duration", "months", 60),
        ("two and a half", "number", "grams", MISSING),
        ("half a litre", "measure", "millilitres", 500),
        ("150 pounds", "measure", "kilograms", MISSING),
        ("90 seconds", "duration", "minutes", MISSING),
        ("two hundred and ten", "number", "pieces", 210),
        ("1,200", "number", "pieces", 1200),
        ("3.5", "number", "pieces", MISSING),
    ],
)
def test_a_number_in_the_unit_that_the_parameter_counts(said: str, kind: str, name: str, value: Any) -> None:
    assert formed(said, kind, name, {"type": "integer"}) == value


def test_a_format_is_kept_or_the_value_is_missing() -> None:
    day = {"type": "string", "format": "date"}
    assert formed("tomorrow", "date", "day", day, NOW) == "2026-11-27"
    assert formed("tomorrow", "date", "day", day) is MISSING
    moment = {"type": "string", "format": "date-time"}
    assert formed("Friday 9am", "moment", "start", moment, NOW) == "2026-11-27T09:00:00"
    assert formed("Friday at nine", "moment", "start", moment, NOW) is MISSING
    evening = {"tomorrow evening at seven": "2026-11-27T19:00:00", "tonight at 8:30": "2026-11-26T20:30:00"}
    for said, value in evening.items():
        assert formed(said, "moment", "start", moment, NOW) == value
    named = {"type": "string", "description": "First day, DD.MM.YYYY."}
    assert formed("2026-12-24", "date", "from", named) == "24.12.2026"
    plain = {"type": "string", "description": "Day, in the user's words."}
    assert formed("tomorrow", "date", "day", plain, NOW) == "tomorrow"
    assert formed("rm -rf", "chunk", "to", {"type": "string", "format": "email"}) is MISSING


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("half past seven in the morning", "07:30:00"),
        ("quarter to nine pm", "20:45:00"),
        ("20 past 6 am", "06:20:00"),
        ("quarter to one in the afternoon", "12:45:00"),
        ("nine at night", "21:00:00"),
        ("one at night", MISSING),
        ("half past seven", MISSING),
        ("seven o'clock", MISSING),
        ("ten minutes to nine pm", "20:50:00"),
        ("ten to twelve pm", MISSING),
    ],
)
def test_a_time_needs_its_half_of_the_day(said: str, value: Any) -> None:
    assert formed(said, "time", "at", {"type": "string", "format": "time"}) == value


@pytest.mark.parametrize(
    ("said", "after"),
    [("in 20 minutes", 20), ("in half an hour", 30), ("an hour and a half from now", 90), ("in 16 hours", 960)],
)
def test_what_lies_ahead_is_counted_from_now(said: str, after: int) -> None:
    moment = {"type": "string", "format": "date-time"}
    assert formed(said, "time", "at", moment, NOW) == (NOW + timedelta(minutes=after)).isoformat()
    assert formed(said, "time", "at", moment) is MISSING


@pytest.mark.parametrize(
    ("said", "told", "value"),
    [
        ("May 15, 2022", "First day (e.g., 2022-01-01)", "2022-05-15"),
        ("May 15th, 2022", "First day (e.g., yyyy-mm-dd)", "2022-05-15"),
        ("May 15, 2022", "First day (DD-MM-YYYY)", "15-05-2022"),
        ("May 15, 2022", "First day, as YYYY/MM/DD", "2022/05/15"),
        ("October 15th", "First day (e.g., 2022-01-01)", "October 15th"),
        ("tomorrow", "First day (e.g., 2022-01-01)", "tomorrow"),
        ("2022-13-45", "First day (e.g., 2022-01-01)", MISSING),
        ("October 15th", "First day (e.g., yyyy-mm-dd)", MISSING),
        ("May 15, 2022", "First day, of version 1-2022-01-01-3", "May 15, 2022"),
    ],
)
def test_a_day_is_written_as_the_description_shows_days(said: str, told: str, value: Any) -> None:
    assert formed(said, "date", "start_date", {"type": "string", "description": told}) == value


@pytest.mark.parametrize(
    ("said", "kind", "told", "value"),
    [
        ("5%", "percent", "The interest rate (e.g., 0.05 for 5%)", 0.05),
        ("0.05", "number", "The interest rate (e.g., 0.05 for 5%)", 0.05),
        ("5%", "percent", "The interest rate, in %", 5),
    ],
)
def test_a_share_of_one_is_told_from_per_cent(said: str, kind: str, told: str, value: Any) -> None:
    assert formed(said, kind, "rate", {"type": "number", "description": told}) == value


@pytest.mark.parametrize(
    ("value", "schema", "takes"),
    [
        (5, {"type": "integer", "minimum": 5, "maximum": 9}, True),
        (4, {"type": "integer", "minimum": 5}, False),
        (5, {"exclusiveMinimum": 5}, False),
        (0.3, {"type": "number", "multipleOf": 0.1}, True),
        (True, {"type": "integer"}, False),
        (1, {"enum": [True]}, False),
        ("ab", {"type": "string", "pattern": "^a.$"}, True),
        ("ab\n", {"type": "string", "pattern": "^ab$"}, False),
        ("aaaa", {"type": "string", "pattern": "(a+)+$"}, False),
        ("x", {"$ref": "#/$defs/x"}, False),
        ("x", {"type": "string", "not": {"const": "x"}}, False),
        (["a", "a"], {"type": "array", "uniqueItems": True}, False),
        (["a"], {"type": "array", "items": False}, False),
        ("$out_1", {"type": "integer"}, True),
        ("a@b.example", {"format": "email"}, True),
        ("2026-02-30", {"format": "date"}, False),
    ],
)
def test_what_a_schema_takes(value: Any, schema: dict[str, Any], takes: bool) -> None:
    assert fits(value, schema) is takes


@pytest.mark.parametrize("pattern", [r"(a|a)*$", r"a*a*a*a*$", r"(?=a)b", r"(a)\1", "[", "x" * 400, "a{1,9999}"])
def test_a_pattern_that_may_take_long_or_means_something_else_is_not_searched(pattern: str) -> None:
    assert safe_pattern(pattern) is None


def test_a_pattern_comes_to_an_end() -> None:
    found = safe_pattern("[a-z]+[a-z]+$")
    assert found is not None
    assert found.search("a" * 199 + "!") is None
