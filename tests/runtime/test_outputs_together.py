"""A list takes several outputs of one tool: those that lay there unused, or that went to one call together.

As the library reads them, and as Python does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from argument_tools import by_rules

from edgeret.types import Call, Tool
from edgeret_export.reference.arguments.filling import fill

BADGES = {"type": "array", "items": {"type": "string"}, "description": "Badge ids, as look_up_badge returns them"}
PERSON = {"type": "string"}
TOOLS = {
    one.name: one
    for one in (
        Tool(
            "look_up_badge",
            "Finds somebody's badge. Returns the badge id.",
            {"type": "object", "properties": {"person": PERSON}, "required": ["person"]},
        ),
        Tool(
            "free_hours",
            "Finds hours in which people are free. Returns the hours.",
            {"type": "object", "properties": {"badges": BADGES}, "required": ["badges"]},
        ),
        Tool(
            "open_door",
            "Lets people into a room",
            {"type": "object", "properties": {"badges": BADGES, "room": PERSON}, "required": ["badges"]},
        ),
    )
}
QUERY = "let Ines and Tarek into the archive"


def looked_up(*people: str) -> list[Call]:
    return [Call("look_up_badge", {"person": person}) for person in people]


def free(*badges: int) -> Call:
    return Call("free_hours", {"badges": [f"$out_{k}" for k in badges]})


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param(looked_up("Ines", "Tarek"), [1, 2], id="unused"),
        pytest.param([*looked_up("Ines", "Tarek"), free(1, 2)], [1, 2], id="used by one call"),
        pytest.param([*looked_up("Ines"), free(1), *looked_up("Tarek"), free(3)], [3], id="used by two calls"),
        pytest.param([*looked_up("Ines"), free(1), *looked_up("Tarek")], [3], id="one used"),
        pytest.param([*looked_up("Ines", "Tarek", "Mo"), free(1, 2)], [3], id="two used"),
    ],
)
def test_a_list_takes_what_lay_there_together(calls: Sequence[Call], expected: list[int]) -> None:
    wanted: Any = [f"$out_{k}" for k in expected]
    task = by_rules(list(TOOLS.values())).task(QUERY)
    for call in calls:
        task.call(call.tool, call.arguments)
    assert task.arguments("open_door").given["badges"].value == wanted
    assert fill(TOOLS["open_door"], QUERY, calls, TOOLS, None).given["badges"].value == wanted
