"""A trajectory as lessons: conversations to be learned by heart, and states to be answered anew. Pure; the prompts are
those of the served strategy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgeret.planner.chat import Prompt
from edgeret.strategies.toolqp import observation, opening, planning, searching
from edgeret_export.planner.trajectories import Trajectory


@dataclass(frozen=True, slots=True)
class State:
    """Where a planner stands in a trajectory before it answers: at the plan if `turn` is None, else behind so many
    searches."""

    trajectory: Trajectory
    turn: int | None

    @property
    def asked(self) -> tuple[str, ...]:
        """The queries so far."""
        return tuple(each.query for each in self.trajectory.turns[: self.turn or 0])

    @property
    def complete(self) -> bool:
        """Whether every sub-goal has its tools, so that it is time to stop."""
        return self.turn == len(self.trajectory.turns)

    @property
    def prompt(self) -> Prompt:
        """What the planner is asked here."""
        trajectory = self.trajectory
        if self.turn is None:
            return planning(trajectory.request.query)
        told = [opening(trajectory.request.query, trajectory.plan, trajectory.goals)]
        return searching([*told, *(observation(each.query, each.found) for each in trajectory.turns[: self.turn])])

    @property
    def answer(self) -> str:
        """What the trajectory answers here, as the grammar of a served planner writes it."""
        if self.turn is None:
            return _json({"plan": self.trajectory.plan, "goals": list(self.trajectory.goals)})
        query = "" if self.complete else self.trajectory.turns[self.turn].query
        return _json({"query": query, "stop": self.complete})


def states(trajectory: Trajectory) -> list[State]:
    """The plan, every turn, and the stop; none for a trajectory with a problem."""
    if trajectory.problem is not None:
        return []
    return [State(trajectory, None), *(State(trajectory, turn) for turn in range(len(trajectory.turns) + 1))]


def conversation(state: State) -> dict[str, list[dict[str, str]]]:
    """A lesson as chat messages: the "prompt", and the "completion" that is to be learned."""
    return {"prompt": state.prompt.messages, "completion": [{"role": "assistant", "content": state.answer}]}


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
