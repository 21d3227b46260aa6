"""LangChain: a retriever of tools, and a middleware that shows an agent's model the tools that it needs."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict

from edgeret import Runtime, without_hidden
from edgeret.adapters import openai
from edgeret.adapters.choosing import chosen
from edgeret.adapters.conversation import Conversation, Reader
from edgeret.adapters.selection import Amount, Shape
from edgeret.adapters.tool_sets import ToolSets, either, shared
from edgeret.outcomes import outcome

_log = logging.getLogger(__name__)


def conversation(messages: Sequence[Any]) -> Conversation:
    """What LangChain's messages say. Never raises: what is no text of the user, and no call or result, says nothing."""
    reader = Reader()
    for message in messages:
        kind = getattr(message, "type", None)
        if kind == "human" or getattr(message, "role", None) == "user":
            reader.said(_texts(message.content))
        for call in getattr(message, "tool_calls", None) or ():
            reader.call(call.get("id"), call.get("name"))
        if kind == "tool":
            told = outcome("\n".join(_texts(message.content)), message.status == "error" or None)
            reader.result(message.tool_call_id, told)
    return reader.read()


def _texts(content: Any) -> list[str]:
    """The texts among a message's blocks, whatever else there is: providers have blocks of their own."""
    blocks = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    found = (block.get("text") if isinstance(block, dict) else block for block in blocks)
    return [text for text in found if isinstance(text, str)]


def forced(tool_choice: Any) -> frozenset[str]:
    """The tools that a choice names: as OpenAI and Anthropic write them, or by the name alone."""
    if isinstance(tool_choice, str):
        return frozenset((tool_choice,))
    return openai.forced(tool_choice)


SHAPE = Shape(openai.definition, conversation, forced)


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
        """As `edgeret.adapters.openai.select_tools`. Raises InputError for options that do not fit, and what
        `edgeret.load` raises; afterwards nothing raises: an agent's turn that could be answered with all tools is."""
        super().__init__()
        self._base, self._runtime = either(base, runtime), runtime
        self._amount, self._always = Amount(k, coverage), frozenset(always)
        self._told = False

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Called by the agent."""
        return handler(request.override(tools=self.shown(request)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """The same in an event loop, which is held up for the milliseconds of a decision."""
        return await handler(request.override(tools=self.shown(request)))

    def shown(self, request: ModelRequest[Any]) -> list[Any]:
        """Those of the request's tools that the model is shown, in their order; all, where they cannot be chosen from,
        which is logged once. What hides something is shown by a schema without it; the agent calls it all the same."""
        try:
            return self._shown(request)
        except Exception as error:  # of any kind: the agent would answer without us
            if not self._told:
                self._told = True
                _log.warning(
                    "all tools are shown, since they could not be chosen from: %s: %s", type(error).__name__, error
                )
            return [_visible(tool) for tool in request.tools]

    def _shown(self, request: ModelRequest[Any]) -> list[Any]:
        own = [tool for tool in request.tools if self._chooses(tool)]
        described = [_described(tool) for tool in own]
        kept = chosen(SHAPE, request.messages, described, request.tool_choice, self._base, self._runtime, self._amount)
        gone = {id(tool) for i, tool in enumerate(own) if i not in kept}
        instead = {id(own[i]): entry for i, entry in kept.items() if entry is not described[i]}
        instead |= {id(tool): _visible(tool) for tool in request.tools if not self._chooses(tool)}
        return [instead.get(id(tool), tool) for tool in request.tools if id(tool) not in gone]

    def _chooses(self, tool: Any) -> bool:
        return isinstance(tool, BaseTool) and tool.name not in self._always


def _described(tool: BaseTool) -> dict[str, Any]:
    """A tool as OpenAI has it, by its name alone where its arguments cannot be described."""
    try:
        described: dict[str, Any] = convert_to_openai_tool(tool)
    except Exception:  # pydantic's, of any kind
        return {"type": "function", "function": {"name": tool.name, "description": tool.description}}
    return described


def _visible(tool: Any) -> Any:
    """A tool, or a schema of it where something hides in it."""
    try:
        entry = _described(tool) if isinstance(tool, BaseTool) else tool
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
        sets = shared(base)
        described = [_described(tool) for tool in tools]
        return ToolRetriever(runtime=sets.runtime(sets.definitions(described, openai.definition)), k=k)
