"""ToolDreamer (paper 003): the planner imagines the tools that a request needs, each with a thought, a name and a
description, and searches for tools like those (section 3).

Deviations: imagined tools are a JSON list. The request stands before each of them (the paper's QTND): an encoder that
was not tuned on imagined tools alone finds more with it. A planner that imagines nothing leaves the request's own view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from edgeret.planner.chat import Prompt, Turn
from edgeret.strategies.base import Search, Strategy
from edgeret.strategies.fusion import reciprocal_rank
from edgeret.types import Hit

MAX_TOOLS = 4
"""Imagined tools that are searched for."""
KEYS = ("thought", "name", "description")
"""What is said of an imagined tool."""
_SHAPE = {"tools": [dict.fromkeys(KEYS, "text")]}
_CONSTANT = (
    Turn(
        "system",
        "You are given what a user said. Imagine the tools that would serve it, at most four: for each a thought on "
        'what is needed, a name, and one sentence that describes it. Answer in JSON: {"tools": [{"thought": …, '
        '"name": …, "description": …}]}.',
    ),
    Turn("user", "Will it rain in Bergen, and who can repair my bike there?"),
    Turn(
        "assistant",
        '{"tools":[{"thought":"the weather must be looked up","name":"weather_forecast","description":"Forecasts the '
        'weather of a place."},{"thought":"a workshop must be found","name":"local_business_search","description":'
        '"Finds shops and services near a place."}]}',
    ),
)


def told(tool: Mapping[str, str]) -> str:
    """An imagined tool as it is searched for: what it says under KEYS, blanks left out (the paper's TND)."""
    return ", ".join(part for key in KEYS if (part := tool[key].strip()))


def _views(search: Search) -> Iterator[list[Hit]]:
    yield search.view(search.request)
    answer = search.ask(Prompt(_CONSTANT, Turn("user", search.request)), _SHAPE, 320)
    for tool in (answer or {}).get("tools", ())[:MAX_TOOLS]:
        if text := told(tool):
            search.note("tool", text)
            yield search.view(f"{search.request} {text}")


TOOLDREAMER = Strategy("tooldreamer", _views, reciprocal_rank, asks=True)
"""The tools that are like those which the planner imagines."""
