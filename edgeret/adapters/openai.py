"""Chat completions and Responses, as OpenAI and everybody who is compatible with it write them. Calls no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret import Runtime
from edgeret.adapters.choosing import choose
from edgeret.adapters.conversation import Conversation, Reader, objects
from edgeret.adapters.plain import name_in, records, texts
from edgeret.adapters.selection import Amount, Shape
from edgeret.adapters.tool_sets import ToolSets
from edgeret.outcomes import outcome

_TEXTS = ("text", "input_text")


def select_tools(
    messages: str | Sequence[Any],
    tools: Sequence[Any],
    *,
    base: str | Path | Runtime | ToolSets | None = None,
    runtime: Runtime | None = None,
    k: int | None = None,
    coverage: float | None = None,
    tool_choice: Any = None,
) -> list[Any]:
    """Those of `tools` that a model needs to be shown, the same objects in the same order.

    `messages` are those of a chat completion, or the `input` of a response. `base` is a bundle whose encoder reads the
    tools as they come (they are remembered by content), `runtime` one that was made for them already. `k` bounds how
    many are kept (default: 16); with `coverage` it is the most probable ones until their probabilities add up to that.
    What was called before in the conversation, what `tool_choice` forces, and entries that are no functions are kept
    besides; and all, where nobody said anything. Messages and tools may be the SDK's own objects. Raises InputError for
    options out of range, and for messages and words that cannot be read; and what `edgeret.load` raises.
    """
    return choose(SHAPE, messages, tools, tool_choice, base, runtime, Amount(k, coverage))


def definition(entry: Any) -> Mapping[str, Any] | None:
    """A function as `edgeret.read_tool` reads it; None for built-in and custom tools."""
    if not isinstance(entry, Mapping) or entry.get("type") != "function":
        return None
    function = entry.get("function", entry)
    return function if isinstance(function, Mapping) else None


def conversation(messages: Any) -> Conversation:
    """What messages or items say: dicts, and the SDK's own objects. Raises InputError for what cannot be read."""
    reader = Reader()
    if isinstance(messages, str):
        reader.said([messages])
        return reader.read()
    for i, item in enumerate(records(messages, "messages")):
        role, kind, where = item.get("role"), item.get("type"), f"messages[{i}]"
        if role == "user":
            reader.said(texts(item.get("content"), _TEXTS, f"{where}.content"))
        elif role == "assistant":
            for call in records(item.get("tool_calls"), f"{where}.tool_calls"):
                reader.call(call.get("id"), name_in(call, "function", "name") or name_in(call, "custom", "name"))
        elif role == "tool":
            reader.result(item.get("tool_call_id"), outcome(item.get("content")))
        elif kind in ("function_call", "custom_tool_call"):
            reader.call(item.get("call_id"), item.get("name"))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            reader.result(item.get("call_id"), outcome(item.get("output")))
    return reader.read()


def forced(tool_choice: Any) -> frozenset[str]:
    """The functions that a choice names: one that must be called, or those that are allowed."""
    if not isinstance(tool_choice, Mapping):
        return frozenset()
    allowed = tool_choice.get("allowed_tools")
    listed = (
        tool_choice.get("tools") if allowed is None else allowed.get("tools") if isinstance(allowed, Mapping) else []
    )
    entries = [tool_choice, *objects(listed)]
    names = (name_in(entry, "function", "name") or name_in(entry, "name") for entry in entries)
    return frozenset(name for name in names if name is not None)


SHAPE = Shape(definition, conversation, forced)
