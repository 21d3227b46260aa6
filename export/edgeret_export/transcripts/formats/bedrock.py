"""Messages of Bedrock's Converse: requests logged with or without their responses, and its invocation logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from edgeret_export.transcripts.conversation import Answered, Called, Event, Place, Returned, Said
from edgeret_export.transcripts.formats.base import (
    NO,
    SURE,
    EachAlone,
    Format,
    Notes,
    as_object,
    exchange,
    made,
    objects,
    returned,
    word,
)
from edgeret_export.transcripts.values import MESSAGES, Record

_OURS = frozenset(("toolUse", "toolResult", "cachePoint", "reasoningContent", "guardContent"))
_WITHOUT_TEXT = ("image", "document", "video", "audio")
_GROUPS = ("session_id", "sessionId", "conversation_id")


def fit(record: Record) -> int:
    """Sure where a block or the tools are Converse's alone."""
    request, reply = exchange(record, (MESSAGES,))
    messages = objects(request.get(MESSAGES))
    if not messages or any(word(message.get("role")) not in ("user", "assistant") for message in messages):
        return NO
    blocks = [block for message in messages for block in objects(message.get("content"))]
    ours = any(_OURS & block.keys() and "type" not in block for block in blocks)
    return SURE if ours or "toolConfig" in request or as_object(reply.get("output")).get("message") else NO


def read(record: Record, place: Place, notes: Notes) -> tuple[Sequence[Event], str]:
    """The record's events."""
    request, reply = exchange(record, (MESSAGES,))
    specs = [as_object(tool.get("toolSpec")) for tool in objects(as_object(request.get("toolConfig")).get("tools"))]
    notes.definitions.add([_definition(spec) for spec in specs if spec], place)
    answer = as_object(as_object(reply.get("output")).get("message") or as_object(record.get("output")).get("message"))
    messages = [*objects(request.get(MESSAGES)), *([dict(answer)] if answer else [])]
    events = [event for message in messages for event in _events(message)]
    return events, next((word(record.get(key)) for key in _GROUPS if word(record.get(key))), "")


def _definition(spec: Record) -> dict[str, Any]:
    schema = as_object(spec.get("inputSchema")).get("json")
    return {**{k: v for k, v in spec.items() if k != "inputSchema"}, "parameters": as_object(schema)}


def _events(message: dict[str, Any]) -> Iterator[Event]:
    blocks = objects(message.get("content"))
    results = [_result(as_object(block["toolResult"])) for block in blocks if "toolResult" in block]
    spoken = "\n".join(text for block in blocks if (text := word(block.get("text"))))
    yield from results
    if word(message.get("role")) == "assistant":
        if spoken.strip():
            yield Answered(spoken.strip())
        used = [as_object(block["toolUse"]) for block in blocks if "toolUse" in block]
        if calls := [made(use.get("toolUseId"), use.get("name"), use.get("input")) for use in used]:
            yield Called(tuple(calls))
    elif not results:
        yield Said(spoken, tuple(kind for block in blocks for kind in _WITHOUT_TEXT if kind in block))


def _result(result: Record) -> Returned:
    """`status` says "success" where the tool itself caught its error, so only the other word is trusted."""
    contents = objects(result.get("content"))
    shown: Any = contents[0]["json"] if len(contents) == 1 and "json" in contents[0] else contents
    return returned(result.get("toolUseId"), shown, True if result.get("status") == "error" else None)


FORMAT = Format("bedrock", "Bedrock Converse", fit, partial(EachAlone, read))
