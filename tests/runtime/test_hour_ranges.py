"""Hours from one to another, days that end what began, and which day is meant: as the library reads them and as Python
does."""

from __future__ import annotations

from datetime import datetime

import pytest
from argument_tools import by_rules, same_by_both, tool

import edgeret
from edgeret_export.reference.inputs.date_forms import moment

NOW = datetime(2026, 11, 29, 12, 0)  # a Sunday
DAY = {"type": "string", "format": "date"}
MOMENT = {"type": "string", "format": "date-time"}
HOUR = {"type": "string", "format": "time"}


TOOLS = [
    tool(
        "book_room",
        "Books a meeting room.",
        start={**MOMENT, "description": "when it begins"},
        end={**MOMENT, "description": "when it ends"},
        people={"type": "integer"},
    ),
    tool("set_hours", "Sets the opening hours of a shop.", opens=HOUR, closes=HOUR),
    tool("plan_call", "Plans a call.", time={"type": "string"}),
    tool("move_meeting", "Moves a meeting.", time={"type": "string", "description": "new time"}),
    tool("list_orders", "Lists orders.", since=DAY, until=DAY),
    tool("list_events", "Lists events of a calendar.", after=DAY, before=DAY),
    tool("log_run", "Logs a run.", date=DAY),
    tool("book_flight", "Books a flight.", date=DAY, return_date={**DAY, "description": "day of the flight back"}),
    tool("take_leave", "Asks for days off.", start=DAY, end=DAY),
]


@pytest.fixture(scope="module")
def runtime() -> edgeret.Runtime:
    return by_rules(TOOLS)


def read(runtime: edgeret.Runtime, name: str, query: str) -> list[object]:
    found = same_by_both(runtime, name, query, NOW)
    return [found.get(parameter) for parameter in runtime.tools[name].parameters["properties"]]


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("9-10 am tomorrow", "2026-11-30T09:00:00", "2026-11-30T10:00:00"),
        ("2-3:30pm on friday", "2026-12-04T14:00:00", "2026-12-04T15:30:00"),
        ("11-1pm friday", "2026-12-04T11:00:00", "2026-12-04T13:00:00"),
        ("tue 9am-5pm", "2026-12-01T09:00:00", "2026-12-01T17:00:00"),
        ("on friday between 2 and 4 pm", "2026-12-04T14:00:00", "2026-12-04T16:00:00"),
        ("between 2:30 and 4 pm on tuesday", "2026-12-01T14:30:00", "2026-12-01T16:00:00"),
        ("9 to 17:00 on friday", "2026-12-04T09:00:00", "2026-12-04T17:00:00"),
        ("friday 5pm to monday 9am", "2026-12-04T17:00:00", "2026-12-07T09:00:00"),
        ("morgen von 14 bis 15 Uhr", "2026-11-30T14:00:00", "2026-11-30T15:00:00"),
        ("mañana de 9 a 11 am", "2026-11-30T09:00:00", "2026-11-30T11:00:00"),
        # Over midnight it ends on another day, and whose half of the day 3 has nobody knows.
        ("8 pm - 1 am on saturday", "2026-12-05T20:00:00", None),
        ("from 3 to 5 o'clock", None, None),
    ],
)
@pytest.mark.filterwarnings("ignore::edgeret.errors.LanguageWarning")
def test_hours_begin_in_the_half_of_the_day_in_which_they_must(
    runtime: edgeret.Runtime, query: str, start: str | None, end: str | None
) -> None:
    assert read(runtime, "book_room", query) == [start, end, None]


def test_who_comes_is_no_hour(runtime: edgeret.Runtime) -> None:
    assert read(runtime, "book_room", "9-10 am tomorrow for 6 people")[2] == 6


@pytest.mark.filterwarnings("ignore::edgeret.errors.LanguageWarning")
def test_hours_without_a_day(runtime: edgeret.Runtime) -> None:
    assert read(runtime, "set_hours", "open from 9am to 5pm") == ["09:00:00", "17:00:00"]
    assert read(runtime, "set_hours", "geöffnet von 9 bis 18 Uhr") == ["09:00:00", "18:00:00"]
    assert read(runtime, "plan_call", "call mum 4-5 pm") == ["4 pm"]


def test_what_is_moved_goes_to_the_other_hour(runtime: edgeret.Runtime) -> None:
    assert read(runtime, "move_meeting", "move my 3 pm to 5 pm") == ["5 pm"]
    assert read(runtime, "move_meeting", "reschedule standup from 9 to 10 am") == ["10 am"]


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("off from friday to monday", ["2026-12-04", "2026-12-07"]),
        ("sat to mon", ["2026-12-05", "2026-12-07"]),
        ("off from the 28th to the 2nd", ["2026-12-28", "2027-01-02"]),
        ("off from tomorrow to the day after tomorrow", ["2026-11-30", "2026-12-01"]),
    ],
)
def test_what_ends_is_behind_what_began(runtime: edgeret.Runtime, query: str, days: list[str]) -> None:
    assert read(runtime, "take_leave", query) == days


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("orders between 3 and 10 march", ["2026-03-03", "2026-03-10"]),
        ("orders between 20 nov and 5 dec", ["2026-11-20", "2026-12-05"]),
        ("since friday until monday", ["2026-11-27", "2026-11-30"]),
        ("zwischen dem 3. und 10. August", ["2026-08-03", "2026-08-10"]),
        ("orders before 1 december", [None, "2026-12-01"]),
        ("orders since may 3rd", ["2026-05-03", None]),
    ],
)
@pytest.mark.filterwarnings("ignore::edgeret.errors.LanguageWarning")
def test_since_and_until_go_where_they_are_asked_for(
    runtime: edgeret.Runtime, query: str, days: list[str | None]
) -> None:
    assert read(runtime, "list_orders", query) == days


def test_events_after_a_day_are_ahead_and_what_is_logged_has_been(runtime: edgeret.Runtime) -> None:
    assert read(runtime, "list_events", "everything after 10 June") == ["2027-06-10", None]
    assert read(runtime, "log_run", "log a half marathon on Sunday") == ["2026-11-22"]


def test_a_word_of_another_name_leads_to_the_other_day(runtime: edgeret.Runtime) -> None:
    assert read(runtime, "book_flight", "rome tomorrow returning sunday") == ["2026-11-30", "2026-12-06"]
    assert read(runtime, "book_flight", "leaving the 3rd, returning on the 12th") == ["2026-12-03", "2026-12-12"]
    # A day of return is behind the flight out: the third of January.
    assert read(runtime, "book_flight", "leaving friday, returning on the 3rd") == ["2026-12-04", "2027-01-03"]


def test_an_hour_is_asked_for_where_the_day_is_known(runtime: edgeret.Runtime) -> None:
    asked = runtime.task("tomorrow 9 to 10", now=NOW).arguments("book_room").missing
    assert (asked["start"], asked["end"]) == ("At what time?", "At what time?")
    asked = runtime.task("tomorrow 9 to 10").arguments("book_room").missing
    assert asked["start"] == "Which date is “tomorrow”?"
    asked = runtime.task("on 3/4/2027 9 to 10", now=NOW).arguments("book_room").missing
    assert asked["start"] == "Which date is “3/4/2027”?"


def test_a_long_text_names_no_day_but_a_day_in_it_is_found(runtime: edgeret.Runtime) -> None:
    for words, day in ((30, "2026-11-30"), (40, None)):
        assert moment(f"{'soon ' * words}tomorrow", "date", NOW, False) == day
    assert read(runtime, "list_orders", f"orders {'as always ' * 40} since may 3rd") == ["2026-05-03", None]
    assert read(runtime, "list_orders", "to " * 400) == [None, None]
