"""What the client is at: the words it searched with, the calls that followed, and the tools it is shown meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_CALLS = 32
"""That still tell anything about the next one."""


@dataclass
class Request:
    """The latest search and what came after it."""

    query: str = ""
    calls: list[str] = field(default_factory=list)
    learned: bool = True
    """Whether the query was learned already, or there is none to learn."""
    shown: tuple[str, ...] = ()
    """The tools that are listed beside the search, in mode `trim`."""

    def search(self, query: str) -> None:
        """The client said what it wants."""
        self.query, self.learned, self.calls = query, False, []

    def worked(self, tool: str) -> str | None:
        """A call worked; the query that it is the first answer to, which is then to be learned."""
        self.calls = [*self.calls, tool][-MOST_CALLS:]
        if self.learned:
            return None
        self.learned = True
        return self.query

    def show(self, names: Sequence[str]) -> bool:
        """These are listed from now on; whether that changes the list. The order is that of names, so that a list of
        the same tools is the same text, which models keep in their caches."""
        shown = tuple(sorted(names))
        if shown == self.shown:
            return False
        self.shown = shown
        return True
