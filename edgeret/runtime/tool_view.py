"""Tools as callers see them. Knows nothing of where they come from."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping

from edgeret.types import Tool


class ToolView(Mapping[str, Tool]):
    """Tools by name, of which callers get copies: what they change is theirs."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._tools = tools

    def __getitem__(self, name: str) -> Tool:
        return copy.deepcopy(self._tools[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools
