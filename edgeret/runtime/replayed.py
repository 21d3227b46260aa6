"""A decision of the library's, made once more to tell why; and what would have turned it, tried out on copies, since no
rule of thumb knows what a dozen plans or three hundred tools make of it. Knows nothing of how anything is scored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

from edgeret.core.explained import Explained
from edgeret.core.learner import Learner
from edgeret.core.model import Model, Task
from edgeret.core.step import Step
from edgeret.errors import InputError
from edgeret.inputs.hygiene import without_hidden
from edgeret.runtime.asked import Asked, needed, replay
from edgeret.runtime.history import History
from edgeret.runtime.learned import Known
from edgeret.runtime.options import DecideOptions
from edgeret.types import END, Candidate, Remedy, Tool

MOST_TOOLS = 1000
"""Beyond so many tools a description is not tried out: all words would be arranged anew, in half a second."""
MOST_QUOTED = 300
"""Characters of the request that a description would quote."""


class Replayed:
    """As `edgeret.runtime.explanation.Then`. The words are read again: to keep every request that was ever decided
    would cost its vectors and scores."""

    def __init__(
        self,
        asked: Asked,
        history: History,
        options: DecideOptions,
        alone: bool,
        candidates: Callable[[int | None], tuple[Candidate, ...]],
        known: Known,
    ) -> None:
        """`alone` says whether the small encoder decided in place of the full one, `candidates` gives so many of those
        that there were, and `known` is what was learned then."""
        self._asked, self._loaded, self.query, self._history = asked, asked.loaded, asked.query, history
        self.options, self._alone, self.candidates = options, alone, candidates
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
        """What would turn it to this tool, as the next call: a plan learned, or a sentence in its description."""
        # What is learned rests on the bundle's own encoder.
        found = [self._learnt(tool)]
        if tool != END and self._loaded.core.tools <= MOST_TOOLS:
            found.append(self._described(self.tools[tool]))
        return tuple(remedy for remedy in found if remedy is not None)

    def _learnt(self, tool: str) -> Remedy | None:
        """After one plan: the calls that were made, and the tool; or no more calls. None where that cannot be learned:
        calls of foreign tools, a later turn of a conversation, or a plan too long."""
        model, learner = self._loaded.core, self._learner.copy()
        task = self._asked.begin(model, learner)
        try:
            for name in (*(call.tool for call in self._history.calls), *([] if tool == END else [tool])):
                task.call(name)
            learner.learn(task, "corrected", False)
        except InputError:
            return None
        return self._outcome("learn", model, learner, tool)

    def _described(self, old: Tool) -> Remedy | None:
        """After a sentence that quotes the request, behind the tool's description. None where that takes no more."""
        request = without_hidden(self.query)[:MOST_QUOTED]
        try:
            other = replace(old, description=f'{old.description} For example: "{request}".')
            told = self._loaded.core.with_tools((), (), [json.dumps(other.to_dict(), ensure_ascii=False)])
        except InputError:
            return None
        return self._outcome("describe", told, self._learner, old.name)

    def _outcome(self, kind: Literal["learn", "describe"], model: Model, learner: Learner, tool: str) -> Remedy:
        step, names = self._step(self._asked.begin(model, learner)), (*model.names(), END)
        best: str | None = names[step.best]
        if step.abstained:
            best = None if self._history.calls else END
        return Remedy(kind, tool, step.values.item(names.index(tool)), best == tool)

    @cached_property
    def _decided(self) -> tuple[Task, Step]:
        # Where the small encoder decided alone it went by nothing that was learned.
        task = self._asked.begin(self._loaded.core, None if self._alone else self._learner)
        return task, self._step(task, not self._alone)

    def _step(self, task: Task, own: bool = True) -> Step:
        replay(task, self._history)
        return task.next(int(self.options.policy == "heads"), *needed(self.options, self._loaded.risk), own)
