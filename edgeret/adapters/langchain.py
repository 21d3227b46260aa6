"""LangChain: a retriever of tools, and a middleware that shows an agent's model the tools that it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import convert_to_openai_messages
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict

from edgeret import InputError, Runtime, without_hidden
from edgeret.adapters.choosing import chosen
from edgeret.adapters.openai import SHAPE
from edgeret.adapters.selection import Amount
from edgeret.adapters.tool_sets import ToolSets


class ToolSelector(AgentMiddleware[Any, Any, Any]):
    """Shows the model those of an agent's tools that the conversation needs, at every call of the model.

    Tools that a provider runs itself (given as dicts), those `always` shown, and those called before stay besides.
    """

    def __init__(
        self,
        *,
        base: str | Path | Runtime | ToolSets | None = None,
        runtime: Runtime | None = None,
        k: int | None = None,
        coverage: float | None = None,
        always: Collection[str] = (),
    ) -> None:
        """As `edgeret.adapters.openai.select_tools`; a folder given as `base` is loaded with the first request. Raises
        InputError unless one of `base` and `runtime` is given."""
        super().__init__()
        if (base is None) == (runtime is None):
            raise InputError(
                "give base, a bundle whose encoder reads the tools, or runtime, one that was made for them"
            )
        self._how: dict[str, Any] = {"base": base, "runtime": runtime, "amount": Amount(k, coverage)}
        self._always = frozenset(always)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Called by the agent. Raises as `select_tools`."""
        return handler(request.override(tools=self.shown(request)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """The same in an event loop, which is held up for the milliseconds of a decision."""
        return await handler(request.override(tools=self.shown(request)))

    def shown(self, request: ModelRequest[Any]) -> list[Any]:
        """Those of the request's tools that the model is shown, in their order."""
        own = [tool for tool in request.tools if self._chooses(tool)]
        described = [convert_to_openai_tool(tool) for tool in own]
        messages = convert_to_openai_messages(request.messages)
        kept = chosen(SHAPE, messages, described, request.tool_choice, **self._how)
        left_out = {id(tool) for i, tool in enumerate(own) if i not in kept}
        # What hides something is shown by a schema without it; the agent still calls the tool, by its name.
        instead = {id(own[i]): entry for i, entry in kept.items() if entry is not described[i]}
        instead |= {id(tool): _visible(tool) for tool in request.tools if not self._chooses(tool)}
        return [instead.get(id(tool), tool) for tool in request.tools if id(tool) not in left_out]

    def _chooses(self, tool: Any) -> bool:
        return isinstance(tool, BaseTool) and tool.name not in self._always


def _visible(tool: Any) -> Any:
    """A tool, or a schema of it where something hides in it."""
    try:
        entry = convert_to_openai_tool(tool) if isinstance(tool, BaseTool) else tool
        clean = without_hidden(entry)
    except (TypeError, ValueError):
        return tool
    return tool if clean == entry else clean


class ToolRetriever(BaseRetriever):
    """The tools that fit a text, as documents: the description, with the tool's name and its share in the metadata."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    runtime: Runtime
    k: int = 4

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits = self.runtime.search(query, self.k)
        return [
            Document(self.runtime.tools[hit.tool].description, metadata={"tool": hit.tool, "share": hit.share})
            for hit in hits
        ]

    @staticmethod
    def of(tools: Sequence[BaseTool], base: str | Path | Runtime | ToolSets, k: int = 4) -> ToolRetriever:
        """One for LangChain's own tools, read by the encoder of a bundle. Raises InputError for none."""
        from edgeret.adapters.openai import definition
        from edgeret.adapters.tool_sets import shared

        sets = shared(base)
        described = [convert_to_openai_tool(tool) for tool in tools]
        return ToolRetriever(runtime=sets.runtime(sets.definitions(described, definition)), k=k)
