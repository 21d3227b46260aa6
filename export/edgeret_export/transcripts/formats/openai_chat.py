"""OpenAI's chat completions: fine-tuning data, requests logged with or without their responses, batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from edgeret_export.transcripts.conversation import Answered, Called, Event, Place, Unread
from edgeret_export.transcripts.formats import written
from edgeret_export.transcripts.formats.base import (
    MAYBE,
    NO,
    SURE,
    EachAlone,
    Format,
    Notes,
    exchange,
    listed,
    made,
    objects,
    returned,
    said,
    text_of,
    word,
)
from edgeret_export.transcripts.values import MESSAGES, Record

_ROLES = frozenset(("system", "developer", "user", "assistant", "tool", "function"))
_GROUPS = ("conversation_id", "session_id", "thread_id", "custom_id")


def fit(record: Record) -> int:
    """Sure where a role or a field is OpenAI's alone, or calls are written into an answer, as its forms' users do."""
    request, reply = exchange(record, (MESSAGES,))
    messages = objects(request.get(MESSAGES))
    if "choices" in reply or "choices" in record:
        return SURE
    if not messages or any(word(message.get("role")) not in _ROLES for message in messages):
        return NO
    ours = any(
        message["role"] in ("system", "developer", "tool", "function")
        or {"tool_calls", "function_call"} & message.keys()
        or (message["role"] == "assistant" and written.has_calls(message.get("content")))
        for message in messages
    )
    return SURE if ours else MAYBE


def read(record: Record, place: Place, notes: Notes) -> tuple[Sequence[Event], str]:
    """The record's events."""
    request, reply = exchange(record, (MESSAGES,))
    if "choices" in record:
        reply = record
    notes.definitions.add(request.get("tools") or request.get("functions"), place)
    messages = objects(request.get(MESSAGES))
    for message in messages:
        if message.get("role") in ("system", "developer") and "<tools>" in text_of(message.get("content")):
            written.tools(text_of(message.get("content")), place, notes)
    if record.get("object") == "chat.completion.chunk" or reply.get("object") == "chat.completion.chunk":
        notes.tally.add("record", "a piece of a streamed answer; log whole ones", place)
    elif not messages:
        notes.tally.add("record", "a response without its request; log both in one line", place)
        return (), ""
    # Preference data have the good answer apart; of several choices a program takes the first.
    preferred = objects(record.get("preferred_output"))
    answers = preferred or [
        c["message"] for c in objects(reply.get("choices"))[:1] if isinstance(c.get("message"), dict)
    ]
    events = [event for message in (*messages, *answers) for event in _events(message)]
    return events, next((word(record.get(key)) for key in _GROUPS if word(record.get(key))), "")


def _events(message: dict[str, Any]) -> Iterator[Event]:
    role, content = message.get("role"), message.get("content")
    if role == "user" and written.has_results(content):
        yield from written.results(content)
    elif role == "user":
        yield said(content)
    elif role in ("tool", "function"):
        if written.has_results(content):
            yield from written.results(content)
        else:
            yield returned(message.get("tool_call_id"), content, None)
    elif role == "assistant":
        calls = listed(message.get("tool_calls"))
        if not calls and written.has_calls(content):
            yield from written.assistant(content)
            return
        if text := text_of(content).strip():
            yield Answered(text)
        if isinstance(message.get("function_call"), dict):
            calls = [{"function": message["function_call"]}]
        if message.get("weight") == 0:
            # OpenAI's way to say that this answer is not to be learned.
            yield from (Unread("marked with weight 0") for _ in objects(calls))
        elif read := [_call(call) for call in objects(calls)]:
            yield Called(tuple(read))


def _call(call: dict[str, Any]) -> Any:
    custom = call.get("custom")
    if isinstance(custom, dict):
        return made(call.get("id"), custom.get("name"), {"input": custom.get("input")})
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    return made(call.get("id"), function.get("name"), function.get("arguments"))


FORMAT = Format("openai", "OpenAI chat", fit, partial(EachAlone, read))
