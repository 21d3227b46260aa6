"""Items of OpenAI's Responses, of which its logs and the sessions of its agents are made."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from edgeret_export.transcripts.conversation import Answered, Called, Event, MadeCall, Unread
from edgeret_export.transcripts.formats.base import made, returned, said, text_of, word

CALLS = frozenset(("function_call", "custom_tool_call", "mcp_call"))
OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output"))
_SILENT = frozenset(("reasoning", "mcp_list_tools", "item_reference", "compaction"))


def item_events(items: list[dict[str, Any]]) -> Iterator[Event]:
    """What items say, in order."""
    # Calls with nothing between them were made at once: their outputs come behind all of them.
    heard = (item for item in items if kind(item) not in _SILENT)
    for is_calls, some in groupby(heard, lambda item: kind(item) in CALLS):
        if is_calls:
            calls = list(some)
            yield Called(tuple(map(_call, calls)))
            yield from (
                returned(_id(c), c.get("output"), True if c.get("error") else None)
                for c in calls
                if c["type"] == "mcp_call"
            )
        else:
            for item in some:
                yield from _other(item)


def _other(item: dict[str, Any]) -> Iterator[Event]:
    named, role = kind(item), item.get("role")
    if named in OUTPUTS:
        yield returned(item.get("call_id"), item.get("output"), True if item.get("status") == "incomplete" else None)
    elif named == "message" and role == "user":
        yield said(item.get("content"))
    elif named == "message" and role == "assistant":
        if text := text_of(item.get("content")).strip():
            yield Answered(text)
    elif named.endswith("_call"):
        yield Unread(f"a call of the built-in tool {named.removesuffix('_call')}")


def _call(item: dict[str, Any]) -> MadeCall:
    arguments = {"input": item.get("input")} if item["type"] == "custom_tool_call" else item.get("arguments")
    return made(_id(item), item.get("name"), arguments)


def kind(item: dict[str, Any]) -> str:
    """What an item is."""
    return word(item.get("type", "message"))


def _id(item: dict[str, Any]) -> Any:
    return item.get("call_id") or item.get("id")
