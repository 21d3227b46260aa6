"""Re-Invoke (paper 001): the planner extracts the intents of a request, each intent ranks all tools, and a tool counts
by its best rank, then its similarity (section 3.3).

Deviations: intents are a JSON list instead of lines; the request itself is a view like them, since a small planner
loses some of it, and the only one without a planner or where that names none; views rank as hybrid search does. The
other half of the paper, queries written for every tool (section 3.2), belongs to the build.
"""

from __future__ import annotations

from collections.abc import Iterator

from edgeret.planner.chat import Prompt, Turn
from edgeret.strategies.base import Search, Strategy
from edgeret.strategies.fusion import peak_rank
from edgeret.types import Hit

_SHAPE = {"intents": ["text"]}
_CONSTANT = (
    Turn(
        "system",
        "You are given what a user said. Name every single thing that the user wants a tool for, each in a short "
        'phrase of its own, and leave out all else. Answer in JSON: {"intents": [...]}.',
    ),
    Turn("user", "My flight lands at six in Oslo. What's the weather there, and can you get me a room for two nights?"),
    Turn("assistant", '{"intents":["weather forecast for Oslo","book a hotel room in Oslo for two nights"]}'),
    Turn("user", "I love old films. Suggest one for tonight."),
    Turn("assistant", '{"intents":["recommend a film"]}'),
)


def _views(search: Search) -> Iterator[list[Hit]]:
    answer = search.ask(Prompt(_CONSTANT, Turn("user", search.request)), _SHAPE, 128)
    intents = list(dict.fromkeys(intent.strip() for intent in (answer or {}).get("intents", ()) if intent.strip()))
    if intents:
        search.note("intents", "; ".join(intents))
    for text in dict.fromkeys((search.request, *intents)):
        yield search.view(text)


RE_INVOKE = Strategy("re-invoke", _views, peak_rank, helped=True)
"""The tools that one of the request's intents finds."""
