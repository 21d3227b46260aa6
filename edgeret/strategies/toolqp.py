"""ToolQP (paper 000): the planner plans, then writes one search query a turn, each shown what the last one found, until
it stops or has had MAX_TURNS (section 3.1). A tool counts by its best rank in any turn (peak rank, section 3.3).

Deviations: turns are JSON. `PARALLEL` writes a query for every sub-goal of the plan at once, without feedback, and
`NO_QUERY` leaves the user's words out of the searches: the paper's ablations (section 5).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from edgeret.planner.chat import Prompt, Turn
from edgeret.strategies.base import SHOWN, Search, Strategy
from edgeret.strategies.fusion import peak_rank
from edgeret.types import Hit

MAX_TURNS = 10
_PLAN = {"plan": "text", "goals": ["text"]}
_TURN = {"query": "text", "stop": "flag"}
_PLANNING = (
    Turn(
        "system",
        "You find tools for a user's request by searching a library of tools. First plan: say in one sentence what the "
        'request takes, and list its sub-goals. Answer in JSON: {"plan": …, "goals": [...]}.',
    ),
    Turn("user", "Book a table near my hotel in Rome and tell Ana where."),
    Turn(
        "assistant",
        '{"plan":"Find the hotel, find and book a restaurant near it, then send the address.","goals":["look up a '
        'hotel booking","search restaurants near a place","reserve a table","send a message to a contact"]}',
    ),
)
_SEARCHING = Turn(
    "system",
    "You find tools for a user's request by searching a library of tools, one sub-goal at a time. You see the plan and "
    "what was found so far. Write the next search query, a short description of a tool that is still missing; or stop "
    'when every sub-goal has its tool. Answer in JSON: {"query": …, "stop": true or false}.',
)


def _views(search: Search, with_request: bool = True, feedback: bool = True) -> Iterator[list[Hit]]:
    yield search.view(search.request)
    plan = search.ask(Prompt(_PLANNING, Turn("user", search.request)), _PLAN, 320)
    if plan is None:
        return
    goals = [goal.strip() for goal in plan["goals"] if goal.strip()][:MAX_TURNS]
    search.note("plan", f"{plan['plan']} {'; '.join(goals)}".strip())
    if not feedback:
        for goal in dict.fromkeys(goals):
            yield _searched(search, goal, with_request)
        return
    told = [f"Request: {search.request}", f"Plan: {plan['plan']}", f"Sub-goals: {'; '.join(goals)}"]
    asked: set[str] = set()
    for _ in range(MAX_TURNS):
        turn = search.ask(Prompt((_SEARCHING,), Turn("user", "\n".join(told))), _TURN, 96)
        query = "" if turn is None else turn["query"].strip()
        # A planner that repeats itself has nothing more to say.
        if turn is None or turn["stop"] or not query or query in asked:
            search.note("stop", query)
            return
        asked.add(query)
        hits = _searched(search, query, with_request)
        told.append(f"Searched: {query}\nFound: {', '.join(hit.tool for hit in hits[:SHOWN])}")
        yield hits


def _searched(search: Search, query: str, with_request: bool) -> list[Hit]:
    return search.view(f"{search.request} {query}" if with_request else query)


TOOLQP = Strategy("toolqp", _views, peak_rank, asks=True)
"""The tools that one of the planner's queries finds, each written after the last one's results."""
PARALLEL = Strategy("toolqp-parallel", partial(_views, feedback=False), peak_rank, asks=True)
NO_QUERY = Strategy("toolqp-no-query", partial(_views, with_request=False), peak_rank, asks=True)
