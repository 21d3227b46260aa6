"""Between a way to a server and who answers it: a server that asks without taking answers, or takes nothing that it is
sent, is cut off; one that sends without end waits. Knows nothing of the way and of what is said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from edgeret.adapters.mcp.bounds import Meter

MOST_UNANSWERED = 64
"""Requests of a server at once: people answer some of them, and none asks for so many things."""
MOST_WAITING, MOST_WAITING_BYTES = 256, 64 << 20
"""Messages to a server that it does not take."""
_REQUEST_UNITS = 5.0
"""What a server's request counts for beside a message that nobody answers."""

Streams = tuple[Any, Any]
"""Where messages come from and where they go, as `mcp`'s dispatcher takes them."""


@asynccontextmanager
async def held(streams: Streams, meter: Meter, stalled_s: float) -> AsyncIterator[Streams]:
    """The same streams, bounded; a message that is not taken for `stalled_s` seconds ends the connection. Raises
    TooMuchError, in a group, whenever `meter` says that the connection is to end."""
    unanswered: set[Any] = set()

    async def watch() -> None:
        await meter.over.wait()
        raise meter.error

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        yield _In(streams[0], meter, unanswered), _Out(streams[1], meter, unanswered, stalled_s)
        tasks.cancel_scope.cancel()


class _In:
    def __init__(self, inner: Any, meter: Meter, unanswered: set[Any]) -> None:
        self._inner, self._meter, self._unanswered = inner, meter, unanswered

    @property
    def last_context(self) -> Any:
        """The context that a message was sent in, where the way knows it."""
        return getattr(self._inner, "last_context", None)

    def __aiter__(self) -> _In:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            item: SessionMessage | Exception = await self._inner.__anext__()
            message = item.message if isinstance(item, SessionMessage) else None
            asks = isinstance(message, JSONRPCRequest)
            await self._meter.message(_REQUEST_UNITS if asks else 1)
            if isinstance(message, JSONRPCRequest):
                number = coerce_request_id(message.id)
                if number in self._unanswered:
                    continue  # two under one number could not be told apart
                if len(self._unanswered) == MOST_UNANSWERED:
                    self._meter.end(f"asked for more than {MOST_UNANSWERED} things without taking the answers")
                    await anyio.sleep_forever()  # until all this is cancelled
                self._unanswered.add(number)
            elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
                self._unanswered.discard(_cancelled(message))
            return item

    async def __aenter__(self) -> _In:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self._inner.aclose()


class _Out:
    def __init__(self, inner: Any, meter: Meter, unanswered: set[Any], stalled_s: float) -> None:
        self._inner, self._meter, self._unanswered, self._stalled_s = inner, meter, unanswered, stalled_s
        self._waiting, self._bytes = 0, 0

    async def send(self, item: SessionMessage) -> None:
        """Returns when the way has taken the message. Raises BrokenResourceError where the server is cut off."""
        message = item.message
        # Where nobody waits a message is taken at once, and its size says nothing.
        size = len(message.model_dump_json()) if self._waiting else 0
        self._waiting, self._bytes = self._waiting + 1, self._bytes + size
        try:
            if self._waiting > MOST_WAITING or self._bytes > MOST_WAITING_BYTES:
                self._broken("does not read what it is sent")
            with anyio.move_on_after(self._stalled_s) as scope:
                await self._inner.send(item)
            if scope.cancelled_caught:
                self._broken(f"has not read what it was sent for {self._stalled_s:g} s")
        finally:
            self._waiting, self._bytes = self._waiting - 1, self._bytes - size
            if isinstance(message, JSONRPCResponse | JSONRPCError):
                self._unanswered.discard(None if message.id is None else coerce_request_id(message.id))

    async def __aenter__(self) -> _Out:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self._inner.aclose()

    def _broken(self, words: str) -> None:
        self._meter.end(words)
        raise anyio.BrokenResourceError


def _cancelled(message: JSONRPCNotification) -> Any:
    number = (message.params or {}).get("requestId")
    return coerce_request_id(number) if isinstance(number, str | int) else None
