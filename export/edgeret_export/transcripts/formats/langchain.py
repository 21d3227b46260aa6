"""LangChain's messages in all forms that it writes them, and LangSmith's runs that hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from edgeret_export.transcripts.conversation import Answered, Called, Event, Place, Unread
from edgeret_export.transcripts.formats.base import (
    NO,
    SURE,
    EachAlone,
    Format,
    Notes,
    as_object,
    listed,
    made,
    objects,
    returned,
    said,
    text_of,
    word,
)
from edgeret_export.transcripts.values import MESSAGES, Record

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "tool": "tool",
    "system": "system",
    "function": "tool",
    "user": "user",
    "assistant": "assistant",
}


def fit(record: Record) -> int:
    """Sure where there is a run, or a message with a type that LangChain gives."""
    if "run_type" in record:
        return SURE
    found = [_plain(message) for message in objects(record.get(MESSAGES))[:3]]
    return SURE if any(message.get("type") in ("human", "ai", "system", "tool") for message in found) else NO


def read(record: Record, place: Place, notes: Notes) -> tuple[Sequence[Event], str]:
    """The record's events: of a bare list of messages, or of a run that holds some."""
    if "run_type" not in record:
        return _all_events(_messages(record)), ""
    group = word(record.get("session_id")) or word(record.get("trace_id"))
    thread = as_object(as_object(record.get("extra")).get("metadata")).get("thread_id")
    parameters = as_object(as_object(record.get("extra")).get("invocation_params"))
    notes.definitions.add(parameters.get("tools"), place)
    asked, answered = _messages(as_object(record.get("inputs"))), _answers(as_object(record.get("outputs")))
    whole = answered if any(_role(message) == "user" for message in answered) else [*asked, *answered]
    events = _all_events(whole)
    if not events:
        notes.tally.add("record", f"a run of type {word(record.get('run_type')) or '?'} without messages", place)
    return events, word(thread) or group


def _messages(holder: Record) -> list[dict[str, Any]]:
    """Messages of a run's inputs or of a record; a chat model's are a list in a list."""
    found = holder.get(MESSAGES)
    if isinstance(found, list) and found and isinstance(found[0], list):
        found = found[0]
    return [_plain(message) for message in objects(found)]


def _answers(outputs: Record) -> list[dict[str, Any]]:
    """What a graph, a chat model or a chain gave."""
    if found := _messages(outputs):
        return found
    generations = outputs.get("generations")
    while isinstance(generations, list) and generations:
        generations = generations[0]
    answer = as_object(generations).get("message") or outputs.get("output") or outputs.get("message")
    return [_plain(message) for message in (objects(answer) or objects([answer]))]


def _plain(message: Any) -> dict[str, Any]:
    """A message as its fields: LangChain wraps them as `kwargs` of a constructor or as `data` of a type."""
    if not isinstance(message, dict):
        return {}
    if "lc" in message and isinstance(message.get("kwargs"), dict):
        names = message.get("id")
        kind = word(names[-1]) if isinstance(names, list) and names else ""
        return {"type": kind.removesuffix("Chunk").removesuffix("Message").lower(), **message["kwargs"]}
    if isinstance(message.get("data"), dict):
        return {**message["data"], "type": message.get("type")}
    return message


def _role(message: dict[str, Any]) -> str:
    kind = word(message.get("type")) or word(message.get("role"))
    return _ROLES.get(kind.removesuffix("MessageChunk").lower(), "")


def _all_events(messages: list[dict[str, Any]]) -> list[Event]:
    return [event for message in messages for event in _events(message)]


def _events(message: dict[str, Any]) -> Iterator[Event]:
    role, content = _role(message), message.get("content")
    if role == "user":
        yield said(content)
    elif role == "tool":
        # A tool node says "success" where the tool itself caught its error, so only the other word is trusted.
        failed = True if message.get("status") == "error" else None
        yield returned(message.get("tool_call_id"), content, failed)
    elif role == "assistant":
        if text := text_of(content).strip():
            yield Answered(text)
        calls = [made(c.get("id"), c.get("name"), c.get("args")) for c in listed(message.get("tool_calls"))]
        if not calls:
            older = objects(as_object(message.get("additional_kwargs")).get("tool_calls"))
            named = [(call, as_object(call.get("function"))) for call in older]
            calls = [made(call.get("id"), function.get("name"), function.get("arguments")) for call, function in named]
        if calls:
            yield Called(tuple(calls))
        yield from (Unread("a call whose arguments are no JSON") for _ in objects(message.get("invalid_tool_calls")))


FORMAT = Format("langchain", "LangChain", fit, partial(EachAlone, read))
