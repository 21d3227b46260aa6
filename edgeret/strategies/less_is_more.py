"""Less-is-More, level 1: the planner describes the ideal tools for a request, and that text is searched for; where what
it finds is no nearer than what the request itself finds, all tools stay in the order of the request.

Deviation: the text is a JSON list of descriptions, searched for as one.
"""

from __future__ import annotations

from collections.abc import Iterator

from edgeret.planner.chat import Prompt, Turn
from edgeret.strategies.base import Search, Strategy
from edgeret.strategies.fusion import peak_rank
from edgeret.types import Hit

_SHAPE = {"tools": ["text"]}
_CONSTANT = (
    Turn(
        "system",
        "You are given what a user said. Describe the ideal tools to serve it, each in one short sentence. Answer in "
        'JSON: {"tools": [...]}.',
    ),
    Turn("user", "How do I get to the lido by bus, and is it open?"),
    Turn("assistant", '{"tools":["Finds routes by public transport.","Looks up opening hours of a place."]}'),
)


def _views(search: Search) -> Iterator[list[Hit]]:
    plain = search.view(search.request)
    answer = search.ask(Prompt(_CONSTANT, Turn("user", search.request)), _SHAPE, 192)
    text = " ".join(sentence.strip() for sentence in (answer or {}).get("tools", ()))
    described = search.view(text) if text.strip() else []
    trusted = bool(described) and _nearest(described) >= _nearest(plain)
    if described and not trusted:
        search.note("fallback", "what was described is no nearer to any tool than the request")
    yield described if trusted else plain


def _nearest(hits: list[Hit]) -> float:
    return max(hit.similarity for hit in hits)


LESS_IS_MORE = Strategy("less-is-more", _views, peak_rank, asks=True)
"""The tools that are like the ideal ones which the planner describes."""
