"""Messages as Anthropic writes them. Calls no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret import Runtime
from edgeret.adapters.choosing import choose
from edgeret.adapters.conversation import Conversation, Reader
from edgeret.adapters.plain import name_in, records, texts
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
) -> list[Any]:
    """`edgeret.adapters.openai.select_tools` for the shape of Anthropic's messages. A tool that carries `cache_control`
    can be among those that are left out: put the mark on the system prompt instead."""
    return choose(SHAPE, messages, tools, tool_choice, base, runtime, Amount(k, coverage))


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
