"""graph-tool-call: words and a graph of tools, as it comes, which is without embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgeret.types import Tool
from edgeret_bench.peers.base import Peer


class GraphPeer(Peer):
    """`ToolGraph` over names, descriptions and parameters, with the dependencies that it detects itself."""

    name = "graph-tool-call"
    distribution = "graph-tool-call"

    def __init__(self, model: Path | None, threads: int) -> None:
        from graph_tool_call import ToolGraph

        self._graph: Any = ToolGraph()
        self._positions: dict[str, int] = {}

    def prepare(self, tools: Sequence[Tool], texts: Sequence[str]) -> None:
        """Adds the tools in the form of function calling interfaces; `texts` are not used."""
        self._graph.add_tools([_function(tool) for tool in tools])
        self._positions = {tool.name: i for i, tool in enumerate(tools)}
        self._graph.retrieve("warm up", top_k=1)  # its index is made by the first question

    def rank(self, query: str, k: int, history: Sequence[str] = ()) -> list[int]:
        """Positions of the tools retrieved; `history` are names of tools called before."""
        found = self._graph.retrieve(query, top_k=k, history=list(history) or None)
        return [self._positions[tool.name] for tool in found if tool.name in self._positions]


def _function(tool: Tool) -> dict[str, Any]:
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }
