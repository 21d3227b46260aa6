"""OpenAI's Responses: requests logged with their responses, each of which may go on from an earlier one."""

from __future__ import annotations

from collections.abc import Iterable

from edgeret_export.transcripts.conversation import Conversation, Event, Place, Said
from edgeret_export.transcripts.formats.base import (
    NO,
    SURE,
    Format,
    Notes,
    as_object,
    exchange,
    objects,
    word,
)
from edgeret_export.transcripts.formats.response_items import CALLS, OUTPUTS, item_events, kind
from edgeret_export.transcripts.values import MESSAGES, Record

MAX_OPEN = 4096
"""Responses that a later one may go on from; of more, the oldest are forgotten."""


def fit(record: Record) -> int:
    """Sure where there is a response object, or an item that chat completions lack."""
    request, reply = exchange(record, ("input", MESSAGES))
    if "response" in (record.get("object"), reply.get("object")):
        return SURE
    items = objects(request.get("input")) or objects(request.get(MESSAGES))
    ours = any(kind(item) in CALLS | OUTPUTS for item in items)
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
        events = [*events, *([Said(given)] if isinstance(given, str) else item_events(objects(given)))]
        events += item_events(objects(reply.get("output")))
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


FORMAT = Format("openai", "OpenAI Responses", fit, Responses)
