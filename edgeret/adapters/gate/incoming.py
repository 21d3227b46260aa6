"""A request's body as it comes in, within bounds of size and time; and whether the client is still there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


class TooLargeError(Exception):
    """A body beyond the bound."""


class TooSlowError(Exception):
    """A client that sends nothing more and does not end either."""


class GoneError(Exception):
    """A client that went away."""


class Incoming:
    """One request's body, read once."""

    def __init__(self, receive: Receive, most_bytes: int, seconds: float) -> None:
        """`seconds` bounds the wait for each part."""
        self._receive, self._room, self._seconds = receive, most_bytes, seconds
        self._ended = asyncio.Event()
        self._parts = self._read()

    async def begin(self, most_bytes: int) -> tuple[bytes, bool]:
        """The whole body, or as much of a longer one as shows that it is longer; and whether it is whole. Raises
        TooLargeError, TooSlowError and GoneError."""
        begun = bytearray()
        async for part in self._parts:
            begun += part
            if len(begun) > most_bytes:
                return bytes(begun), False
        return bytes(begun), True

    async def rest(self, begun: bytes = b"") -> AsyncIterator[bytes]:
        """What was begun, and all that comes. Raises as `begin` does."""
        if begun:
            yield begun
        async for part in self._parts:
            if part:
                yield part

    async def gone(self) -> None:
        """Returns when the client has gone away after all of its body came."""
        await self._ended.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _read(self) -> AsyncIterator[bytes]:
        while not self._ended.is_set():
            try:
                message = await asyncio.wait_for(self._receive(), self._seconds)
            except TimeoutError:
                raise TooSlowError from None
            if message["type"] == "http.disconnect":
                raise GoneError
            part: bytes = message.get("body", b"")
            self._room -= len(part)
            if self._room < 0:
                raise TooLargeError
            if not message.get("more_body", False):
                self._ended.set()
            yield part
