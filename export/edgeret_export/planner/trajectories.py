"""ToolQP's trajectories: what a planner should have said, made from requests whose tools are known (paper 000,
algorithm 1). Knows nothing of files and of training.

A tool's rank is the worse of two: by the query alone, and by the search that serves, with the request's words before
the query's. By the latter alone any query would do for a request that finds its tools itself: of 18 queries of a model
of 135 M parameters all did, and seven spoke of something else. Deviation: a sub-goal that no query finds ends a
trajectory with a `problem`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from edgeret.errors import InputError
from edgeret.planner.answers import MAX_ITEMS
from edgeret.strategies.base import DEPTH, SHOWN
from edgeret.strategies.toolqp import MAX_TURNS, searched
from edgeret_export.planner.teacher import LEVELS, Need, Observed, Teacher
from edgeret_export.reference.python_finder import Ranker

THRESHOLD = 5.0
"""Tools of a sub-goal are found at this average rank and above."""
KEPT_FAILURES = 0.4
"""How likely the attempts before a query that finds its tools are kept."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request and the tools that it needs, in their order, at least one."""

    id: str
    query: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchTurn:
    """A query for the sub-goal at position `goal`: the first tools `found` in serving, SHOWN at most, and the `ranks`
    of the tools that it should find, from 1; None behind DEPTH."""

    query: str
    goal: int
    found: tuple[str, ...]
    ranks: Mapping[str, int | None]

    @property
    def average(self) -> float:
        """The mean of the ranks."""
        return sum(DEPTH + 1 if rank is None else rank for rank in self.ranks.values()) / len(self.ranks)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A request's plan and searches, the last one of each sub-goal finding its tools; or the `problem`, in words, that
    there was."""

    request: Request
    plan: str = ""
    goals: tuple[str, ...] = ()
    turns: tuple[SearchTurn, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class TrajectoryOptions:
    """How trajectories are made: queries drawn for a sub-goal at each level, and the seed."""

    candidates: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises InputError for no candidates."""
        if self.candidates < 1:
            raise InputError(f"--candidates: expected at least 1, found {self.candidates}")


class Maker:
    """Makes trajectories, each by itself: the same request gives the same, whichever were made before."""

    def __init__(self, teacher: Teacher, ranker: Ranker, options: TrajectoryOptions) -> None:
        self._teacher, self._ranker, self._options = teacher, ranker, options

    def make(self, request: Request) -> Trajectory:
        """The trajectory of a request. Raises PlannerError where the teacher cannot be asked."""
        if len(request.tools) > MAX_ITEMS:
            return Trajectory(request, problem=f"more than {MAX_ITEMS} tools, which no plan has room for")
        random = Random(f"{self._options.seed} {request.id} {request.query}")
        planned = self._teacher.plan(request.query, request.tools, random)
        if planned is None:
            return Trajectory(request, problem="the teacher gave no plan")
        turns: list[SearchTurn] = []
        done: dict[str, str] = {}
        for position, goal in enumerate(planned.goals):
            need = Need(request.query, planned, goal, dict(done))
            attempts = self._attempts(need, position, [turn.query for turn in turns], random)
            if not attempts or attempts[-1].average > THRESHOLD:
                problem = f"no query finds the tools of sub-goal {position + 1}"
                return Trajectory(request, planned.plan, tuple(planned.goals), tuple(turns), problem)
            # A served planner has so many turns, and stops in the last one.
            room = MAX_TURNS - 1 - len(turns) - (len(planned.goals) - position - 1)
            kept = random.random() < KEPT_FAILURES and len(attempts) <= room
            turns += attempts if kept else attempts[-1:]
            done[goal] = attempts[-1].query
        return Trajectory(request, planned.plan, tuple(planned.goals), tuple(turns))

    def _attempts(self, need: Need, position: int, asked: Sequence[str], random: Random) -> list[SearchTurn]:
        """The best query of each level for a sub-goal, up to the one that finds its tools."""
        attempts: list[SearchTurn] = []
        for level in range(1, LEVELS + 1):
            before = {*asked, *(attempt.query for attempt in attempts)}
            told = self._teacher.told(need, level, self._seen(need, level, attempts))
            drawn = [self._teacher.query(need, told, random) for _ in range(self._options.candidates)]
            # Who repeats a query has nothing more to say: serving takes it for a stop.
            queries = [query for query in dict.fromkeys(drawn) if query is not None and query not in before]
            if not queries:
                continue
            attempts.append(self._best(need, position, queries))
            if attempts[-1].average <= THRESHOLD:
                break
        return attempts

    def _best(self, need: Need, position: int, queries: Sequence[str]) -> SearchTurn:
        def search(query: str) -> SearchTurn:
            alone, served = (self._found(text, DEPTH) for text in (query, searched(need.request, query)))
            both = {name for name in need.targets if name in alone and name in served}
            ranks = {
                name: max(alone.index(name), served.index(name)) + 1 if name in both else None for name in need.targets
            }
            return SearchTurn(query, position, tuple(served[:SHOWN]), ranks)

        return min(map(search, queries), key=lambda turn: turn.average)

    def _seen(self, need: Need, level: int, attempts: Sequence[SearchTurn]) -> list[Observed]:
        """The searches that the teacher sees at a level, without the tools that are to be found."""
        texts = [attempts[-1].query] if level >= 3 and attempts else []
        texts += [need.planned.plan] if level >= 4 else []
        hidden = need.targets
        found = [self._found(searched(need.request, text), SHOWN + len(hidden)) for text in texts]
        names = [[name for name in each if name not in hidden][:SHOWN] for each in found]
        return [Observed(text, each) for text, each in zip(texts, names, strict=True)]

    def _found(self, text: str, k: int) -> list[str]:
        return [hit.tool for hit in self._ranker(text, k)]
