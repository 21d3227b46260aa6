"""Requests of a tool set and the tools that they need, as numbers of texts. Plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.tool_text import tool_text
from edgeret.types import Tool

TOOL_FORM = "name+description"


class Source(Protocol):
    """Tools and requests of one origin."""

    @property
    def tools(self) -> Sequence[Tool]:
        """All of them."""

    @property
    def demonstrations(self) -> Sequence[Demonstration]:
        """Requests and their calls."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Requests of one tool set, by the numbers of texts: those of its `tools`, and pairs of a request and a tool that
    it needs."""

    tools: Sequence[int]
    pairs: Sequence[tuple[int, int]]


class Numbered:
    """Different texts in the order in which they come."""

    def __init__(self) -> None:
        """None yet."""
        self._numbers: dict[str, int] = {}

    @property
    def texts(self) -> list[str]:
        """All of them, by number."""
        return list(self._numbers)

    def number(self, text: str) -> int:
        """A text's number, -1 for a blank one."""
        text = text.strip()
        return self._numbers.setdefault(text, len(self._numbers)) if text else -1

    def asked(self, source: Source) -> Asked:
        """A set's requests, and its tools as encoders read them."""
        tools = {tool.name: self.number(tool_text(tool, TOOL_FORM)) for tool in source.tools}
        pairs = [
            (self.number(demonstration.query), tools[name])
            for demonstration in source.demonstrations
            if demonstration.query.strip()
            for name in dict.fromkeys(call.tool for call in demonstration.calls)
            if name in tools
        ]
        return Asked(list(dict.fromkeys(tools.values())), pairs)
