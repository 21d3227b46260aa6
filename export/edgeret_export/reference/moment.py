"""What a decision remembers of how it was made: little, and no request's arrays. Knows nothing of words and votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from edgeret.runtime.history import History
from edgeret.runtime.options import DecideOptions
from edgeret.runtime.ranking import ranked
from edgeret.types import Call, Candidate, Decision, Failure, Tool
from edgeret_export.reference.stopwatch import Stopwatch

if TYPE_CHECKING:
    from edgeret_export.reference.components import Components
    from edgeret_export.reference.request import Request
    from edgeret_export.reference.scorer import Scorer


class Decides(Protocol):
    """What makes decisions, for whoever tries out what would turn one."""

    def decide(self, request: Request, history: History, options: DecideOptions, watch: Stopwatch) -> Decision:
        """The decision after a history."""

    @property
    def trial(self) -> tuple[Scorer, Decides] | None:
        """What decides once something is learned, and reads for it; None for the same."""

    def floor(self, tool: str, later: bool, options: DecideOptions) -> float:
        """How probable this answer must be."""

    def over(self, components: Components) -> Decides:
        """Another one, by other components, which asks no planner."""


class Moment:
    """One decision's query, history and outcome. Immutable.

    Where the request is gone, the same query is read again: that costs an encoding, and keeping every request that was
    ever decided would cost its vectors and scores.
    """

    __slots__ = ("_again", "_calls", "_failures", "decider", "learned", "now", "options", "values")

    def __init__(
        self, request: Request, history: History, options: DecideOptions, values: NDArray[np.float32], decider: Decides
    ) -> None:
        """`values` are the probabilities of all that was decided between (n,), which stay as they are."""
        # With every decision, so no more than is needed.
        self._again = request.again
        self._calls = tuple(history.calls)
        self._failures: Sequence[Failure] = tuple(history.failures) if history.failures else ()
        self.now = history.now
        self.options, self.values, self.decider, self.learned = options, values, decider, request.learned_then

    @property
    def request(self) -> Request:
        """The request, as it was read then or is read again now."""
        return self._again.read()

    @property
    def query(self) -> str:
        """The user's words."""
        return self._again.query

    @property
    def scorer(self) -> Scorer:
        """What read it."""
        scorer: Scorer = self._again.scorer
        return scorer

    def reread(self, scorer: Scorer) -> Request:
        """The same query as another scorer reads it, which decides between the same names."""
        return self._again.read(scorer)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """All tools that there were, by name."""
        return self.scorer.components.tools

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls that had been made."""
        return self._calls

    def history(self) -> History:
        """What had happened; a copy."""
        return History(list(self._calls), list(self._failures), self.now)

    def candidates(self, k: int | None) -> tuple[Candidate, ...]:
        """The `k` most probable candidates then, however many were listed."""
        names, near, allowed = self._again.among
        return ranked(names, near, allowed, self.values, k, self.history().blocked)
