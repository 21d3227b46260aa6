"""Between a decision of the library and what tells of it. Tells nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery
from edgeret.runtime.earlier import Earlier
from edgeret.runtime.history import History
from edgeret.runtime.loaded import Loaded
from edgeret.runtime.options import DecideOptions
from edgeret.types import Alternative, Arguments, Candidate, Decision, Explanation


class Encoded(Protocol):
    """A request that was begun."""

    def encoded(self) -> EncodedQuery:
        """What the bundle's own encoder makes of its query."""


class Recalled:
    """The `why` of a decision that the library made. It is decided once more when somebody asks why."""

    __slots__ = (
        *("_alone", "_alternatives", "_arguments", "_calls", "_earlier", "_failures", "_listed", "_loaded"),
        *("_options", "_query", "_request", "_tools", "now", "values"),
    )

    def __init__(
        self,
        loaded: Loaded,
        query: str,
        tools: Collection[str] | None,
        earlier: Earlier | None,
        history: History,
        options: DecideOptions,
        alone: bool,
        request: Callable[[], Encoded | None],
        listed: Callable[[int | None], tuple[Candidate, ...]],
        values: NDArray[np.float32],
    ) -> None:
        """`tools` are those that could be chosen, `earlier` is what came before, `alone` whether the small encoder
        decided in place of the full one; `request` is what encodes no second time as long as somebody keeps it, and
        `listed` gives so many candidates. `values` are the probabilities of all tools and, last, of the end,
        (tools + 1,)."""
        self._loaded, self._query, self._tools, self._options = loaded, query, tools, options
        self._earlier, self._calls = earlier, tuple(history.calls)
        self._failures = tuple(history.failures) if history.failures else ()
        self.now, self._alone, self._request, self._listed = history.now, alone, request, listed
        self.values = values
        self._alternatives: tuple[Alternative, ...] | None = None
        self._arguments: Arguments | None = None

    def alternatives(self, decision: Decision) -> tuple[Alternative, ...]:
        """As `Decision.alternatives`."""
        if self._alternatives is None:
            from edgeret.runtime.alternatives import alternatives

            loaded = self._loaded
            self._alternatives = alternatives(decision, self._listed, loaded.tools, loaded.exemplars, None)
        return self._alternatives

    def arguments(self, decision: Decision) -> Arguments:
        """As `Decision.arguments` and `Decision.missing`."""
        if self._arguments is None:
            from edgeret.runtime.argument_reader import reader_of
            from edgeret.runtime.arguments import fill

            tools, read = self._loaded.tools, reader_of(self._loaded.arguments)
            kept = None if read is None else self._request()
            encoded = None if kept is None else kept.encoded()
            tool = tools[str(decision.tool)]
            self._arguments = fill(tool, self._query, self._calls, tools, self.now, read, encoded)
        return self._arguments

    def explain(self, decision: Decision, instead: str | None) -> Explanation:
        """As `Decision.explain`."""
        from edgeret.runtime.explanation import explain
        from edgeret.runtime.replayed import Replayed

        history = History(list(self._calls), [], list(self._failures), self.now)
        asked = self._loaded, self._query, self._tools, self._earlier, history, self._options, self._alone, self._listed
        return explain(Replayed(*asked), decision, instead)
