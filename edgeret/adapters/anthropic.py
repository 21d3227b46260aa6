"""Messages as Anthropic writes them, and its tool search with edgeret as the search. Calls no model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret import InputError, Runtime
from edgeret.adapters.asked import asked
from edgeret.adapters.choosing import chosen
from edgeret.adapters.conversation import Conversation, Reader
from edgeret.adapters.plain import field, name_in, record, records, texts
from edgeret.adapters.searching import DEFAULT_K, DESCRIPTION, NAME, PARAMETERS, Search
from edgeret.adapters.selection import Amount, Shape
from edgeret.adapters.tool_sets import ToolSets
from edgeret.outcomes import outcome


def select_tools(
    messages: Sequence[Any],
    tools: Sequence[Any],
    *,
    base: str | Path | Runtime | ToolSets | None = None,
    runtime: Runtime | None = None,
    k: int | None = None,
    coverage: float | None = None,
    tool_choice: Any = None,
    queries: str | Sequence[str] | None = None,
) -> list[Any]:
    """`edgeret.adapters.openai.select_tools` for the shape of Anthropic's messages. A tool that carries `cache_control`
    can be among those that are left out: put the mark on the system prompt instead."""
    return list(chosen(SHAPE, messages, tools, tool_choice, base, runtime, Amount(k, coverage), queries).values())


def definition(entry: Any) -> Mapping[str, Any] | None:
    """A tool as `edgeret.read_tool` reads it; None for those that Anthropic brings."""
    if not isinstance(entry, Mapping) or entry.get("type", "custom") not in ("custom", None):
        return None
    return entry if isinstance(entry.get("input_schema"), Mapping) else None


def conversation(messages: Any) -> Conversation:
    """What messages say: dicts, and the SDK's own objects. Results of tools come as the user's, and are no turn of
    theirs, whatever text stands beside them: that is what programs add. Raises InputError for what cannot be read."""
    reader = Reader()
    for i, message in enumerate(records(messages, "messages")):
        role, content, where = message.get("role"), message.get("content"), f"messages[{i}].content"
        if role not in ("user", "assistant"):
            continue
        blocks = [] if isinstance(content, str) else records(content, where)
        if role == "user":
            results = [block for block in blocks if block.get("type") == "tool_result"]
            if not results:
                reader.said(texts(content if isinstance(content, str) else blocks, ("text",), where))
            for block in results:
                reader.result(block.get("tool_use_id"), outcome(block.get("content"), block.get("is_error")))
        else:
            for block in blocks:
                if block.get("type") == "tool_use":
                    reader.call(block.get("id"), block.get("name"))
    return reader.read()


def forced(tool_choice: Any) -> frozenset[str]:
    """The tool that a choice names."""
    name = name_in(tool_choice, "name")
    return frozenset() if name is None else frozenset((name,))


SHAPE = Shape(definition, conversation, forced)


class ToolSearch:
    """A tool that finds the others, for `tools=` of `messages.create`. Thread-safe; one serves all conversations."""

    def __init__(
        self,
        tools: Sequence[Any],
        *,
        base: str | Path | Runtime | ToolSets | None = None,
        runtime: Runtime | None = None,
        k: int = DEFAULT_K,
        always: Collection[str] = (),
        name: str = NAME,
    ) -> None:
        """`base` is a bundle whose encoder reads the tools, `runtime` one that was made for them. A search gives `k`
        tools. Those `always` loaded, those with `defer_loading` false or `cache_control`, and Anthropic's own are not
        searched for. Raises InputError for options that do not fit, and what `edgeret.load` raises."""
        self._search = Search(tools, definition, base, runtime, k, always)
        entries, self.name = self._search.entries, name
        if any(isinstance(entry, Mapping) and entry.get("name") == name for entry in entries):
            raise InputError(f'a tool is named "{name}" already; give the search another name=')
        own = {"name": name, "description": DESCRIPTION, "input_schema": PARAMETERS}
        deferred = self._search.deferred
        self.tools: list[Any] = [
            own,
            *({**entry, "defer_loading": True} if i in deferred else entry for i, entry in enumerate(entries)),
        ]
        """What is given as `tools` with every request, always the same, so that it is cached."""

    def asks(self, block: Any) -> bool:
        """Whether a block of Claude's answer is a call of this search."""
        fields = record(block, "block")
        return fields.get("type") == "tool_use" and fields.get("name") == self.name

    def answer(self, block: Any) -> dict[str, Any]:
        """The `tool_result` for a call of this search: references to the tools that fit best. A call that cannot be
        read is answered with how to make it. Raises InputError for a block that is none."""
        if not self.asks(block):
            raise InputError(f"block is no call of {self.name}; ask asks(block) first")
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": field(block, "id")}
        try:
            found = self._search.find(asked(field(block, "input")))
        except InputError as error:
            return {**result, "content": str(error), "is_error": True}
        names = (self._search.entries[i]["name"] for i in found)
        return {**result, "content": [{"type": "tool_reference", "tool_name": name} for name in names]}
