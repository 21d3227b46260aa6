"""A decision of the library's, made once more to tell why. Knows nothing of how anything is scored, and of words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from edgeret.core.explained import Explained
from edgeret.core.learner import Learner
from edgeret.core.model import Model, Task
from edgeret.core.step import Step
from edgeret.runtime.handed import needed, replay
from edgeret.runtime.history import History
from edgeret.runtime.learned import Known
from edgeret.runtime.loaded import Loaded
from edgeret.runtime.options import DecideOptions
from edgeret.runtime.remedies import Trial
from edgeret.types import END, Candidate, Remedy, Tool

if TYPE_CHECKING:
    from edgeret.runtime.earlier import Earlier


class Replayed:
    """As `edgeret.runtime.explanation.Then`. The words are read again: to keep every request that was ever decided
    would cost its vectors and scores."""

    def __init__(
        self,
        loaded: Loaded,
        query: str,
        tools: Collection[str] | None,
        earlier: Earlier | None,
        history: History,
        options: DecideOptions,
        alone: bool,
        candidates: Callable[[int | None], tuple[Candidate, ...]],
        known: Known,
    ) -> None:
        """`tools` are those that could be chosen, `earlier` is what came before, `alone` says whether the small encoder
        decided in place of the full one, `candidates` gives so many of those that there were, and `known` is what was
        learned then."""
        self._loaded, self.query, self._earlier, self._history = loaded, query, earlier, history
        self._numbers = None if tools is None else loaded.numbers_of(tools)
        self.options, self._alone, self.candidates = options, alone, candidates
        self._model: Model = loaded.core
        self._learner = known.learner

    @property
    def advice(self) -> float:
        """What a planner's advice weighs."""
        return self._loaded.reranking.weight

    @property
    def tools(self) -> Mapping[str, Tool]:
        """All tools that there were, by name."""
        return self._loaded.tools

    def explained(self, compared: Sequence[str], end: float) -> Explained:
        """What the parts say of these candidates. What was forgotten since counts as it did then, without its words."""
        numbers = [-1 if name == END else self._loaded.candidates.index(name) for name in compared]
        found = self._decided[0].explain(numbers, compared)
        if not any(one.learned and one.query for one in found.demonstrations):
            return found
        kept = {(plan.query, plan.calls) for plan in self._loaded.learned.plans}
        return found._replace(
            demonstrations=tuple(
                one if not one.learned or (one.query, one.calls) in kept else replace(one, query=None)
                for one in found.demonstrations
            )
        )

    def floor(self, best: str) -> float:
        """How probable this answer had to be."""
        return self._decided[1].floor

    def remedies(self, tool: str) -> tuple[Remedy, ...]:
        """What would turn it to this tool."""
        # What is learned rests on the bundle's own encoder.
        trial = Trial(self._model, self.query, tuple(self._history.calls), self._begin, self._step, self._learner)
        return trial.remedies(tool, None if tool == END else self.tools[tool])

    @cached_property
    def _decided(self) -> tuple[Task, Step]:
        # Where the small encoder decided alone it went by nothing that was learned.
        task = self._begin(self._model, None if self._alone else self._learner)
        return task, self._step(task, not self._alone)

    def _begin(self, model: Model, learner: Learner | None) -> Task:
        earlier = None if self._earlier is None else self._earlier.named
        return model.begin(self.query, self._numbers, None if learner is None else learner.handle, earlier)

    def _step(self, task: Task, own: bool = True) -> Step:
        replay(task, self._history)
        return task.next(int(self.options.policy == "heads"), *needed(self.options, self._loaded.risk), own)
