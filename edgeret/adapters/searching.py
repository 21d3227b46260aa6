"""A search among tools that a model asks for itself, whatever API it is written for. Knows no message formats."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret import InputError, Runtime
from edgeret.adapters.asked import HOW, PROPERTIES
from edgeret.adapters.plain import tool
from edgeret.adapters.selection import Amount
from edgeret.adapters.tool_sets import Definition, ToolSets, either, read_definitions

DEFAULT_K = 5
"""Tools that a search gives: what Anthropic's own gives, too."""
NAME = "find_tools"
DESCRIPTION = (
    "Finds tools for a task and loads them. Call this before saying that something cannot be done. "
    f"Give queries: {HOW}."
)
PARAMETERS = {"type": "object", "properties": PROPERTIES, "additionalProperties": False}
"""Of a search, as JSON Schema."""


class Search:
    """Tools that are loaded when they are found, and those that always are. Thread-safe."""

    def __init__(
        self,
        entries: Sequence[Any],
        definition: Definition,
        base: str | Path | Runtime | ToolSets | None,
        runtime: Runtime | None,
        k: int,
        always: Collection[str],
    ) -> None:
        """`definition` gives what `edgeret.read_tool` reads of an entry, None for one that is always loaded. Raises
        InputError where none is left to be found, and what `edgeret.load` raises."""
        sets = either(base, runtime)
        self._k = Amount(k).k or DEFAULT_K
        self.entries = [tool(entry) for entry in entries]
        read = (sets.definitions if sets else read_definitions)(self.entries, definition)
        known = {each.name for each in read.tools} if runtime is None else set(runtime.tools)
        self._place: dict[str, int] = {}
        for i, name in enumerate(read.names):
            if name is not None and name in known and name not in always and not _loaded(self.entries[i]):
                self._place.setdefault(name, i)
        if not self._place:
            raise InputError("no tool is left to be searched for; give tools, and fewer of them as always loaded")
        self._runtime = runtime if sets is None else sets.runtime(read)
        self.deferred = frozenset(self._place.values())
        """Where those entries stand that are loaded when they are found."""

    def find(self, texts: Sequence[str]) -> list[int]:
        """Where the entries stand that fit the texts best, best first. Raises InputError for what cannot be read."""
        assert self._runtime is not None
        hits = self._runtime.search(texts, len(self._runtime.tools))
        return [self._place[hit.tool] for hit in hits if hit.tool in self._place][: self._k]


def _loaded(entry: Any) -> bool:
    """Whether its author wants a tool to be loaded: it says so, or ends what is cached, which a deferred one cannot."""
    return isinstance(entry, Mapping) and (
        entry.get("defer_loading") is False or entry.get("cache_control") is not None
    )
