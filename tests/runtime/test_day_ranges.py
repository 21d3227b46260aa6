"""Days from one to another: each goes where it is asked for, as the library reads them and as Python does."""

from __future__ import annotations

from datetime import datetime

import pytest
from argument_tools import by_rules, same_by_both, tool

import edgeret

NOW = datetime(2026, 11, 29, 14, 0)  # a Sunday
DAY = {"type": "string", "format": "date"}


TOOLS = [
    tool(
        "request_leave",
        "Asks for days off.",
        ["first_day"],
        first_day={**DAY, "description": "First day"},
        last_day={**DAY, "description": "Last day"},
    ),
    tool(
        "close_shop",
        "Closes the shop for some days.",
        ["first_day"],
        first_day={"type": "string", "description": "First day"},
        last_day={"type": "string", "description": "Last day"},
    ),
    tool("move_meeting", "Moves a meeting to another day.", day={**DAY, "description": "The new day"}),
    tool("find_patient", "Finds a patient.", last_visit={**DAY, "description": "Day of the visit"}),
]


@pytest.fixture(scope="module")
def runtime() -> edgeret.Runtime:
    return by_rules(TOOLS)


def read(runtime: edgeret.Runtime, name: str, query: str) -> list[object]:
    found = same_by_both(runtime, name, query, NOW)
    return [found.get(parameter) for parameter in runtime.tools[name].parameters["properties"]]


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("off 3 to 10 aug", ["2027-08-03", "2027-08-10"]),
        ("off 24-26 dec", ["2026-12-24", "2026-12-26"]),
        ("holiday from 3 to 10 August", ["2027-08-03", "2027-08-10"]),
        ("off from the 3rd to the 10th of May", ["2027-05-03", "2027-05-10"]),
        ("leave aug 3 to aug 10", ["2027-08-03", "2027-08-10"]),
        ("between 3 and 10 august 2028 I am away", ["2028-08-03", "2028-08-10"]),
        ("off 28 july to 3 aug", ["2027-07-28", "2027-08-03"]),
        ("off mon to wed", ["2026-11-30", "2026-12-02"]),
        ("off monday-wednesday", ["2026-11-30", "2026-12-02"]),
        ("Urlaub vom 3. bis 10. August", ["2027-08-03", "2027-08-10"]),
        ("vacaciones del 3 al 10 de agosto", ["2027-08-03", "2027-08-10"]),
        ("congé du 3 au 10 août", ["2027-08-03", "2027-08-10"]),
        # One day, and numbers that are no days.
        ("off from 3 aug", ["2027-08-03", None]),
        ("off until 10 aug", [None, "2027-08-10"]),
        ("until the 10th of May I am off", [None, "2027-05-10"]),
        ("order 3 by 10 august", ["2027-08-10", None]),
        ("2 to 3 weeks from 10 aug", ["2027-08-10", None]),
    ],
)
@pytest.mark.filterwarnings("ignore::edgeret.errors.LanguageWarning")
def test_the_first_day_and_the_last_one_go_where_they_are_asked_for(
    runtime: edgeret.Runtime, query: str, days: list[object]
) -> None:
    assert read(runtime, "request_leave", query) == days


def test_a_day_as_it_was_said_has_its_month(runtime: edgeret.Runtime) -> None:
    assert read(runtime, "close_shop", "shut from 24 to 26 dec") == ["24 dec", "26 dec"]
    assert read(runtime, "close_shop", "shut from the 3rd to the 10th of May") == ["3rd of May", "10th of May"]


def test_what_is_moved_from_one_day_to_another_goes_to_the_other(runtime: edgeret.Runtime) -> None:
    assert read(runtime, "move_meeting", "move it to wednesday") == ["2026-12-02"]
    found = runtime.task("move it from monday to wednesday", now=NOW).arguments("move_meeting").given
    assert {"2026-12-02"} <= {found["day"].value, *found["day"].alternatives}


def test_the_last_day_is_ahead_and_the_last_visit_is_not(runtime: edgeret.Runtime) -> None:
    assert read(runtime, "request_leave", "off from today to friday") == ["2026-11-29", "2026-12-04"]
    assert read(runtime, "find_patient", "who came on friday") == ["2026-11-27"]
