"""Sessions of Claude Code: a line a message, and what its programs say between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from edgeret_export.transcripts.conversation import Answered, Called, Conversation, Event, Place, Said, Unread
from edgeret_export.transcripts.formats.base import (
    NO,
    SURE,
    Format,
    Notes,
    as_object,
    made,
    objects,
    returned,
    said,
    text_of,
    word,
)
from edgeret_export.transcripts.formats.sessions import OpenSessions, Session
from edgeret_export.transcripts.values import Record

_SPEAKERS = frozenset(("user", "assistant"))
_OTHERS = frozenset((
    *("summary", "system", "progress", "attachment", "file-history-snapshot", "queue-operation", "result"),
    *("custom-title", "ai-title", "last-prompt", "permission-mode", "agent-name", "stream_event", "mode"),
))  # fmt: skip
"""Records that hold nothing that was said, or that is not held in messages too."""
_SESSIONS = ("sessionId", "session_id")
_MARKS = (*_SESSIONS, "leafUuid", "uuid", "messageId")
_PROGRAMS = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
"""Marks of messages that no user wrote and no model answered."""


def fit(record: Record) -> int:
    """Sure where a message stands in an envelope with a session."""
    kind = word(record.get("type"))
    if not any(word(record.get(key)) for key in _MARKS):
        return NO
    return SURE if kind in _OTHERS or (kind in _SPEAKERS and isinstance(record.get("message"), dict)) else NO


class Sessions:
    """Puts the messages of each session together."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._open: OpenSessions[tuple[str, Event]] = OpenSessions()

    def read(self, record: Record, place: Place) -> Iterable[Conversation]:
        """The sessions that ended for this record."""
        message = as_object(record.get("message"))
        if word(record.get("type")) not in _SPEAKERS or any(record.get(mark) is True for mark in _PROGRAMS):
            return
        if record.get("isSidechain") is True or word(record.get("parent_tool_use_id")):
            self._notes.tally.add("record", "a sub-agent's turn, which no user asked for", place)
            return
        name = next((word(record.get(key)) for key in _SESSIONS if word(record.get(key))), "") or place.file
        events = list(_events(message, as_object(record.get("toolUseResult"))))
        session, ended = self._open.get(name, place, any(isinstance(event, Said) for event in events))
        yield from map(_conversation, ended)
        # An answer is written in several records, a piece each, under one id.
        answer = word(message.get("id")) or str(place)
        session.pieces += [(answer, event) for event in events]

    def end(self) -> Iterable[Conversation]:
        """The sessions that were still open."""
        return (_conversation(session) for session in self._open.end())


def _conversation(session: Session[tuple[str, Event]]) -> Conversation:
    """Calls of one answer were made at once, wherever its pieces stand."""
    at: dict[str, int] = {}
    events: list[Event] = []
    for answer, event in session.pieces:
        if isinstance(event, Called) and answer in at:
            before = events[at[answer]]
            events[at[answer]] = Called((*(before.calls if isinstance(before, Called) else ()), *event.calls))
            continue
        if isinstance(event, Called):
            at[answer] = len(events)
        events.append(event)
    return Conversation(session.place, events, session.name, session.later)


def _events(message: Record, told: Record) -> Iterator[Event]:
    content, role = message.get("content"), message.get("role")
    blocks = objects(content)
    if role == "user":
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            yield returned(block.get("tool_use_id"), block.get("content"), _flag(block, told))
        # Programs put hints of their own beside results; a user speaks in a message of their own.
        if not results:
            yield said(content)
    elif role == "assistant":
        if text := text_of(content).strip():
            yield Answered(text)
        if calls := [made(b.get("id"), b.get("name"), b.get("input")) for b in blocks if b.get("type") == "tool_use"]:
            yield Called(tuple(calls))
        for block in blocks:
            if block.get("type") == "server_tool_use":
                yield Unread(f"a call of the built-in tool {word(block.get('name'))}")


def _flag(block: dict[str, Any], told: Record) -> bool | None:
    """Whether the result is an error, as its record says; a command that was interrupted is one."""
    flag = block.get("is_error")
    return True if told.get("interrupted") is True else flag if isinstance(flag, bool) else None


FORMAT = Format("claude-code", "Claude Code", fit, Sessions)
