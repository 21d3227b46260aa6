"""Requests of the client that are under way, and what servers ask in them. Before 2026-07-28 a server asks while a
request goes on; since then the request ends with the question, and its repetition brings the answer. Knows nothing of
servers but their names, and of what is asked."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.context import ServerRequestContext
from mcp_types import LOG_LEVEL_META_KEY

from edgeret.adapters.mcp.eras import PROGRESS_TOKEN

MOST_PARKED = 32
"""Requests that ended with a question and were not repeated yet; of more, the oldest is given up."""
PARKED_S = 600.0
"""For which the result of one is kept that nobody asked for again."""
MOST_WAITING = 8
"""Questions of one server that came outside of any request, and wait for the next."""
_STATE, _RESPONSES = "requestState", "inputResponses"


class InputRequiredError(Exception):
    """A request whose result is a question, which the client answers when it repeats the request."""

    def __init__(self, result: dict[str, Any]) -> None:
        """With what the server gave."""
        super().__init__("the server asks something first")
        self.result = result


class Asked:
    """One question of a server."""

    def __init__(self, method: str, params: Mapping[str, Any]) -> None:
        """Not yet answered, nor shown to the client."""
        self.method, self.params = method, params
        self.shown = False
        self.answer: dict[str, Any] | None = None
        self.answered = anyio.Event()


class Call:
    """One request of the client, with its repetitions."""

    def __init__(self, ctx: ServerRequestContext[Any]) -> None:
        """Just begun."""
        self.ctx = ctx
        self._scope = anyio.CancelScope()
        self._asked: dict[str, Asked] = {}
        self._moved = anyio.Event()
        self._collected = anyio.Event()
        self._result: dict[str, Any] | None = None
        self._error: Exception | None = None

    @property
    def meta(self) -> Mapping[str, Any]:
        """What the client said beside the request."""
        meta = (self.ctx.params or {}).get("_meta")
        return meta if isinstance(meta, Mapping) else {}

    @property
    def log_level(self) -> str | None:
        """From which level on the client wants to read logs while this goes on."""
        level = self.meta.get(LOG_LEVEL_META_KEY)
        return level if isinstance(level, str) else None

    @property
    def repeated(self) -> dict[str, Any]:
        """What the client answers to a server that remembers no questions."""
        params = self.ctx.params or {}
        return {key: params[key] for key in (_STATE, _RESPONSES) if key in params}

    @property
    def wants_progress(self) -> bool:
        """Whether the client wants to hear how it goes on."""
        return PROGRESS_TOKEN in self.meta

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Tells the client how it goes on."""
        await self.ctx.session.report_progress(progress, total, message)

    def ask(self, asked: Asked) -> None:
        """A question is to be put to the client."""
        self._asked[f"question-{len(self._asked) + 1}"] = asked
        self._moved.set()

    def again(self, ctx: ServerRequestContext[Any]) -> None:
        """The client repeats the request, with answers."""
        self.ctx = ctx
        responses = (ctx.params or {}).get(_RESPONSES)
        for key, answer in responses.items() if isinstance(responses, Mapping) else ():
            asked = self._asked.get(key)
            if asked is not None and not asked.answered.is_set() and isinstance(answer, dict):
                asked.answer = answer
                asked.answered.set()
        for asked in self._asked.values():
            asked.shown = False

    async def run(self, work: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        """Does what was requested, and keeps what came of it for a while."""
        with self._scope:
            try:
                self._result = await work()
            except InputRequiredError as required:
                self._result = required.result
            except Exception as error:
                self._error = error
        self._moved.set()
        with anyio.move_on_after(PARKED_S):
            await self._collected.wait()
        self._result = self._error = None

    async def outcome(self) -> tuple[dict[str, Any], bool]:
        """The result, or questions to be answered first; and whether it is the result. Raises what the work raised."""
        while True:
            if self._error is not None:
                self._collected.set()
                raise self._error
            if self._result is not None:
                self._collected.set()
                return self._result, True
            if self._scope.cancel_called:
                return {"content": [], "isError": True}, True  # given up, and nobody waits for it
            open_now = {
                key: asked for key, asked in self._asked.items() if not asked.answered.is_set() and not asked.shown
            }
            if open_now:
                for asked in open_now.values():
                    asked.shown = True
                questions = {
                    key: {"method": asked.method, "params": dict(asked.params)} for key, asked in open_now.items()
                }
                return {"resultType": "input_required", "inputRequests": questions}, False
            self._moved = anyio.Event()
            await self._moved.wait()

    def give_up(self) -> None:
        """Nobody waits for it any more."""
        self._scope.cancel()
        self._collected.set()


CALL: ContextVar[Call | None] = ContextVar("call", default=None)
"""The request for which something is done. Over HTTP the SDK carries it on to what comes back on a request's stream."""


class Calls:
    """All requests under way."""

    def __init__(self) -> None:
        """None."""
        self._at: dict[str, list[Call]] = {}
        self._waiting: dict[str, list[Asked]] = {}
        self._parked: dict[str, Call] = {}

    @contextmanager
    def at(self, server: str) -> Iterator[None]:
        """What is done here of a request, this server does."""
        call = CALL.get()
        if call is None:
            yield
            return
        calls = self._at.setdefault(server, [])
        calls.append(call)
        for asked in self._waiting.pop(server, ()):
            if not asked.answered.is_set():
                call.ask(asked)
        try:
            yield
        finally:
            calls.remove(call)

    def related(self, server: str) -> Call | None:
        """The request in which a server speaks: the one on whose stream it does, else the newest that it has."""
        calls = self._at.get(server, [])
        call = CALL.get()
        return call if call in calls else calls[-1] if calls else None

    async def ask(self, server: str, asked: Asked) -> None:
        """Has the client asked in a request that this server has, or gets next; returns when it has answered."""
        call = self.related(server)
        try:
            if call is not None:
                call.ask(asked)
            else:
                waiting = self._waiting.setdefault(server, [])
                waiting.append(asked)
                del waiting[:-MOST_WAITING]
            await asked.answered.wait()
        finally:
            asked.answered.set()  # where the server waits no more, nobody is asked

    async def carry(
        self, ctx: ServerRequestContext[Any], tasks: TaskGroup, work: Callable[[], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """What the client is to be answered to a request that may end with questions. Raises as `work`."""
        state = (ctx.params or {}).get(_STATE)
        call = self._parked.pop(state, None) if isinstance(state, str) else None
        if call is not None:
            call.again(ctx)
        else:
            call, state = Call(ctx), secrets.token_hex(16)
            token = CALL.set(call)
            tasks.start_soon(call.run, work)
            CALL.reset(token)
        try:
            result, done = await call.outcome()
        except anyio.get_cancelled_exc_class():
            call.give_up()
            raise
        if done:
            return result
        self._parked[str(state)] = call
        while len(self._parked) > MOST_PARKED:
            self._parked.pop(next(iter(self._parked))).give_up()
        return {**result, "requestState": state}

    async def within(
        self, ctx: ServerRequestContext[Any], work: Callable[[], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """The result of a request in which the client is asked while it goes on. Raises as `work`."""
        token = CALL.set(Call(ctx))
        try:
            return await work()
        finally:
            CALL.reset(token)
