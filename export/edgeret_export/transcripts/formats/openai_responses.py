"""OpenAI's Responses: requests logged with their responses, each of which may go on from an earlier one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from edgeret_export.transcripts.conversation import Answered, Called, Conversation, Event, MadeCall, Place, Said, Unread
from edgeret_export.transcripts.formats.base import (
    NO,
    SURE,
    Format,
    Notes,
    as_object,
    exchange,
    made,
    objects,
    returned,
    said,
    text_of,
    word,
)
from edgeret_export.transcripts.values import MESSAGES, Record

MAX_OPEN = 4096
"""Responses that a later one may go on from; of more, the oldest are forgotten."""
_CALLS = frozenset(("function_call", "custom_tool_call", "mcp_call"))
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output"))
_SILENT = frozenset(("reasoning", "mcp_list_tools", "item_reference", "compaction"))


def fit(record: Record) -> int:
    """Sure where there is a response object, or an item that chat completions lack."""
    request, reply = exchange(record, ("input", MESSAGES))
    if "response" in (record.get("object"), reply.get("object")):
        return SURE
    items = objects(request.get("input")) or objects(request.get(MESSAGES))
    ours = any(_kind(item) in _CALLS | _OUTPUTS for item in items)
    return SURE if ours or (word(request.get("input")) and isinstance(reply.get("output"), list)) else NO


class Responses:
    """Follows `previous_response_id`, so that a conversation of several records is one."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._open: dict[str, tuple[str, list[Event]]] = {}

    def read(self, record: Record, place: Place) -> Iterable[Conversation]:
        """The conversation up to this response."""
        request, reply = exchange(record, ("input", MESSAGES))
        if record.get("object") == "response":
            # A response alone does not hold what was asked, unless a log put the input into it.
            reply = record
        self._notes.definitions.add(request.get("tools") or reply.get("tools"), place)
        given = request.get("input", request.get(MESSAGES))
        before = word(request.get("previous_response_id")) or word(reply.get("previous_response_id"))
        first, events = self._open.get(before, (str(place), []))
        events = [*events, *([Said(given)] if isinstance(given, str) else _events(objects(given)))]
        events += _events(objects(reply.get("output")))
        if identifier := word(reply.get("id")):
            self._open[identifier] = (first, events)
            if len(self._open) > MAX_OPEN:
                del self._open[next(iter(self._open))]
        if any(isinstance(event, Said) for event in events):
            conversation = as_object(request.get("conversation") or reply.get("conversation")).get("id")
            yield Conversation(place, events, word(conversation) or first)
        elif before:
            self._notes.tally.add("record", "goes on from a response that is not in the file", place)
        else:
            self._notes.tally.add("record", "a response without its request; log both in one line", place)

    def end(self) -> Iterable[Conversation]:
        """Nothing is held back."""
        return ()


def _events(items: list[dict[str, Any]]) -> Iterator[Event]:
    # Calls with nothing between them were made at once: their outputs come behind all of them.
    heard = (item for item in items if _kind(item) not in _SILENT)
    for is_calls, some in groupby(heard, lambda item: _kind(item) in _CALLS):
        if is_calls:
            calls = list(some)
            yield Called(tuple(map(_call, calls)))
            yield from (
                returned(_id(c), c.get("output"), bool(c.get("error"))) for c in calls if c["type"] == "mcp_call"
            )
        else:
            for item in some:
                yield from _other(item)


def _other(item: dict[str, Any]) -> Iterator[Event]:
    kind, role = _kind(item), item.get("role")
    if kind in _OUTPUTS:
        yield returned(item.get("call_id"), item.get("output"), True if item.get("status") == "incomplete" else None)
    elif kind == "message" and role == "user":
        yield said(item.get("content"))
    elif kind == "message" and role == "assistant":
        if text := text_of(item.get("content")).strip():
            yield Answered(text)
    elif kind.endswith("_call"):
        yield Unread(f"a call of the built-in tool {kind.removesuffix('_call')}")


def _call(item: dict[str, Any]) -> MadeCall:
    arguments = {"input": item.get("input")} if item["type"] == "custom_tool_call" else item.get("arguments")
    return made(_id(item), item.get("name"), arguments)


def _kind(item: dict[str, Any]) -> str:
    return word(item.get("type", "message"))


def _id(item: dict[str, Any]) -> Any:
    return item.get("call_id") or item.get("id")


FORMAT = Format("openai", "OpenAI Responses", fit, Responses)
