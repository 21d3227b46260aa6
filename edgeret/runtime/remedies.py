"""What would turn a decision of the library's: a plan learned, or a sentence in a description. Both are tried out on
copies, since no rule of thumb knows what a dozen plans or three hundred tools make of it. Knows nothing of how it is
told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from edgeret.core.learner import Learner, open_learner
from edgeret.core.model import Model, Task
from edgeret.core.step import Step
from edgeret.errors import InputError
from edgeret.inputs.hygiene import without_hidden
from edgeret.types import END, Call, Remedy, Tool

MOST_TOOLS = 1000
"""Beyond so many tools a description is not tried out: all words would be arranged anew, in half a second."""
MOST_QUOTED = 300
"""Characters of the request that a description would quote."""


class Trial:
    """A decision's request, to be read anew."""

    def __init__(
        self,
        model: Model,
        query: str,
        calls: tuple[Call, ...],
        begin: Callable[[Model, Learner | None], Task],
        step: Callable[[Task], Step],
        learner: Learner | None,
    ) -> None:
        """`begin` reads it by a model and by what was learned, with no calls, and `step` decides after what had
        happened then. No `learner` says that nothing was learned."""
        self._model, self._query, self._calls, self._learner = model, query, calls, learner
        self._begin, self._step = begin, step

    def remedies(self, tool: str, definition: Tool | None) -> tuple[Remedy, ...]:
        """What either would give a tool as the next call; `<end>` has no definition."""
        found = [self._learnt(tool)]
        if definition is not None and self._model.tools <= MOST_TOOLS:
            found.append(self._described(definition))
        return tuple(remedy for remedy in found if remedy is not None)

    def _learnt(self, tool: str) -> Remedy | None:
        """After one plan: the calls that were made, and the tool; or no more calls. None where that cannot be learned:
        calls of foreign tools, a later turn of a conversation, or a plan too long."""
        learner = open_learner(self._model, None, 0.0, None, 0) if self._learner is None else self._learner.copy()
        task = self._begin(self._model, learner)
        try:
            for name in self._names(tool):
                task.call(name)
            learner.learn(task, "corrected", False)
        except InputError:
            return None
        return self._outcome("learn", self._model, learner, tool)

    def _names(self, tool: str) -> Iterator[str]:
        yield from (call.tool for call in self._calls)
        if tool != END:
            yield tool

    def _described(self, old: Tool) -> Remedy | None:
        """After a sentence that quotes the request, behind the tool's description. None where that takes no more."""
        request = without_hidden(self._query)[:MOST_QUOTED]
        try:
            other = replace(old, description=f'{old.description} For example: "{request}".')
            told = self._model.with_tools((), (), [json.dumps(other.to_dict(), ensure_ascii=False)])
        except InputError:
            return None
        return self._outcome("describe", told, self._learner, old.name)

    def _outcome(self, kind: Literal["learn", "describe"], model: Model, learner: Learner | None, tool: str) -> Remedy:
        step, names = self._step(self._begin(model, learner)), (*model.names(), END)
        best: str | None = names[step.best]
        if step.abstained:
            best = None if self._calls else END
        return Remedy(kind, tool, step.values.item(names.index(tool)), best == tool)
