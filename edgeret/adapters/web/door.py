"""A server as an ASGI application: who may ask is let in, has a bounded time for its body, and gets an answer or a
refusal. What is answered is its subclasses' matter. Logs nothing."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from edgeret.adapters.web.connections import CONNECTION, Connection, Connections
from edgeret.adapters.web.headers import Headers, first
from edgeret.adapters.web.incoming import GoneError, Incoming, Receive, Room, Share, too_large
from edgeret.adapters.web.refusals import RefusedError, body
from edgeret.adapters.web.visitors import Visitors, preflight, readable_by

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Scope = Mapping[str, Any]


@dataclass(slots=True)
class Reply:
    """An answer of `who` on its way to a client; `page` is the origin of the web page that may read it."""

    send: Send
    connection: Connection
    who: str
    page: bytes | None = None
    begun: bool = False

    async def begin(self, status: int, headers: Headers) -> None:
        """Status and headers."""
        self.begun = True
        shown = headers if self.page is None else readable_by(self.page, headers)
        await self.send({"type": "http.response.start", "status": status, "headers": shown})

    async def part(self, part: bytes, more: bool = True) -> None:
        """Some more of the body, or the last of it."""
        await self.send({"type": "http.response.body", "body": part, "more_body": more})

    async def whole(self, status: int, kind: bytes, content: bytes, headers: Headers | None = None) -> None:
        """A whole answer with a body of this kind (a media type)."""
        length = str(len(content)).encode()
        with self.connection.at_once():
            await self.begin(status, [(b"content-type", kind), (b"content-length", length), *(headers or ())])
            await self.part(content, more=False)

    async def refuse(self, refused: RefusedError) -> None:
        """A whole answer of our own."""
        headers, content = body(refused, self.who)
        await self.begin(refused.status, headers)
        await self.part(content, more=False)


class Door(ABC):
    """Lets requests in, and ends them when their clients go away."""

    wanted = "a path"
    """What to ask for, in words."""

    def __init__(self, visitors: Visitors, connections: Connections) -> None:
        self._visitors, self._connections, self._limits = visitors, connections, connections.limits
        self._room = Room(self._limits)
        self._under_way = {True: 0, False: 0}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection's request, or the server's start and end."""
        if scope["type"] == "lifespan":
            await receive()
            async with self.living():
                await send({"type": "lifespan.startup.complete"})
                await receive()
            await send({"type": "lifespan.shutdown.complete"})
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    @abstractmethod
    def living(self) -> Any:
        """An asynchronous context, open as long as the server runs."""

    @abstractmethod
    async def serve(self, scope: Scope, headers: Headers, incoming: Incoming, share: Share, reply: Reply) -> None:
        """Answers one request. Raises RefusedError as long as nothing was sent, and GoneError."""

    @abstractmethod
    def admitted(self) -> None:
        """Told of every request that is let in."""

    @abstractmethod
    def refused(self, refused: RefusedError) -> None:
        """Told of every request that is not let in."""

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, within its bounds; ends when its client goes away."""
        headers: Headers = list(scope["headers"])
        connection: Connection = scope["state"][CONNECTION]
        reply = Reply(send, connection, self._connections.who, self._visitors.page(headers))
        if reply.page is not None and (told := preflight(scope["method"], headers, reply.page)) is not None:
            await send({"type": "http.response.start", "status": 204, "headers": told})
            return await reply.part(b"", more=False)
        try:
            self._admit(scope, headers)
        except RefusedError as refused:
            self.refused(refused)
            return await reply.refuse(refused)
        self.admitted()
        share, failed = Share(self._room), None
        try:
            with connection.ends_with_client():
                await self.serve(scope, headers, Incoming(receive, self._limits), share, reply)
        except GoneError:
            pass
        except RefusedError as refused:
            failed = refused
        except Exception as error:
            failed = RefusedError(500, f"an error of its own, {type(error).__name__}")
        finally:
            share.release()
        if failed is not None and not reply.begun:
            with suppress(OSError):
                await reply.refuse(failed)
        return None

    def _admit(self, scope: Scope, headers: Headers) -> None:
        """Raises RefusedError for what may not be asked."""
        self._visitors.admit(scope["method"], headers)
        if not scope["raw_path"].startswith(b"/") or scope["method"] == "CONNECT":
            raise RefusedError(400, f"ask for {self.wanted}")
        length = first(headers, b"content-length") or b"0"
        if length.isdigit() and int(length[:20]) > self._limits.body_bytes:
            raise too_large(self._limits)

    @asynccontextmanager
    async def place(self, whole: bool) -> AsyncIterator[None]:
        """A place among the requests that are under way. Bodies that are still coming have places of their own, so that
        slow ones do not take everybody's. Raises RefusedError where none is free."""
        if self._under_way[whole] >= self._limits.requests:
            self._connections.drop_unread()
            await asyncio.sleep(0.05)
        if self._under_way[whole] >= self._limits.requests:
            raise RefusedError(503, f"{self._limits.requests} requests are under way; try again in a moment")
        self._under_way[whole] += 1
        try:
            yield
        finally:
            self._under_way[whole] -= 1
