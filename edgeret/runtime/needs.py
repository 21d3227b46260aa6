"""What a call of a tool needs to have been called first, and what that needs in turn; and search results with what they
need among them. Knows nothing of how a tool's words are read."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from edgeret.records import dataclass
from edgeret.runtime.givers import Givers
from edgeret.types import Hit, Need, Tool

FLOOR = 0.4
"""A need that is less sure is none: in other people's plans one of twenty of those was right."""
MOST_STEPS = 5
"""From a tool to one that it needs in turn."""
MOST_NEEDS = 16
"""Of one tool: where each names a hundred others, all of a large set follow from any."""
LEAST = 0.25
"""A need counts from this share of the best hit's on: what the tenth tool found would need is no help."""


class Needs:
    """A tool set's needs. Thread-safe: what it keeps is the same whoever made it."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Reads all tools. What one needs is worked out when somebody asks, and kept."""
        self._names = [tool.name for tool in tools]
        self._position = {name: i for i, name in enumerate(self._names)}
        self._givers = Givers(tools)
        self._direct: dict[int, dict[int, float]] = {}
        self._needs: dict[str, tuple[Need, ...]] = {}

    def of(self, tool: str) -> tuple[Need, ...]:
        """What a tool needs, and what follows from that, the surest first; each with the tool that takes from it. No
        tool needs itself, and each is there once, by its surest way."""
        found = self._needs.get(tool)
        if found is None:
            found = self._needs[tool] = self._followed(self._position[tool])
        return found

    def _followed(self, start: int) -> tuple[Need, ...]:
        found: dict[int, Need] = {}
        ways: list[tuple[float, int, int, int]] = [(-1.0, 0, start, start)]
        done = set()
        while ways and len(found) < MOST_NEEDS:
            less, steps, tool, taker = heapq.heappop(ways)
            if tool in done:
                continue
            done.add(tool)
            if tool != start:
                found[tool] = Need(self._names[tool], self._names[taker], -less)
            if steps == MOST_STEPS:
                continue
            for giver, strength in self._of(tool).items():
                if giver not in done and -less * strength >= FLOOR:
                    heapq.heappush(ways, (less * strength, steps + 1, giver, tool))
        return tuple(found.values())

    def _of(self, tool: int) -> dict[int, float]:
        found = self._direct.get(tool)
        if found is None:
            found = self._direct[tool] = self._givers.of(tool)
        return found


@dataclass(frozen=True, slots=True)
class _Entry:
    """A hit, and what it is ordered by."""

    weight: float
    hit: Hit


def with_needed(hits: Sequence[Hit], needs: Needs, cosine: Callable[[str], float]) -> list[Hit]:
    """Hits, best first, and what the likely ones of them need, each behind all that is more probably called. A needed
    one's share is that of the tool it is needed for times how sure that is; `cosine` gives its similarity. Where a
    strategy gives no shares, ranks stand for them."""
    entries: dict[str, _Entry] = {}
    for rank, hit in enumerate(hits, 1):
        entries[hit.tool] = _Entry(1 / rank if hit.share is None else hit.share, hit)
    best = max((entry.weight for entry in entries.values()), default=0.0)
    for entry in list(entries.values()):
        for need in needs.of(entry.hit.tool) if entry.weight >= LEAST * best else ():
            weight = entry.weight * need.sureness
            known = entries.get(need.tool)
            if weight < LEAST * best or (known is not None and known.weight >= weight):
                continue
            similarity = cosine(need.tool) if known is None else known.hit.similarity
            share = None if entry.hit.share is None else weight
            entries[need.tool] = _Entry(weight, Hit(need.tool, similarity, share, need.needed_for))
    return [entry.hit for entry in sorted(entries.values(), key=lambda entry: -entry.weight)]
