"""ToolQP (paper 000): the planner plans, then writes one search query a turn, each shown what the last one found, until
it stops or has had MAX_TURNS (section 3.1). A tool counts by its best rank in any turn (peak rank, section 3.3).

Deviations: turns are JSON. `PARALLEL` writes a query for every sub-goal of the plan at once, without feedback, and
`NO_QUERY` leaves the user's words out of the searches: the paper's ablations (section 5). What the planner is shown is
public: who trains one shows it the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from edgeret.planner.answers import Shape
from edgeret.planner.chat import Prompt, Turn
from edgeret.strategies.base import SHOWN, Search, Strategy
from edgeret.strategies.fusion import peak_rank
from edgeret.types import Hit

MAX_TURNS = 10
PLAN: Mapping[str, Shape] = {"plan": "text", "goals": ["text"]}
TURN: Mapping[str, Shape] = {"query": "text", "stop": "flag"}
PLAN_TOKENS, TURN_TOKENS = 320, 96
"""Of an answer, at most."""
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


def planning(request: str) -> Prompt:
    """The question for a plan, answered by a PLAN."""
    return Prompt(_PLANNING, Turn("user", request))


def opening(request: str, plan: str, goals: Sequence[str]) -> str:
    """What is told before the first search."""
    return f"Request: {request}\nPlan: {plan}\nSub-goals: {'; '.join(goals)}"


def observation(query: str, found: Sequence[str]) -> str:
    """What is told of a search: the tools found, best first; the planner is shown SHOWN of them."""
    return f"Searched: {query}\nFound: {', '.join(found[:SHOWN])}"


def searching(told: Sequence[str]) -> Prompt:
    """The question for the next query, answered by a TURN, after the opening and the observations so far."""
    return Prompt((_SEARCHING,), Turn("user", "\n".join(told)))


def searched(request: str, query: str) -> str:
    """The text of a search: the user's words stay in all of them."""
    return f"{request} {query}"


def _views(search: Search, with_request: bool = True, feedback: bool = True) -> Iterator[list[Hit]]:
    yield search.view(search.request)
    plan = search.ask(planning(search.request), PLAN, PLAN_TOKENS)
    if plan is None:
        return
    goals = [goal.strip() for goal in plan["goals"] if goal.strip()][:MAX_TURNS]
    search.note("plan", f"{plan['plan']} {'; '.join(goals)}".strip())
    text = partial(searched, search.request) if with_request else str
    if not feedback:
        for goal in dict.fromkeys(goals):
            yield search.view(text(goal))
        return
    told = [opening(search.request, plan["plan"], goals)]
    asked: set[str] = set()
    for _ in range(MAX_TURNS):
        turn = search.ask(searching(told), TURN, TURN_TOKENS)
        query = "" if turn is None else turn["query"].strip()
        # A planner that repeats itself has nothing more to say.
        if turn is None or turn["stop"] or not query or query in asked:
            search.note("stop", query)
            return
        asked.add(query)
        hits = search.view(text(query))
        told.append(observation(query, [hit.tool for hit in hits]))
        yield hits


TOOLQP = Strategy("toolqp", _views, peak_rank, asks=True)
"""The tools that one of the planner's queries finds, each written after the last one's results."""
PARALLEL = Strategy("toolqp-parallel", partial(_views, feedback=False), peak_rank, asks=True)
NO_QUERY = Strategy("toolqp-no-query", partial(_views, with_request=False), peak_rank, asks=True)
