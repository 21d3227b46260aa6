"""Tools and messages for tests of adapters, in OpenAI's shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgeret import Tool

WORDS = ("mail", "note", "file", "music", "meeting", "song", "letter", "book", "call", "phone", "zip", "pack")
VERBS = ("send", "write", "read", "find", "play", "stop", "open", "close", "share")


def many_tools(count: int) -> list[Tool]:
    """So many tools with different names and words."""
    return [
        Tool(
            f"{VERBS[i % len(VERBS)]}_{WORDS[i % len(WORDS)]}_{i}",
            f"{VERBS[i % len(VERBS)]} a {WORDS[i % len(WORDS)]} of number {i}",
            {"type": "object", "properties": {"name": {"type": "string"}}},
        )
        for i in range(count)
    ]


def functions(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Tools for chat completions."""
    return [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in tools
    ]


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def calls(*names: str) -> dict[str, Any]:
    """An assistant's turn that calls tools; each call's id is the tool's name."""
    made = [{"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": None, "tool_calls": made}


def gave(name: str, content: Any = "done") -> dict[str, Any]:
    """What a call gave."""
    return {"role": "tool", "tool_call_id": name, "content": content}


def names(kept: Sequence[Any]) -> list[str]:
    """The names of tools in any shape."""
    return [entry.get("function", entry).get("name") for entry in kept]
