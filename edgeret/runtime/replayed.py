"""A decision of the library's, made once more to tell why. Knows nothing of how anything is scored, and of words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from edgeret.runtime.by_core import CoreRequest
from edgeret.runtime.earlier import Earlier
from edgeret.runtime.history import History
from edgeret.runtime.loaded import Loaded
from edgeret.runtime.options import DecideOptions
from edgeret.stopwatch import Stopwatch
from edgeret.types import END, Candidate, Remedy, Tool

if TYPE_CHECKING:
    from edgeret.core.explained import Explained
    from edgeret.runtime.why import Remembered


class Replayed:
    """As `edgeret.runtime.explanation.Then`. The words are read again: to keep every request that was ever decided
    would cost its vectors and scores."""

    advice = 0.0

    def __init__(
        self,
        loaded: Loaded,
        query: str,
        tools: Collection[str] | None,
        history: History,
        options: DecideOptions,
        alone: bool,
        candidates: Callable[[int | None], tuple[Candidate, ...]],
    ) -> None:
        """`tools` are those that could be chosen, `alone` says whether the small encoder decided in place of the full
        one, and `candidates` gives so many of those that there were."""
        self._loaded, self.query, self._tools, self._history = loaded, query, tools, history
        self.options, self._alone, self.candidates = options, alone, candidates
        self._request = CoreRequest(loaded, query, history, tools, None, own=not alone)
        self._step = self._request.step(options)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """All tools that there were, by name."""
        return self._loaded.tools

    def explained(self, compared: Sequence[str], end: float) -> Explained:
        """What the parts say of these candidates."""
        numbers = [-1 if name == END else self._loaded.candidates.index(name) for name in compared]
        return self._request.task.explain(numbers, compared)

    def floor(self, best: str) -> float:
        """How probable this answer had to be."""
        return self._step.floor

    def remedies(self, tool: str) -> tuple[Remedy, ...]:
        """What would turn it to this tool."""
        from edgeret.runtime.remedies import remedies

        asked = self._loaded, self.query, self._tools, None, self._history, self.options, self._alone
        return remedies(remembered(*asked), tool)


def remembered(
    loaded: Loaded,
    query: str,
    tools: Collection[str] | None,
    earlier: Earlier | None,
    made: History,
    options: DecideOptions,
    alone: bool,
) -> Remembered:
    """The same decision by Python's own components, which are within 1e-5 of the library's."""
    from edgeret.runtime.why import Remembered

    scorer, decider = loaded.untaught, loaded.decider
    if alone and loaded.first is not None:
        scorer, decider = loaded.first.scorer, loaded.first.decider
    watch = Stopwatch()
    request = scorer.read(query, watch, tools) if earlier is None else earlier.read(scorer, query, watch, tools)
    numbers = [scorer.number(call.tool) for call in made.calls]
    history = History(list(made.calls), numbers, list(made.failures), made.now)
    return Remembered(request, history, options, request.probabilities(history, watch), decider)
