"""One question to components, step by step, as a task asks the library. Knows nothing of how anything is scored."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery
from edgeret.runtime.earlier import Earlier
from edgeret.runtime.history import History
from edgeret.runtime.learned_plan import Origin
from edgeret.runtime.mixed import mixed
from edgeret.runtime.options import DecideOptions
from edgeret.types import Arguments, Candidate, Decision, Hit, Tool
from edgeret_export.reference.arguments.filling import fill
from edgeret_export.reference.arguments.reader import reader_of
from edgeret_export.reference.follow_up import FollowUp
from edgeret_export.reference.request import Request
from edgeret_export.reference.stopwatch import Stopwatch


class Told:
    """What a task tells of its calls; here its history has them."""

    def call(self, tool: str) -> None:
        """It was called."""

    def fail(self, tool: str) -> None:
        """It did not work."""

    def retry(self, tool: str) -> None:
        """It may be chosen again."""

    def undo(self) -> None:
        """What happened last did not."""


class Asked:
    """A query, read by components. Not shared between threads."""

    def __init__(
        self,
        loaded: Any,
        query: str,
        history: History,
        tools: Collection[str] | None,
        earlier: Earlier | None,
    ) -> None:
        """As the runtime's `Request`, of `ComponentsLoaded`."""
        self._loaded, self._query, self._history, self._tools = loaded, query, history, tools
        self._earlier = earlier
        self.task = Told()
        self._encoding: Stopwatch | None = Stopwatch()
        self._small: Request | None = None
        self._full: Request | None = None
        # What was learned rests on the full encoder's vectors, and thresholds were fitted for all tools and for
        # requests that stand alone.
        if tools is None and earlier is None and not loaded.anything_learned and loaded.first is not None:
            self._small = loaded.first.read(query, self._encoding)
        else:
            self._read(self._encoding)

    @property
    def request(self) -> Request:
        """The query as the full encoder has it, which reads it now if it did not yet."""
        return self._read(Stopwatch())

    def _read(self, watch: Stopwatch) -> Request:
        """The same. Once the full encoder has read the query, it decides all further steps."""
        if self._full is None:
            scorer = self._loaded.scorer
            if self._earlier is not None:
                self._full = FollowUp(scorer, self._query, watch, scorer.subset(self._tools), self._earlier)
            else:
                self._full, self._small = scorer.read(self._query, watch, self._tools), None
        return self._full

    @property
    def names(self) -> tuple[str, ...]:
        """What is decided between."""
        return self.request.names

    @property
    def shown(self) -> str:
        """The words that a planner is shown."""
        return self.request.query

    def decide(self, history: History, options: DecideOptions) -> Decision:
        """As `Task.next`."""
        self._history = history
        watch, first = Stopwatch(self._encoding), self._loaded.first
        decision: Decision | None = None
        if self._small is not None and first is not None:
            decision = first.decide(self._small, history, options, watch)
        found: Decision = decision or self._loaded.decider.decide(self._read(watch), history, options, watch)
        self._encoding = None  # a refused question leaves the encoding's time to the next one
        return found

    def learn(self, origin: Origin, keep_words: bool) -> None:
        """Learns that the calls made solve the query. Raises OverlayError."""
        self.request.learn([call.tool for call in self._history.calls], origin, keep_words)

    def fork(self, history: History) -> Asked:
        """Another one that goes on from here, with a history of its own."""
        other = copy.copy(self)
        # The time of the encoding was spent once, so it stays with this one.
        vars(other).update(_encoding=None, _history=history)
        return other

    def arguments(self, tool: Tool, history: History, now: datetime | None) -> Arguments:
        """As `Task.arguments`."""
        held = self._loaded
        read = reader_of(held.arguments)
        encoded = None if read is None else self.encoded()
        return fill(tool, self._query, history.calls, held.tools, now, read, encoded)

    def encoded(self) -> EncodedQuery | None:
        """What the full encoder made of the query; None where it did not read it."""
        full = self._full is not None and self._loaded.components.stage == "full"
        return self._full.encoded if full and self._full is not None else None

    def probabilities(self) -> NDArray[np.float32]:
        """Of `names`, float32, by the full encoder."""
        return self.request.probabilities(self._history, Stopwatch())

    def ranked(self, values: NDArray[np.float32], k: int | None, history: History) -> tuple[Candidate, ...]:
        """The first `k` candidates (None: all) by these probabilities."""
        return self.request.ranked(values, k, history.blocked)

    def conformal(self, history: History, coverage: float) -> Sequence[Candidate]:
        """As `Task.conformal_set`."""
        calibration, ranked = self._loaded.components.calibration, self.ranked(self.probabilities(), None, history)
        found: Sequence[Candidate] = calibration.candidate_set(ranked, coverage)
        return found

    def both(self, k: int, history: History) -> list[Hit]:
        """As `Task.ranked`."""
        loaded, listed = self._loaded, self.ranked(self.probabilities(), None, history)
        known: Any = loaded.components.head is not None or loaded.anything_learned
        first = listed[0].tool if known and listed else None
        found = loaded.finder().hybrid(self._query, len(loaded.tools))
        return mixed([hit for hit in found if self._tools is None or hit.tool in self._tools], dict(listed), first)[:k]
