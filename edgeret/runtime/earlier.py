"""What came before a turn of a conversation. Knows nothing of how it is weighed, and of who holds a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from edgeret.inputs.query import MAX_QUERY_CHARS
from edgeret.records import dataclass
from edgeret.runtime.history import History
from edgeret.types import Call

MOST_EARLIER = 32
"""Calls of earlier turns that a new one looks back to, the latest; the conversations of the fit have fewer."""
MOST_TOLD = 4
"""Earlier turns whose words a planner is shown."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a turn looks back to: the latest MOST_EARLIER `calls`, of which the latest turn that made any made the
    `last`, and the words of the latest MOST_TOLD turns, all oldest first."""

    queries: tuple[str, ...]
    calls: tuple[Call, ...]
    last: tuple[Call, ...]

    @staticmethod
    def of(turns: Sequence[tuple[str, History]]) -> Earlier:
        """What was said and called, oldest first."""
        calls: list[Call] = []
        last: list[Call] = []
        for _, made in reversed(turns):
            last = last or made.calls
            calls[:0] = made.calls
            if len(calls) >= MOST_EARLIER:
                break
        queries = tuple(said for said, _ in turns[-MOST_TOLD:])
        return Earlier(queries, tuple(calls[-MOST_EARLIER:]), tuple(last[-MOST_EARLIER:]))

    @property
    def named(self) -> tuple[list[str], int]:
        """The calls by their tools, and how many of them the latest turn made."""
        return [call.tool for call in self.calls], len(self.last)

    def told(self, query: str) -> str:
        """What a planner is shown as the request: the last turns' words and this one's, as much as one request may
        say."""
        return "\n".join((*self.queries, query))[-MAX_QUERY_CHARS:]
