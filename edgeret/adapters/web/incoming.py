"""A request's body as it comes in, within bounds of size and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from edgeret.adapters.web.limits import Limits
from edgeret.adapters.web.refusals import RefusedError

SMALL_BYTES = 256 << 10
READ_BYTES = 16 << 20
"""Bodies up to this are read; longer ones, pictures mostly, pass through as they come."""

ROOM_WAITS, ROOM_S = 40, 0.05
"""How often a body looks for room, and how long it waits in between."""

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


class GoneError(Exception):
    """A client that went away."""


class Room:
    """The bytes of large bodies that are held at once, for all requests together."""

    def __init__(self, limits: Limits) -> None:
        self.free = limits.read_bytes


class Share:
    """One request's share of the room. Small bodies need none."""

    def __init__(self, room: Room) -> None:
        self._room, self._held = room, 0

    async def grow(self, size: int) -> bool:
        """Whether a body of this size may be held, perhaps after a moment; if so, it is counted until `release`."""
        if size > READ_BYTES:
            return False
        more, waits = size - SMALL_BYTES - self._held, ROOM_WAITS
        while more > self._room.free:
            if not waits:
                return False
            waits -= 1
            await asyncio.sleep(ROOM_S)
        self._room.free -= max(0, more)
        self._held += max(0, more)
        return True

    async def once(self, parts: list[bytes], more: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """What was held, let go of when it was sent, and all that comes behind it."""
        while parts:
            part = parts.pop(0)
            for at in range(0, len(part), SMALL_BYTES):
                yield part[at : at + SMALL_BYTES]
            del part
        self.release()
        async for part in more:
            yield part

    def release(self) -> None:
        """Gives it back."""
        self._room.free += self._held
        self._held = 0


class Incoming:
    """One request's body, read once."""

    def __init__(self, receive: Receive, limits: Limits) -> None:
        self._receive, self._limits, self._room = receive, limits, limits.body_bytes
        self._ended = False
        self._parts = self._read()

    async def begin(self, share: Share) -> tuple[bytes, bool]:
        """The whole body, or as much of a longer one as its share had room for; and whether it is whole. Raises
        RefusedError for one that is too large or comes too slowly, and GoneError."""
        begun = bytearray()
        async for part in self._parts:
            begun += part
            if not await share.grow(len(begun)):
                return bytes(begun), False
        return bytes(begun), True

    async def rest(self) -> AsyncIterator[bytes]:
        """All that comes. Raises as `begin` does."""
        async for part in self._parts:
            if part:
                yield part

    async def _read(self) -> AsyncIterator[bytes]:
        limits, loop = self._limits, asyncio.get_running_loop()
        patience = limits.pause_s
        while not self._ended:
            began = loop.time()
            try:
                async with asyncio.timeout(patience):
                    message = await self._receive()
            except TimeoutError:
                raise RefusedError(
                    408, f"the body comes too slowly: send {limits.body_rate >> 10} kB a second or more"
                ) from None
            if message["type"] == "http.disconnect":
                raise GoneError
            part: bytes = message.get("body", b"")
            # What came earns time, but never more than a pause: an early rush buys no rest.
            patience = min(limits.pause_s, patience - (loop.time() - began) + len(part) / limits.body_rate)
            self._room -= len(part)
            if self._room < 0:
                raise too_large(limits)
            if not message.get("more_body", False):
                self._ended = True
            yield part


def too_large(limits: Limits) -> RefusedError:
    """The answer to a body beyond the bound."""
    return RefusedError(413, f"the body has more than {limits.body_bytes >> 20} MB")
