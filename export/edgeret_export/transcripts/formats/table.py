"""Tables: a row a request, or a row a call where neighbouring rows have the same conversation and request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from edgeret.inputs.jsonl import decode
from edgeret.outcomes import outcome
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
from edgeret_export.transcripts.formats.base import NO, SURE, Format, Notes, made, objects, word
from edgeret_export.transcripts.values import QUERY_COLUMNS, Record, Row

_GROUPS = ("conversation", "conversation_id", "session", "session_id", "thread", "thread_id")
_TOOLS = ("calls", "tools", "tool", "function", "functions", "intent")
_ARGUMENTS = ("arguments", "args", "parameters")
_STATES = ("status", "result", "outcome")
_FAILED = frozenset(("error", "failed", "failure", "false", "no"))


def fit(record: Record) -> int:
    """Sure of every row."""
    return SURE if isinstance(record, Row) else NO


class Rows:
    """Puts neighbouring rows of one request together."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._place: Place | None = None
        self._same: tuple[str, str] = ("", "")
        self._events: list[Event] = []
        self._count = 0
        self._later = False

    def read(self, record: Record, place: Place) -> Iterable[Conversation]:
        """The request before this row, if this one begins another."""
        query, group = _first(record, QUERY_COLUMNS), _first(record, _GROUPS)
        tools = next((name for name in _TOOLS if name in record), None)
        if tools is None or not query:
            reason = "no query in the row" if tools else f"no column of calls; one of: {', '.join(_TOOLS)}"
            self._notes.tally.add("record", reason, place)
            return
        if not group or (group, query) != self._same:
            yield from self.end()
            self._later = bool(group) and group == self._same[0]
            self._place, self._same, self._events = place, (group, query), [Said(query)]
        self._events += self._of_row(record, record[tools].strip())

    def _of_row(self, record: Record, cell: str) -> Sequence[Event]:
        calls = [self._numbered(call) for call in _calls(cell, _first(record, _ARGUMENTS))]
        said = _first(record, _STATES)
        bad = bool(_first(record, ("error",))) or said.lower() in _FAILED
        gave = "failed" if bad else outcome(said)
        if not calls:
            return [Answered("")]
        # Names in a cell stand in the order of the calls, so each is made behind the one before it.
        return [event for call in calls for event in (Called((call,)), Returned(call.id, gave))]

    def _numbered(self, call: MadeCall) -> MadeCall:
        self._count += 1
        return MadeCall(f"row {self._count}", call.tool, call.arguments)

    def end(self) -> Iterable[Conversation]:
        """The last request."""
        if self._place is not None:
            yield Conversation(self._place, self._events, self._same[0], self._later)
            self._place = None


def _first(record: Record, names: Sequence[str]) -> str:
    return next((found for name in names if (found := word(record.get(name)).strip())), "")


def _calls(cell: str, arguments: str) -> list[MadeCall]:
    """The calls of a cell: our own JSON, a JSON list of names, names with `;` or `|` between them, or one name."""
    if cell.startswith("["):
        try:
            value: Any = decode(cell)
        except ValueError:
            value = None
        if isinstance(value, list):
            named = [{"tool": entry} if isinstance(entry, str) else entry for entry in value]
            return [made("", e.get("tool", e.get("name")), e.get("arguments")) for e in objects(named)]
    names = [name.strip() for name in cell.replace("|", ";").split(";")]
    found = [name for name in names if name]
    return [made("", name, arguments if len(found) == 1 else None) for name in found]


FORMAT = Format("csv", "CSV", fit, Rows)
