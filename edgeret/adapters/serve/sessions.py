"""Conversations by the names that clients gave them, a bounded number. Knows nothing of HTTP."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from edgeret import Call, Conversation, InputError, Runtime, Task
from edgeret.quoting import few, quoted

MOST_SESSIONS = 256
"""The one that was used longest ago goes first."""
MOST_TURNS = 500


@dataclass(slots=True)
class _Session:
    runtime: Runtime | None
    conversation: Conversation | Mapping[str, Any]
    allowed: frozenset[str] | None
    lock: threading.Lock = field(default_factory=threading.Lock)
    turns: int = 0


class Sessions:
    """Thread-safe; a session answers one request at a time."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, _Session] = OrderedDict()
        self._lock = threading.Lock()
        self._latest: Runtime | None = None

    @contextmanager
    def task(
        self,
        name: str,
        runtime: Runtime,
        query: str | None,
        calls: Sequence[str | Call] | None,
        allowed: Sequence[str] | None,
        now: datetime,
    ) -> Iterator[Task]:
        """The task of a session's turn, for as long as it is decided. The same words with at least the calls made so
        far go on with the latest turn, and so do calls without words; all else begins the next one, `now`. Raises
        InputError."""
        chosen = None if allowed is None else frozenset(allowed)
        with self._lock:
            session = self._open.get(name)
            if session is None:
                if query is None:
                    raise InputError(f"session {quoted(name)} has no turn yet; give a query")
                session = _Session(runtime, runtime.conversation(tools=chosen), chosen)
                self._open[name] = session
            self._open.move_to_end(name)
            while len(self._open) > MOST_SESSIONS:
                self._open.popitem(last=False)
            if self._latest is not runtime:
                self._let_go(runtime)
        with session.lock:
            if session.runtime is not runtime or session.allowed != chosen:
                self._reopen(name, session, runtime, chosen)
            yield _turn(session, query, calls, now)

    def _let_go(self, latest: Runtime) -> None:
        """Keeps what was said in other sessions, and not the runtime that they began with: after a switch of versions
        those that nobody asks again would hold a whole bundle in memory. With the lock; what is busy is left for later.
        """
        whole = True
        for session in self._open.values():
            if session.runtime is latest or session.runtime is None:
                continue
            if not session.lock.acquire(blocking=False):
                whole = False
                continue
            try:
                if isinstance(session.conversation, Conversation):
                    session.conversation = session.conversation.to_dict()
                session.runtime = None
            finally:
                session.lock.release()
        if whole:
            self._latest = latest

    def _reopen(self, name: str, session: _Session, runtime: Runtime, allowed: frozenset[str] | None) -> None:
        """The same conversation with the tools that there are now."""
        try:
            said = session.conversation
            saved = said.to_dict() if isinstance(said, Conversation) else said
            session.conversation = runtime.conversation(saved, tools=allowed)
        except InputError as error:
            if session.runtime is not runtime:
                with self._lock:
                    self._open.pop(name, None)
                raise InputError(
                    f"session {quoted(name)} cannot go on ({error}); it was ended, begin another"
                ) from None
            raise
        session.runtime, session.allowed = runtime, allowed


def _turn(session: _Session, query: str | None, calls: Sequence[str | Call] | None, now: datetime) -> Task:
    assert isinstance(session.conversation, Conversation), "it was opened for this request"
    given = [call if isinstance(call, Call) else Call(call) for call in calls or ()]
    task = session.conversation.task if session.turns else None
    made = () if task is None else task.calls
    extends = [call.tool for call in given[: len(made)]] == [call.tool for call in made]
    if query is None:
        if task is None:
            raise InputError("this session has no turn yet; give a query")
        if calls is None:
            given = list(made)
        elif not extends:
            told = few([call.tool for call in made])
            raise InputError(f"calls: this turn has made {told}; give these and what came behind, or a query")
    elif task is None or query.split() != task.query.split() or not extends:
        if session.turns >= MOST_TURNS:
            raise InputError(f"this session has {MOST_TURNS} turns; begin another one")
        task, made = session.conversation.say(query, now=now), ()
        session.turns += 1
    for call in given[len(made) :]:
        task.call(call.tool, call.arguments, call.result)
    return task
