"""A later turn of a conversation, beside what earlier turns asked and called, as Python reads it. Knows nothing of how
their evidence is weighed, and of who holds a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import MAX_CALLS
from edgeret.runtime.earlier import Earlier
from edgeret.runtime.history import History
from edgeret.runtime.learned_plan import Origin
from edgeret.runtime.reasons import BESIDE_TURNS
from edgeret.types import Call
from edgeret_export.reference.inputs.language import rules_in
from edgeret_export.reference.request import Request
from edgeret_export.reference.scorer import Scorer
from edgeret_export.reference.scoring.turns import TurnStep, next_probabilities, shipped_weights
from edgeret_export.reference.stopwatch import Stopwatch


class FollowUp(Request):
    """A turn that earlier ones may explain. Immutable.

    Its probabilities weigh what the new words say with no call but this turn's, what they say after all calls, and
    which tools were called earlier (see `edgeret_export.reference.scoring.turns`).
    """

    aside = BESIDE_TURNS

    def __init__(
        self, scorer: Scorer, query: str, watch: Stopwatch, allowed: NDArray[np.bool_] | None, earlier: Earlier
    ) -> None:
        """Encodes the turn, and nothing else. Raises as `Scorer.read` does."""
        self._earlier = earlier
        # No word of this turn need be near the tools of earlier calls.
        again = [scorer.position[call.tool] for call in earlier.calls if call.tool in scorer.position]
        self._also = np.array(again, np.intp)
        super().__init__(scorer, query, watch, allowed)
        self._told = earlier.told(query)
        self._before = self._made(earlier.calls)
        self._last = self._made(earlier.last)
        self._end = self.names.index(scorer.names[scorer.end])

    @property
    def _beside(self) -> Mapping[str, Any]:
        return {"earlier": self._earlier}

    @property
    def query(self) -> str:
        """The words of the last turns and of this one: what a planner is shown."""
        return self._told

    def probabilities(self, history: History, watch: Stopwatch) -> NDArray[np.float32]:
        """Calibrated probabilities of `names` after this turn's calls, float32, summing to 1; 0 for those that may not
        be chosen."""
        found = next_probabilities(self._step(history, watch), shipped_weights(self.demonstrated))
        watch.lap("fuse")
        return found

    def after(self, calls: Sequence[Call]) -> TurnStep:
        """What the mixture weighs after these calls of this turn, for whoever fits it."""
        return self._step(History(list(calls)), Stopwatch())

    def _step(self, history: History, watch: Stopwatch) -> TurnStep:
        alone = self._of_fused(history, watch)
        room = MAX_CALLS - len(history.calls)
        onward = self._of_fused(History([*self._earlier.calls[:room], *history.calls]), watch)
        allowed = np.ones(len(alone), bool) if self._allowed is None else self._allowed.copy()
        allowed[[self._position[name] for name in history.blocked if name in self._position]] = False
        made = self._made(history.calls)
        return TurnStep(
            alone, onward, allowed, self._end, rules_in(self._query).count(self._query), self._last, self._before, made
        )

    def _of_fused(self, history: History, watch: Stopwatch) -> NDArray[np.float32]:
        """Probabilities as behind any call: few turns are like a demonstration, and earlier ones say what the words
        leave out, so how familiar these are says nothing."""
        logs, points = self._fused(history, watch)
        return self._calibrated(logs, history, points)

    def learn(self, calls: Sequence[str], origin: Origin, keep_words: bool) -> None:
        """Raises InputError: the words of a later turn, alone, do not ask for its calls."""
        raise InputError(
            "a later turn of a conversation leans on earlier ones and cannot be learned; "
            "learn a request that stands alone, with runtime.learn"
        )
