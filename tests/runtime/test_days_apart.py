"""A day and a time that stand apart, and what an id is not, as the library reads them and as Python does."""

from __future__ import annotations

from datetime import datetime

import pytest
from argument_tools import by_rules

import edgeret
from edgeret.types import Tool
from edgeret_export.reference.arguments.filling import fill

NOW = datetime(2026, 12, 2, 9, 0)  # a Wednesday


def _tool(name: str, told: str, **asked: dict[str, str]) -> Tool:
    return Tool(name, told, {"type": "object", "properties": asked, "required": [*asked]})


TOOLS = {
    one.name: one
    for one in (
        _tool("book_court", "Book a tennis court", start={"type": "string", "format": "date-time"}),
        _tool("wake_me", "Wake somebody up", when={"type": "string", "description": "When, as YYYY-MM-DD HH:MM"}),
        _tool(
            "log_shift",
            "Write down a shift of work",
            begin={"type": "string", "format": "date-time", "description": "When it begins"},
            end={"type": "string", "format": "date-time", "description": "When it ends"},
        ),
        _tool(
            "return_loan", "Give a book back to the library", loan_id={"type": "string", "description": "Which loan"}
        ),
        _tool("close_day", "Close the shop for a day", day={"type": "string", "format": "date"}),
    )
}


@pytest.fixture(scope="module")
def runtime() -> edgeret.Runtime:
    return by_rules([*TOOLS.values()])


@pytest.mark.parametrize(
    ("tool", "query", "value"),
    [
        ("book_court", "book a court on Saturday for three of us at 4 pm", "2026-12-05T16:00:00"),
        ("book_court", "at 16:30 I need a court with lights tomorrow", "2026-12-03T16:30:00"),
        ("book_court", "Réserve un court jeudi pour deux personnes à 18 h", "2026-12-03T18:00:00"),
        ("wake_me", "On Sunday, wake me at 6 am", "2026-12-06 06:00"),
        # Another thing's day, another clause's, and a day that is told; six is over today.
        ("wake_me", "wake me at 6 am to bake Sunday's cake", "2026-12-03 06:00"),
        ("wake_me", "wake me at 6 am to finish the slides for Sunday", "2026-12-03 06:00"),
        ("wake_me", "tell Bo the fair is on Sunday and wake me at 6 am", "2026-12-03 06:00"),
        # The next that has it still ahead, and "beside" whatever stands in front.
        ("book_court", "a court for Friday 10:30 please", "2026-12-04T10:30:00"),
        ("wake_me", "wake me at 9:00", "2026-12-02 09:00"),
        ("wake_me", "wake me at half past seven in the morning", "2026-12-03 07:30"),
        ("wake_me", "wake me at 10:15", "2026-12-02 10:15"),
        ("book_court", "a court from 10 to 11 am on Tuesday", "2026-12-08T10:00:00"),
        ("book_court", "I booked a court at 7 am", "2026-12-02T07:00:00"),
        ("book_court", "J’étais au court à 7 h", "2026-12-02T07:00:00"),
        ("close_day", "el lunes", "2026-12-07"),
        ("close_day", "übermorgen", "2026-12-04"),
        ("close_day", "le 8 mai", "2027-05-08"),
    ],
)
@pytest.mark.filterwarnings("ignore::edgeret.errors.LanguageWarning")
def test_a_time_is_on_the_day_that_stands_apart(runtime: edgeret.Runtime, tool: str, query: str, value: str) -> None:
    read = runtime.task(query, now=NOW).arguments(tool)
    assert [one.value for one in read.given.values()] == [value]
    assert read.given == fill(TOOLS[tool], query, (), TOOLS, NOW).given


@pytest.mark.parametrize(
    ("tool", "query"),
    [
        # A day that names none, and 8:45, which is over, or will be this evening.
        ("book_court", "a court for next Friday 10:30 please"),
        ("book_court", "a court at 10:30, next Friday"),
        ("wake_me", "wake me at 8:45"),
        # From ten on, in either half of the day, and nobody asks for its end.
        ("book_court", "a court from ten until 11:30 tomorrow"),
    ],
)
def test_a_time_of_no_known_day_is_asked_for(runtime: edgeret.Runtime, tool: str, query: str) -> None:
    read = runtime.task(query, now=NOW).arguments(tool)
    assert (read.given, len(read.missing)) == ({}, 1)
    assert fill(TOOLS[tool], query, (), TOOLS, NOW).given == {}


@pytest.mark.parametrize(
    ("hours", "begin", "end"), [("9 to 11 am", "09", "11"), ("8 am to 3 pm", "08", "15"), ("11-1pm", "11", "13")]
)
def test_hours_that_belong_together_are_on_the_same_day(
    runtime: edgeret.Runtime, hours: str, begin: str, end: str
) -> None:
    query = f"log my shift on Monday from {hours}"
    read = runtime.task(query, now=NOW).arguments("log_shift").given
    told = [f"2026-11-30T{hour}:00:00" for hour in (begin, end)]
    assert [read[name].value for name in ("begin", "end")] == told
    assert read == fill(TOOLS["log_shift"], query, (), TOOLS, NOW).given


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("return the book by Grete Weil", None),
        ("return loan L-4471", "L-4471"),
        ("return loan ABX", "ABX"),
        ('return loan "Grete Weil"', "Grete Weil"),
    ],
)
def test_what_something_is_called_is_no_id(runtime: edgeret.Runtime, query: str, value: str | None) -> None:
    read = runtime.task(query).arguments("return_loan")
    assert [one.value for one in read.given.values()] == ([] if value is None else [value])
    assert ("loan_id" in read.missing) == (value is None)
    assert read.given == fill(TOOLS["return_loan"], query, (), TOOLS).given
