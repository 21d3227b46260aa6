"""Between a decision of the library and what tells of it. Tells nothing itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgeret.core.step import Step
from edgeret.runtime.asked import Asked
from edgeret.runtime.history import History
from edgeret.runtime.learned import Known
from edgeret.runtime.options import DecideOptions
from edgeret.types import Alternative, Arguments, Candidate, Decision, Explanation

if TYPE_CHECKING:
    from edgeret.runtime.replayed import Replayed


class Recalled:
    """The `why` of a decision that the library made. It is decided once more when somebody asks why."""

    __slots__ = (
        *("_alone", "_alternatives", "_arguments", "_asked", "_calls", "_failures", "_known", "_options", "_request"),
        *("_step", "now"),
    )

    def __init__(
        self,
        asked: Asked,
        request: Callable[[], Any],
        step: Step,
        history: History,
        options: DecideOptions,
        alone: bool,
        known: Known,
    ) -> None:
        """`alone` says whether the small encoder decided in place of the full one; `request` gives the `Request`, which
        encodes no second time as long as somebody keeps it; `known` is what was learned then."""
        self._known = known
        self._asked, self._request, self._step, self._options, self._alone = asked, request, step, options, alone
        self._calls, self._failures, self.now = tuple(history.calls), tuple(history.failures), history.now
        self._alternatives: tuple[Alternative, ...] | None = None
        self._arguments: Arguments | None = None

    @property
    def values(self) -> NDArray[np.float32]:
        """The probabilities of all tools and, last, of the end, (tools + 1,)."""
        return self._step.values

    def history(self) -> History:
        """What had happened."""
        return History(list(self._calls), list(self._failures), self.now)

    def listed(self) -> tuple[Candidate, ...]:
        """As many candidates as were asked for."""
        return self.candidates(self._options.k)

    def candidates(self, k: int | None) -> tuple[Candidate, ...]:
        """The `k` most probable (None: all)."""
        return self._asked.ranked(self.values, k, self.history())

    def alternatives(self, decision: Decision) -> tuple[Alternative, ...]:
        """As `Decision.alternatives`."""
        if self._alternatives is None:
            from edgeret.runtime.alternatives import alternatives

            loaded = self._asked.loaded
            self._alternatives = alternatives(decision, self.candidates, loaded.tools, loaded.exemplars, loaded.learned)
        return self._alternatives

    def arguments(self, decision: Decision) -> Arguments:
        """As `Decision.arguments` and `Decision.missing`."""
        if self._arguments is None:
            kept, core = self._request(), self._asked.loaded.core
            task = core.begin(self._asked.query, None) if kept is None else kept.task
            self._arguments = task.arguments(str(decision.tool), self._calls, self.now)
        return self._arguments

    def explain(self, decision: Decision, instead: str | None) -> Explanation:
        """As `Decision.explain`."""
        from edgeret.runtime.explanation import explain

        return explain(self.again(), decision, instead)

    def again(self) -> Replayed:
        """The same step, for more questions."""
        from edgeret.runtime.replayed import Replayed

        return Replayed(self._asked, self.history(), self._options, self._alone, self.candidates, self._known)
