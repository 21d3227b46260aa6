"""LlamaIndex: an ObjectRetriever of tools, for agents that are given one. Needs no embedding model and calls none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.objects import ObjectRetriever, SimpleToolNodeMapping
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.tools import BaseTool

from edgeret import Runtime
from edgeret.adapters.tool_sets import ToolSets, shared


def tool_retriever(
    tools: Sequence[BaseTool], base: str | Path | Runtime | ToolSets, k: int = 4
) -> ObjectRetriever[BaseTool]:
    """Gives the `k` tools that fit a text, best first: `FunctionAgent(tool_retriever=…)`. `base` is a bundle whose
    encoder reads them. Raises InputError for none, and what `edgeret.load` raises."""
    mapping = SimpleToolNodeMapping.from_objects(tools)
    return ObjectRetriever(_Retriever(tools, mapping, shared(base), k), mapping)


class _Retriever(BaseRetriever):
    def __init__(self, tools: Sequence[BaseTool], mapping: SimpleToolNodeMapping, sets: ToolSets, k: int) -> None:
        super().__init__()
        self._tools = {str(tool.metadata.name): tool for tool in tools}
        self._mapping, self._k = mapping, k
        self._runtime = sets.runtime(sets.definitions([_described(tool) for tool in tools], dict))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._runtime.search(query_bundle.query_str, self._k)
        return [NodeWithScore(node=self._mapping.to_node(self._tools[hit.tool]), score=hit.share) for hit in hits]


def _described(tool: BaseTool) -> dict[str, Any]:
    metadata = tool.metadata
    return {
        "name": metadata.name,
        "description": metadata.description,
        "parameters": metadata.get_parameters_dict() if metadata.fn_schema is not None else {},
    }
