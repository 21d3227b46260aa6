"""Rollouts of Codex: a line an item, bare in older files and the payload of a record in newer ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from edgeret_export.transcripts.conversation import Conversation, Place
from edgeret_export.transcripts.formats.base import NO, SURE, Format, Notes, as_object, objects, word
from edgeret_export.transcripts.formats.response_items import CALLS, OUTPUTS, item_events
from edgeret_export.transcripts.formats.sessions import OpenSessions, Session
from edgeret_export.transcripts.values import Record

_RECORDS = frozenset((
    *("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"),
    *("inter_agent_communication", "ghost_snapshot"),
))  # fmt: skip
_ITEMS = CALLS | OUTPUTS | {"local_shell_call", "web_search_call", "reasoning", "tool_search_call"}
_ITEM_PARTS = frozenset(("input_text", "output_text", "input_image", "text"))


def fit(record: Record) -> int:
    """Sure where a record has a payload, where it is an item by itself, or the head of an older file."""
    kind = word(record.get("type"))
    if kind in _RECORDS and isinstance(record.get("payload"), dict):
        return SURE
    if "record_type" in record or {"id", "timestamp", "instructions"} <= record.keys():
        return SURE
    parts = objects(record.get("content"))
    message = kind == "message" and bool(parts) and all(word(part.get("type")) in _ITEM_PARTS for part in parts)
    return SURE if kind in _ITEMS or (message and "model" not in record) else NO


class Rollouts:
    """Puts the items of each session together; a file is a session until it says that another one begins."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._name = ""
        self._open: OpenSessions[dict[str, Any]] = OpenSessions()

    def read(self, record: Record, place: Place) -> Iterable[Conversation]:
        """The sessions that ended for this record."""
        kind, payload = word(record.get("type")), as_object(record.get("payload"))
        if kind == "session_meta" or "instructions" in record:
            self._name = word(payload.get("id")) or word(record.get("id"))
            return
        item = payload if kind == "response_item" else record
        if kind in _RECORDS - {"response_item"} or "record_type" in record:
            return
        session, ended = self._open.get(self._name or place.file, place, item.get("role") == "user")
        yield from map(_conversation, ended)
        session.pieces.append(_plain(item))

    def end(self) -> Iterable[Conversation]:
        """The sessions that were still open."""
        return (_conversation(session) for session in self._open.end())


def _plain(item: Record) -> dict[str, Any]:
    """The item; the model's own shell as the call of a function, which its output is that of."""
    if item.get("type") != "local_shell_call":
        return dict(item)
    action = as_object(item.get("action"))
    arguments = {key: value for key, value in action.items() if key != "type" and value is not None}
    identifier = item.get("call_id") or item.get("id")
    return {"type": "function_call", "name": "local_shell", "call_id": identifier, "arguments": arguments}


def _conversation(session: Session[dict[str, Any]]) -> Conversation:
    return Conversation(session.place, list(item_events(session.pieces)), session.name, session.later)


FORMAT = Format("codex", "Codex rollout", fit, Rollouts)
