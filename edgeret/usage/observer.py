"""Who wants to know what is decided, and what became of it. Knows nothing of what is done with that."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edgeret.types import Call, Decision, Tool


class Seen(NamedTuple):
    """A task when something happens to it. `task` is its number in this process; `calls` are those made so far, which
    grow; `end` is the place of `<end>` among what is decided between. Where they are `assumed`, a plan made the calls,
    and nobody judged them."""

    task: int
    query: str
    calls: Sequence[Call]
    tools: Mapping[str, Tool]
    content_hash: str
    end: int
    assumed: bool = False


class Observer:
    """Does nothing; derive from it, and say what is to be done. It is called where the decision is made, in that
    thread, so it should be quick. Whatever it raises ends its watching, with a warning, and nothing else."""

    def decided(self, seen: Seen, decision: Decision) -> None:
        """A decision was made."""

    def called(self, seen: Seen, call: Call, decision: Decision | None) -> None:
        """A call was made, the last of `seen.calls`; `decision` is what was decided at this step, None for nothing."""

    def failed(self, seen: Seen, tool: str) -> None:
        """A tool was tried and did not work."""

    def undone(self, seen: Seen) -> None:
        """The last call or failure was taken back."""

    def learned(self, seen: Seen) -> None:
        """The calls made so far were learned as what solves the query."""


class Observers:
    """All who watch a runtime. Thread-safe: whoever comes and goes leaves the others' list as it was."""

    def __init__(self, *watching: Observer) -> None:
        self.watching = watching

    def tell(self, what: str, *of: Any) -> None:
        """Tells each of them, by the name of the method."""
        for each in self.watching:
            try:
                getattr(each, what)(*of)
            except Exception as error:
                self.watching = tuple(other for other in self.watching if other is not each)
                kind = type(each).__name__
                warnings.warn(f"{kind} watches no more: {type(error).__name__}: {error}", RuntimeWarning, stacklevel=4)


def corrects(call: Call, decision: Decision) -> bool:
    """Whether a call is another one than was decided; where nothing was to be called, every call is."""
    return call.tool != decision.tool
