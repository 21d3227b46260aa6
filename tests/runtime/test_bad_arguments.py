"""Requests that tempt to give a wrong value: a right one, or none."""

from __future__ import annotations

import pytest
from argument_tools import DAY, MESSAGE, NOW, TEXT, read, tool

from edgeret_export.reference.arguments.spans import Suitor
from edgeret_export.reference.inputs.chunks import chunks
from edgeret_export.reference.inputs.parameters import parameters


@pytest.mark.parametrize(
    "query",
    [
        "any day but Monday",
        "every day other than Monday",
        "all days except Monday",
        "I can't do Monday",
        "never Monday",
    ],
)
def test_a_day_that_is_ruled_out_is_missing(query: str) -> None:
    meet = tool("plan_meeting", "Plans a meeting.", day=DAY)
    assert read(meet, query, now=NOW) == {}


@pytest.mark.parametrize("first", ["150 pounds", "150 lb", "3 km"])
def test_no_part_of_a_measure_is_a_number_of_another_unit(first: str) -> None:
    """A head may point at the 150 alone."""
    weigh = tool("store_weight", "Stores a weight.", kg={"type": "number", "description": "Weight in kilograms."})
    found = chunks(f"store {first}")
    assert Suitor(found, weigh, (), None, None).fit(parameters(weigh)[0], 1, 2) is None
    kept = Suitor(chunks("store 150 kg"), weigh, (), None, None).fit(parameters(weigh)[0], 1, 3)
    assert kept is not None and kept.value == 150


@pytest.mark.parametrize("name", ["Ana", "Ana 🙂", "🙂Ana🙂", "Ana 👩‍👩‍👧"])
def test_emoji_are_no_part_of_a_name_or_make_it_missing(name: str) -> None:
    assert read(MESSAGE, f"Tell {name} that dinner 🍝 is ready")["person"] == "Ana"
    smile = tool("😀", "Sends a smile.", **{"name😀": {"type": "string", "description": "Name of the person."}})
    assert read(smile, f"smile at {name}") == {"name😀": "Ana"}


@pytest.mark.parametrize(
    "query", ["rename a.pdf, close the window, to b.pdf", "rename the file a.pdf and after that play Berta"]
)
def test_no_value_crosses_two_clauses(query: str) -> None:
    rename = tool("rename_file", "Renames a file.", file=TEXT, new_name=TEXT)
    assert read(rename, query) == {"file": "a.pdf"}
