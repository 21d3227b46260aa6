"""edgeret's own log of decisions, where words were kept: what users asked, and what they took or called instead."""

from __future__ import annotations

from collections.abc import Iterable

from edgeret.usage.read import Asked, Reader
from edgeret.usage.redaction import WITHHELD
from edgeret_export.transcripts.conversation import (
    Answered,
    Called,
    Conversation,
    Event,
    MadeCall,
    Place,
    Returned,
    Said,
)
from edgeret_export.transcripts.formats.base import NO, SURE, Format, Notes
from edgeret_export.transcripts.values import Record

_EVENTS = frozenset(("decided", "called", "failed", "undone", "learned"))


def fit(record: Record) -> int:
    """Sure of the log's lines."""
    event = record.get("event")
    if event == "tools":
        return SURE if "set" in record and "bundle" in record else NO
    return SURE if event in _EVENTS and "task" in record and "step" in record else NO


class Decisions:
    """Puts the lines of each request together; what became of one stands anywhere behind it."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._reader = Reader()
        self._places: dict[str, Place] = {}

    def read(self, record: Record, place: Place) -> Iterable[Conversation]:
        """Nothing yet."""
        known = len(self._reader.asked)
        if not self._reader.take(record):
            self._notes.tally.add("record", "a line of a log that lacks something", place)
        elif len(self._reader.asked) > known:
            self._places[next(reversed(self._reader.asked))] = place
        return ()

    def end(self) -> Iterable[Conversation]:
        """All requests."""
        for asked in self._reader.asked.values():
            place = self._places[asked.id]
            if reason := _unusable(asked):
                self._notes.tally.add("record", reason, place)
            else:
                yield Conversation(place, list(_events(asked)), asked.id)


def _unusable(asked: Asked) -> str:
    if asked.query is None:
        return "no words were kept; log with words=True"
    if WITHHELD in asked.query:
        return "its words were withheld"
    if not asked.ended:
        return "nobody said what became of its last decision"
    return ""


def _events(asked: Asked) -> Iterable[Event]:
    yield Said(asked.query or "")
    failed = sorted(asked.failed)
    for step, (tool, arguments) in sorted(asked.calls.items()):
        while failed and failed[0][0] <= step:
            yield from _tried(asked, f"{step}.{len(failed)}", failed.pop(0)[1])
        identifier = f"{asked.id}.{step}"
        yield Called((MadeCall(identifier, tool, arguments or {}),))
        yield Returned(identifier, "worked")
    if not asked.calls:
        yield Answered("")


def _tried(asked: Asked, number: str, tool: str) -> Iterable[Event]:
    identifier = f"{asked.id}.{number}"
    yield Called((MadeCall(identifier, tool, {}),))
    yield Returned(identifier, "failed")


FORMAT = Format("edgeret", "edgeret's log", fit, Decisions)
