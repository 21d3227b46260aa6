"""Logs of MCP clients, servers and proxies: JSON-RPC messages, bare or inside a log's own line.

MCP carries calls and not what the user wanted. The request is what stands beside the message as `query`, or what was
asked of a tool that finds tools (`find_tools`, `search_tools`, …); the calls up to the next one are its calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from edgeret_export.transcripts.conversation import Called, Conversation, Event, MadeCall, Place, Returned, Said
from edgeret_export.transcripts.formats.base import NO, SURE, Format, Notes, as_object, made, objects, returned, word
from edgeret_export.transcripts.values import Record

MAX_OPEN = 1024
"""Sessions that are read at once; of more, the one that was begun first ends."""
MAX_WAITING = 1024
"""Requests of a session without an answer; of more, the oldest counts as failed."""
FINDERS = frozenset(("find_tools", "find_tool", "search_tools", "search_tool", "tool_search"))
CALLERS = frozenset(("call_tool", "use_tool", "run_tool", "execute_tool"))
_OURS = FINDERS | CALLERS
"""Ways to tools, and none themselves."""
_INSIDE = ("message", "payload", "data", "msg", "rpc", "body")
_SESSIONS = ("session", "session_id", "sessionId", "mcp-session-id")


def fit(record: Record) -> int:
    """Sure where there is a JSON-RPC message."""
    return SURE if _message(record) else NO


def _message(record: Record) -> Record:
    if "jsonrpc" in record:
        return record
    inside = (as_object(record.get(key)) for key in _INSIDE)
    return next((message for message in inside if "jsonrpc" in message), {})


@dataclass(slots=True)
class _Session:
    """What is known of a session: its request so far, and who waits for an answer (a JSON-RPC id)."""

    name: str
    place: Place
    query: str = ""
    events: list[Event] = field(default_factory=list)
    waiting: dict[Any, str] = field(default_factory=dict)
    listing: set[Any] = field(default_factory=set)
    count: int = 0
    requests: int = 0

    def ends(self) -> Iterator[Conversation]:
        """The request so far, without the calls that nobody answered."""
        events = [*self.events, *(Returned(identifier, "failed") for identifier in self.waiting.values())]
        if self.query:
            yield Conversation(self.place, [Said(self.query), *events], self.name, later=self.requests > 0)
            self.requests += 1
        self.query, self.events, self.waiting = "", [], {}


class Sessions:
    """Follows each session's requests and answers, by their ids."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._open: dict[str, _Session] = {}

    def read(self, record: Record, place: Place) -> Iterable[Conversation]:
        """The requests that ended with this message."""
        message = _message(record)
        name = next((word(record.get(key)) for key in _SESSIONS if word(record.get(key))), "")
        session = self._open.get(name)
        if session is None:
            session = self._open[name] = _Session(name or place.file, place)
            if len(self._open) > MAX_OPEN:
                yield from self._open.pop(next(iter(self._open))).ends()
        identifier = message.get("id")
        identifier = identifier if isinstance(identifier, str | int) else None
        method, parameters = message.get("method"), as_object(message.get("params"))
        query = word(record.get("query")) or word(as_object(parameters.get("_meta")).get("query"))
        if method == "initialize" or (query.strip() and query != session.query):
            yield from session.ends()
            session.query, session.place = query, place
        if method == "tools/call":
            yield from self._call(session, identifier, parameters, place)
        elif method == "tools/list" and identifier is not None:
            session.listing.add(identifier)
        elif method is None:
            self._answer(session, identifier, message, place)

    def _call(self, session: _Session, identifier: Any, parameters: Record, place: Place) -> Iterator[Conversation]:
        name, arguments = word(parameters.get("name")), parameters.get("arguments")
        given = as_object(arguments)
        bare = name.rsplit("__", 1)[-1]
        if bare in FINDERS and (asked := _searched(given)):
            yield from session.ends()
            session.query, session.place = asked, place
            return
        if bare in CALLERS and (meant := word(given.get("name")) or word(given.get("tool"))):
            name, arguments = meant, given.get("arguments", given.get("args"))
        if not session.query:
            self._notes.tally.add("call", 'before any request; log what the user wanted as "query"', place)
            return
        session.count += 1
        # A session may use an id again, so results are told apart by a number of our own.
        own = f"{identifier}/{session.count}"
        session.events.append(Called((_with_id(own, made("", name, arguments)),)))
        session.waiting[identifier] = own
        if len(session.waiting) > MAX_WAITING:
            oldest = next(iter(session.waiting))
            session.events.append(Returned(session.waiting.pop(oldest), "failed"))

    def _answer(self, session: _Session, identifier: Any, message: Record, place: Place) -> None:
        result = as_object(message.get("result"))
        if identifier in session.listing:
            session.listing.discard(identifier)
            found = objects(result.get("tools"))
            self._notes.definitions.add([tool for tool in found if word(tool.get("name")) not in _OURS], place)
        elif identifier in session.waiting:
            # SDKs send a false `isError` by themselves, so that one says nothing.
            failed = True if "error" in message or result.get("isError") is True else None
            own = session.waiting.pop(identifier)
            session.events.append(returned(own, result.get("content") or result.get("structuredContent"), failed))

    def end(self) -> Iterable[Conversation]:
        """The last request of every session."""
        for session in self._open.values():
            yield from session.ends()


def _with_id(identifier: str, call: MadeCall) -> MadeCall:
    return MadeCall(identifier, call.tool, call.arguments)


def _searched(given: Record) -> str:
    """What was searched for. Of several texts the first is the user's own words, others say what tools should do."""
    queries = given.get("queries")
    first = queries[0] if isinstance(queries, list) and queries else queries
    return word(given.get("query")).strip() or word(first).strip()


FORMAT = Format("mcp", "MCP log", fit, Sessions)
