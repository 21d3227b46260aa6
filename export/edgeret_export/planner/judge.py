"""What a planner's answer in a state of a trajectory is worth: reads it as serving does, and searches for what it says.
Knows nothing of how the answer came about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from edgeret.planner.answers import Shape, read_answer
from edgeret.strategies.base import DEPTH
from edgeret.strategies.toolqp import PLAN, PLAN_TOKENS, TURN, TURN_TOKENS, searched
from edgeret.types import Hit, Usage
from edgeret_export.planner.lessons import State
from edgeret_export.planner.rewards import Terms, gains, stop_reward
from edgeret_export.reference.python_finder import Ranker

_NOTHING = Usage(0, 0, 0, 0, 0.0)


class Judge:
    """Judges answers by what searching for them adds."""

    def __init__(self, ranker: Ranker, similarity: Callable[[str, str], float]) -> None:
        """`similarity` is the cosine of two texts."""
        self._rank = lru_cache(maxsize=10_000)(lambda text: tuple(ranker(text, DEPTH)))
        self._similarity = similarity

    def terms(self, state: State, text: str, tokens: int) -> Terms:
        """The reward's terms for an answer of so many tokens; nothing for one that serving would take for none."""
        if state.turn is None:
            plan = _read(text, PLAN, tokens, PLAN_TOKENS)
            return Terms() if plan is None else self._of_plan(state, plan["plan"], plan["goals"])
        turn = _read(text, TURN, tokens, TURN_TOKENS)
        return Terms() if turn is None else self._of_turn(state, turn["query"].strip(), turn["stop"])

    def _of_plan(self, state: State, plan: str, goals: Sequence[str]) -> Terms:
        """A plan is worth what its sub-goals find, searched for as they are, and how near it is to the trajectory's."""
        request = state.trajectory.request
        asked = [goal.strip() for goal in goals if goal.strip()]
        found = gains([self._rank(request.query)], self._searches(state, asked), request.tools)
        return Terms(*found, format=1.0, plan=self._similarity(plan, state.trajectory.plan) if plan.strip() else 0.0)

    def _of_turn(self, state: State, query: str, stop: bool) -> Terms:
        request = state.trajectory.request
        stopped = stop or not query or query in state.asked
        before = [self._rank(request.query), *self._searches(state, state.asked)]
        found = gains(before, [] if stopped else self._searches(state, [query]), request.tools)
        return Terms(*found, format=1.0, stop=stop_reward(stopped, state.complete))

    def _searches(self, state: State, queries: Sequence[str]) -> list[tuple[Hit, ...]]:
        return [self._rank(searched(state.trajectory.request.query, query)) for query in queries]


def _read(text: str, shape: Shape, tokens: int, most: int) -> Any | None:
    """An answer of a shape; None for what is none, and for what serving would have cut off."""
    return None if tokens > most else read_answer(text.strip(), shape, _NOTHING).value
