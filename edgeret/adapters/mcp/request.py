"""What the client is at: the words it searched with, what it was offered for them, the calls that followed, and the
tools it is shown meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_CALLS = 32
"""That still tell anything about the next one."""
MOST_OPEN = 4
"""Searches that a call may still answer: clients search for several things at once, and give up on some."""


@dataclass(frozen=True)
class Search:
    """Words that were searched with, and the tools that were offered for them, best first."""

    query: str
    offered: tuple[str, ...]


@dataclass
class Request:
    """The latest search and what came after it."""

    query: str = ""
    """Its first text: the user's own words, where the client does as it is told."""
    more: tuple[str, ...] = ()
    """The other texts."""
    calls: list[str] = field(default_factory=list)
    unanswered: list[Search] = field(default_factory=list)
    """Searches that no call has answered yet, the latest last."""
    shown: tuple[str, ...] = ()
    """The tools that are listed beside the search, in mode `trim`."""

    def search(self, query: str, offered: Sequence[str], more: Sequence[str] = ()) -> None:
        """The client said what it wants, and was offered these."""
        self.query, self.more, self.calls = query, tuple(more), []
        self.unanswered = [*self.unanswered, Search(query, tuple(offered))][-MOST_OPEN:]

    def stood_first(self, tool: str) -> bool | None:
        """Whether a tool that is called stood first in the latest search that waits for a call; None if none does."""
        if not self.unanswered:
            return None
        return any(search.offered[:1] == (tool,) for search in self.unanswered)

    def worked(self, tool: str) -> str | None:
        """A call worked; the query that it is the first answer to, which is then to be learned, if there is one. Of
        several searches that offered the tool it answers the one that ranked it best, of these the latest."""
        self.calls = [*self.calls, tool][-MOST_CALLS:]
        offering = [search for search in reversed(self.unanswered) if tool in search.offered]
        if not offering:
            return None
        answered = min(offering, key=lambda search: search.offered.index(tool))
        self.unanswered = [search for search in self.unanswered if search is not answered]
        return answered.query

    def show(self, names: Sequence[str]) -> bool:
        """These are listed from now on; whether that changes the list. The order is that of names, so that a list of
        the same tools is the same text, which models keep in their caches."""
        shown = tuple(sorted(names))
        if shown == self.shown:
            return False
        self.shown = shown
        return True
