"""The tools that transcripts offered: one definition a name, the newest. Knows nothing of formats."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.jsonl import decode
from edgeret.inputs.tool_forms import unpacked
from edgeret.inputs.tools import MAX_TOOLS, read_tool
from edgeret.types import Tool
from edgeret_export.transcripts.conversation import Place
from edgeret_export.transcripts.tally import Tally
from edgeret_export.transcripts.values import as_list

_REMEMBERED = 8


class Definitions:
    """Collects definitions in any form that `edgeret.read_tools` takes."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._tools: dict[str, Tool] = {}
        self._changed: set[str] = set()
        self._seen: list[Any] = []

    def add(self, entries: Any, place: Place) -> None:
        """The tools of one record; a log repeats the same list in every one, so the last lists are not read again."""
        entries = as_list(entries)
        if not entries or entries in self._seen:
            return
        self._seen = [entries, *self._seen[: _REMEMBERED - 1]]
        for entry in entries:
            for inner in unpacked(entry):
                self._add(inner, place)

    def _add(self, entry: Any, place: Place) -> None:
        if isinstance(entry, str) and entry.lstrip().startswith("{"):
            with suppress(ValueError):
                entry = decode(entry)
        kind = entry.get("type") if isinstance(entry, dict) else None
        if isinstance(kind, str) and kind not in ("function", "custom", "object"):
            self._tally.add("tool", "built into the model's host, and none of yours", place)
            return
        try:
            tool = read_tool(entry, str(place))
        except InputError:
            self._tally.add("tool", "a definition without a usable name or parameters", place)
            return
        known = self._tools.get(tool.name)
        if known is None and len(self._tools) == MAX_TOOLS:
            self._tally.add("tool", f"more than {MAX_TOOLS} tools", place)
            return
        if known not in (None, tool):
            self._changed.add(tool.name)
        self._tools[tool.name] = tool

    @property
    def tools(self) -> list[Tool]:
        """In the order in which their names came up."""
        return list(self._tools.values())

    @property
    def changed(self) -> list[str]:
        """Names that had several definitions."""
        return sorted(self._changed)
