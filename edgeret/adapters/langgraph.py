"""LangGraph: a store whose search is edgeret's, for agents with very many tools (langgraph-bigtool). Needs no embedding
model and calls none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from langgraph.store.base import Op, Result, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore

from edgeret import Runtime
from edgeret.adapters.tool_sets import ToolSets, shared

_ALL = 1 << 30


class ToolStore(InMemoryStore):
    """Keeps items in memory, as its parent, and ranks those that a search finds by what they say of a tool.

    An item's `description` says it, as "name: what it does" or without a name; its `parameters`, if it has any, are a
    JSON Schema. Items without a description come last.
    """

    def __init__(self, base: str | Path | Runtime | ToolSets) -> None:
        """`base` is a bundle whose encoder reads the tools. Raises what `edgeret.load` raises."""
        super().__init__()
        self._sets = shared(base)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """See LangGraph's BaseStore. Raises InputError for a query that cannot be read."""
        asked = list(ops)
        found = super().batch([_unranked(op) for op in asked])
        return [self._ranked(op, result) for op, result in zip(asked, found, strict=True)]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same in an event loop, which goes on meanwhile."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _ranked(self, op: Op, result: Result) -> Result:
        if not isinstance(op, SearchOp) or not op.query:
            return result
        items: list[SearchItem] = list(result)  # type: ignore[arg-type]
        scores = self._scores(items, op.query)
        order = sorted(range(len(items)), key=lambda i: -scores[i])[op.offset : op.offset + op.limit]
        return [
            SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, scores[i])
            for i in order
            for item in (items[i],)
        ]

    def _scores(self, items: Sequence[SearchItem], query: str) -> list[float]:
        """Every item's share of what the query wants; below 0 for one that says nothing."""
        entries = _entries(items)
        definitions = self._sets.definitions(entries, dict)
        if not definitions.tools:
            return [-1.0] * len(items)
        hits = self._sets.runtime(definitions).search(query, len(definitions.tools))
        share = {hit.tool: hit.share or 0.0 for hit in hits}
        return [-1.0 if name is None else share[name] for name in definitions.names]


def _unranked(op: Op) -> Op:
    return op._replace(query=None, limit=_ALL, offset=0) if isinstance(op, SearchOp) and op.query else op


def _entries(items: Sequence[SearchItem]) -> list[dict[str, Any]]:
    """What `edgeret.read_tool` reads, a name each of them; without a description where the item has none."""
    found: list[dict[str, Any]] = []
    taken: set[str] = set()
    for item in items:
        told = item.value.get("description")
        name, colon, text = str(told).partition(":")
        named = bool(colon) and bool(name.strip()) and len(name.split()) == 1
        name = name.strip() if named and name.strip() not in taken else item.key
        taken.add(name)
        entry: dict[str, Any] = {"name": name, "description": text.strip() if named else told}
        if isinstance(item.value.get("parameters"), dict):
            entry["parameters"] = item.value["parameters"]
        found.append(entry if isinstance(told, str) and told.strip() else {})
    return found
