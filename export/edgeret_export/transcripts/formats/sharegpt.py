"""ShareGPT's conversations and what grew out of them: turns of `from` and `value`, tools as text, calls in texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from edgeret_export.transcripts.conversation import Answered, Called, Event, Place, Said
from edgeret_export.transcripts.formats import written
from edgeret_export.transcripts.formats.base import NO, SURE, EachAlone, Format, Notes, listed, objects, word
from edgeret_export.transcripts.values import Record

_TURNS = ("conversations", "conversation", "items", "dialogue", "dialog", "chat", "turns", "trajectory", "messages")
_USER = frozenset(("human", "user"))
_ASSISTANT = frozenset(("gpt", "assistant", "model", "chatgpt", "bard", "bing", "claude"))
_CALL = frozenset(
    ("function_call", "tool_call", "function-call", "tool-call", "tool_calls", "function_calls", "action")
)
_RESULT = frozenset((
    *("observation", "tool", "function", "ipython", "function_response", "function-response", "tool_response"),
    *("tool-response", "tool_result", "function_result", "environment"),
))  # fmt: skip
_SYSTEM = frozenset(("system", "developer"))


def fit(record: Record) -> int:
    """Sure where there are turns of `from` and `value`."""
    return SURE if _turns(record) else NO


def _turns(record: Record) -> list[dict[str, Any]]:
    for key in _TURNS:
        turns = objects(record.get(key))
        if turns and all("from" in turn and "value" in turn for turn in turns):
            return turns
    return []


def read(record: Record, place: Place, notes: Notes) -> tuple[Sequence[Event], str]:
    """The record's events."""
    notes.definitions.add(record.get("tools") or record.get("functions"), place)
    if system := word(record.get("system")):
        written.tools(system, place, notes)
    events: list[Event] = []
    calls = 1
    for turn in _turns(record):
        if word(turn["from"]).strip().lower() in _SYSTEM and not listed(record.get("tools")):
            written.tools(word(turn["value"]), place, notes)
        for event in _events(turn, calls):
            calls = len(event.calls) if isinstance(event, Called) else calls
            events.append(event)
    return events, ""


def _events(turn: dict[str, Any], calls: int) -> Iterator[Event]:
    role, value = word(turn["from"]).strip().lower(), turn["value"]
    text = word(value)
    if role in _RESULT or (role in _USER and written.has_results(text)):
        yield from written.results(text, calls) if text else written.results("" if value is None else str(value))
    elif role in _USER:
        yield Said(text)
    elif role in _CALL and not written.has_calls(text):
        yield from written.calls_in([value])
    elif role in _ASSISTANT or role in _CALL:
        yield from written.assistant(text)
        if not text.strip():
            yield Answered("")


FORMAT = Format("sharegpt", "ShareGPT", fit, partial(EachAlone, read))
