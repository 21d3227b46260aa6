"""What a decision remembers of how it was made: little, and no request's arrays. Knows nothing of words and votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from edgeret.runtime.components import Components
from edgeret.runtime.history import History
from edgeret.runtime.options import DecideOptions
from edgeret.runtime.ranking import ranked
from edgeret.runtime.scorer import Request, Scorer
from edgeret.scoring.learner import Learner
from edgeret.scoring.memory import Neighbours
from edgeret.stopwatch import Stopwatch
from edgeret.types import Call, Candidate, Decision, Failure


class Decides(Protocol):
    """What makes decisions, for whoever tries out what would turn one."""

    def decide(self, request: Request, history: History, options: DecideOptions, watch: Stopwatch) -> Decision:
        """The decision after a history."""

    def over(self, components: Components) -> Decides:
        """Another one, by other components, which asks no planner."""


class LearnedThen(NamedTuple):
    """What was learned when a decision was made: by a `learner` that had `learned` so many plans, with the mixture's
    `weights`; the query's `neighbours` and what the increments add to it (rows,)."""

    learner: Learner
    learned: int
    names: Sequence[str]
    weights: NDArray[np.float32]
    neighbours: Neighbours
    scores: NDArray[np.float32]
    trust: float


class Moment:
    """One decision's query, history and outcome. Immutable but for what it keeps to be faster.

    Where the request is gone, the same query is read again: that costs an encoding, and keeping every request that was
    ever decided would cost its vectors and scores.
    """

    __slots__ = (
        *("_again", "_among", "_calls", "_failures", "_numbers", "_request"),
        *("blocked", "decider", "learned", "options", "trial", "values"),
    )

    def __init__(
        self,
        request: Request,
        history: History,
        options: DecideOptions,
        values: NDArray[np.float32],
        decider: Decides,
        trial: tuple[Scorer, Decides] | None = None,
    ) -> None:
        """`values` are the probabilities of all that was decided between (n,), which stay as they are. `trial` is what
        decides once something is learned, None for the same."""
        self._request, self._again, self._among = ref(request), request.again, request.among
        self._calls, self._numbers = tuple(history.calls), tuple(history.numbers)
        self._failures: Sequence[Failure] = tuple(history.failures) if history.failures else ()
        self.blocked, self.options, self.values = history.blocked, options, values
        self.decider, self.trial = decider, trial
        known = request.known
        self.learned: LearnedThen | None = None
        if known is not None and known.counts:
            query = known.query
            numbers = (known.learned, known.learner.names, known.weights)
            self.learned = LearnedThen(known.learner, *numbers, query.neighbours, query.scores, query.trust)

    @property
    def request(self) -> Request:
        """The request, as it was read then or is read again now."""
        request = self._request()
        return self._again.read() if request is None else request

    @property
    def scorer(self) -> Scorer:
        """What read it."""
        scorer: Scorer = self._again.scorer
        return scorer

    @property
    def query(self) -> str:
        """The user's words."""
        return self._again.query

    def reread(self, scorer: Scorer) -> Request:
        """The same query as another scorer reads it, which decides between the same names."""
        return self._again.read(scorer)

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls that had been made."""
        return self._calls

    def history(self) -> History:
        """What had happened; a copy."""
        return History(list(self._calls), list(self._numbers), list(self._failures))

    def candidates(self, k: int | None) -> tuple[Candidate, ...]:
        """The `k` most probable candidates then, however many were listed."""
        names, near, allowed = self._among
        return ranked(names, near, allowed, self.values, k, self.blocked)
