"""A request as it was asked, what had happened, and how the library is told of both. Knows nothing of decisions."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.core.learner import Learner
from edgeret.core.model import Model, Task
from edgeret.runtime.earlier import Earlier
from edgeret.runtime.history import History
from edgeret.runtime.loaded import Loaded
from edgeret.runtime.options import DecideOptions
from edgeret.runtime.ranking import ranked
from edgeret.types import Candidate


class Asked(NamedTuple):
    """A request: its words, the tools that can be chosen, None for all, and what came before it in a conversation."""

    loaded: Loaded
    query: str
    tools: Collection[str] | None
    earlier: Earlier | None

    def begin(self, model: Model, learner: Learner | None) -> Task:
        """Reads it by a model and by what was learned, None for nothing. Raises InputError and BundleError."""
        numbers = None if self.tools is None else self.loaded.numbers_of(self.tools)
        earlier = None if self.earlier is None else self.earlier.named
        return model.begin(self.query, numbers, None if learner is None else learner.handle, earlier)

    def ranked(self, values: NDArray[np.float32], k: int | None, history: History) -> tuple[Candidate, ...]:
        """The `k` most probable candidates (None: all) by these probabilities, without those that may not be chosen
        behind a history."""
        names, mask = self.loaded.candidates, None
        if self.tools is not None:
            mask = np.zeros(len(names), bool)
            mask[self.loaded.numbers_of(self.tools)] = mask[-1] = True
        return ranked(names, None, mask, values, k, history.blocked)


def needed(options: DecideOptions, usual: float | None) -> tuple[float, float]:
    """The least probability and the risk, as the library takes them, by the `usual` risk where nobody says."""
    least, risk = options.min_probability, options.risk
    if least is None:
        return 0.0, usual or 0.0 if risk is None else risk
    return least or -1.0, 0.0


def replay(task: Task, history: History) -> None:
    """Tells the library what had happened."""
    failures = iter([*history.failures, None])
    failure = next(failures)
    for made in range(len(history.calls) + 1):
        while failure is not None and failure.after == made:
            task.fail(failure.tool)
            if failure.retried:
                task.retry(failure.tool)
            failure = next(failures)
        if made < len(history.calls):
            task.call(history.calls[made].tool)
