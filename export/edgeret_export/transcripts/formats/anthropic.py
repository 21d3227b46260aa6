"""Anthropic's messages: requests logged with or without their answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from edgeret_export.transcripts.conversation import Answered, Called, Event, Place, Unread
from edgeret_export.transcripts.formats.base import (
    MAYBE,
    NO,
    SURE,
    EachAlone,
    Format,
    Notes,
    exchange,
    made,
    objects,
    returned,
    said,
    text_of,
    word,
)
from edgeret_export.transcripts.values import MESSAGES, Record

_BLOCKS = frozenset(("tool_use", "tool_result", "thinking", "server_tool_use", "mcp_tool_use", "mcp_tool_result"))
_CALLS = frozenset(("tool_use", "mcp_tool_use"))
_RESULTS = frozenset(("tool_result", "mcp_tool_result"))


def fit(record: Record) -> int:
    """Sure where a block, a field or a tool is Anthropic's alone."""
    request, reply = exchange(record, (MESSAGES,))
    messages = objects(request.get(MESSAGES))
    if not messages or any(message.get("role") not in ("user", "assistant") for message in messages):
        return NO
    blocks = [block for message in messages for block in objects(message.get("content"))]
    ours = any(word(block.get("type")) in _BLOCKS for block in blocks) or _is_answer(reply) or "system" in request
    return SURE if ours or any("input_schema" in tool for tool in objects(request.get("tools"))) else MAYBE


def _is_answer(reply: Record) -> bool:
    return reply.get("type") == "message" and reply.get("role") == "assistant"


def read(record: Record, place: Place, notes: Notes) -> tuple[Sequence[Event], str]:
    """The record's events."""
    request, reply = exchange(record, (MESSAGES,))
    notes.definitions.add(request.get("tools"), place)
    messages = [*objects(request.get(MESSAGES)), *([dict(reply)] if _is_answer(reply) else [])]
    events = [event for message in messages for event in _events(message)]
    return events, word(record.get("conversation_id")) or word(record.get("session_id"))


def _events(message: dict[str, Any]) -> Iterator[Event]:
    content, role = message.get("content"), message.get("role")
    blocks = objects(content)
    results = [block for block in blocks if word(block.get("type")) in _RESULTS]
    if role == "user":
        for block in results:
            yield returned(block.get("tool_use_id"), block.get("content"), _failed(block))
        # Programs put hints of their own beside results; a user speaks in a message of their own.
        if not results:
            yield said(content)
    elif role == "assistant":
        if text := text_of(content).strip():
            yield Answered(text)
        if calls := [made(b.get("id"), b.get("name"), b.get("input")) for b in blocks if word(b.get("type")) in _CALLS]:
            yield Called(tuple(calls))
        for block in results:
            yield returned(block.get("tool_use_id"), block.get("content"), _failed(block))
        for block in blocks:
            if block.get("type") == "server_tool_use":
                yield Unread(f"a call of the built-in tool {word(block.get('name'))}")


def _failed(block: dict[str, Any]) -> bool | None:
    """`is_error` is sent only where it is true by many programs, and by many others never."""
    return True if block.get("is_error") is True else False if block.get("is_error") is False else None


FORMAT = Format("anthropic", "Anthropic messages", fit, partial(EachAlone, read))
