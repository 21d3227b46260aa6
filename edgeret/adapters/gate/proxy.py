"""The gate as an ASGI application: takes a request, has its tools trimmed, passes it on and gives the answer back byte
for byte. Decides nothing, and logs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx

from edgeret.adapters.gate.connections import Connections, network_of
from edgeret.adapters.gate.ending import Ending
from edgeret.adapters.gate.headers import TOLD, Headers, first, forwarded, returned
from edgeret.adapters.gate.incoming import READ_BYTES, GoneError, Incoming, Receive, Room, Share, too_large
from edgeret.adapters.gate.lessons import Learning, Lesson
from edgeret.adapters.gate.refusals import RefusedError, as_header, body
from edgeret.adapters.gate.trimming import MESSAGES, Trimmed, Trimmer
from edgeret.adapters.gate.upstream import Upstream
from edgeret.adapters.gate.visitors import Visitors, preflight, readable_by

BUSY = "too many large bodies are being read at once"
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Scope = Mapping[str, Any]


@dataclass(slots=True)
class Counts:
    """What was done so far."""

    requests: int = 0
    trimmed: int = 0
    refused: int = 0


@dataclass(slots=True)
class Reply:
    """An answer on its way to a client; `page` is the origin of the web page that may read it."""

    send: Send
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

    async def refuse(self, refused: RefusedError) -> None:
        """A whole answer of the gate's own."""
        headers, content = body(refused)
        await self.begin(refused.status, headers)
        await self.part(content, more=False)


class Gate:
    """Answers requests with what the upstream says to them."""

    def __init__(
        self,
        upstream: Upstream,
        trimmer: Trimmer,
        visitors: Visitors,
        connections: Connections,
        learning: Learning | None = None,
    ) -> None:
        """`learning` is None to learn nothing."""
        self._upstream, self._trimmer, self._visitors, self._learning = upstream, trimmer, visitors, learning
        self._connections, self._limits = connections, connections.limits
        self._room = Room(self._limits)
        self._under_way = {True: 0, False: 0}
        self.counts = Counts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection's request, or the server's start and end."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._upstream:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        self._trimmer.close()
        if self._learning is not None:
            self._learning.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, within its bounds; ends when its client goes away."""
        headers: Headers = list(scope["headers"])
        reply = Reply(send, self._visitors.page(headers))
        if reply.page is not None and (told := preflight(scope["method"], headers, reply.page)) is not None:
            await send({"type": "http.response.start", "status": 204, "headers": told})
            return await reply.part(b"", more=False)
        try:
            self._admit(scope, headers)
        except RefusedError as refused:
            self.counts.refused += 1
            return await reply.refuse(refused)
        self.counts.requests += 1
        incoming, share = Incoming(receive, self._limits), Share(self._room)
        work = asyncio.create_task(self._serve(scope, headers, incoming, share, reply))
        gone = asyncio.create_task(incoming.gone())
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, gone):
                task.cancel()
            error, _ = await asyncio.gather(work, gone, return_exceptions=True)
            share.release()
        if isinstance(error, Exception) and not isinstance(error, GoneError) and not reply.begun:
            if not isinstance(error, RefusedError):
                error = RefusedError(500, f"an error of its own, {type(error).__name__}")
            with suppress(OSError):
                await reply.refuse(error)
        return None

    def _admit(self, scope: Scope, headers: Headers) -> None:
        """Raises RefusedError for what may not be asked."""
        self._visitors.admit(scope["method"], headers)
        if not scope["raw_path"].startswith(b"/") or scope["method"] == "CONNECT":
            raise RefusedError(400, "ask for a path of the upstream")
        length = first(headers, b"content-length") or b"0"
        if length.isdigit() and int(length[:20]) > self._limits.body_bytes:
            raise too_large(self._limits)

    async def _serve(self, scope: Scope, headers: Headers, incoming: Incoming, share: Share, reply: Reply) -> None:
        """Passes a request on and its answer back. Raises RefusedError as long as nothing was sent, and GoneError."""
        begun, whole = await incoming.begin(share)
        async with self._place(whole):
            trimmed = await self._trim(scope, headers, begun, whole)
            told, lesson = (None, None) if trimmed is None else (trimmed.told, trimmed.lesson)
            parts = [begun if trimmed is None else trimmed.body]
            passed, length = forwarded(headers), len(parts[0]) if whole else first(headers, b"content-length")
            if length:
                passed.append((b"content-length", str(length).encode() if isinstance(length, int) else length))
            content = share.once(parts, incoming.rest()) if length or not whole else None
            del begun, trimmed  # an answer may take minutes, in which nobody needs them
            target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
            response = await self._upstream.ask(scope["method"], target, passed, content)
            try:
                await self._pass_back(response, told, lesson if self._learning is not None else None, reply)
            except httpx.HTTPError:
                return  # unfinished, so the server closes the connection and the client sees that the answer broke off
            finally:
                await response.aclose()

    @asynccontextmanager
    async def _place(self, whole: bool) -> AsyncIterator[None]:
        """A place among the requests that are passed on. Bodies that are still coming have places of their own, so that
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

    async def _trim(self, scope: Scope, headers: Headers, begun: bytes, whole: bool) -> Trimmed | None:
        """What was trimmed where there is a conversation, else None."""
        messages = next((key for end, key in MESSAGES.items() if scope["path"].encode().endswith(end)), None)
        if scope["method"] != "POST" or messages is None:
            return None
        if first(headers, b"content-encoding") is not None:
            return Trimmed(begun, "passed on: a body that is packed")
        if not whole:
            large = len(begun) > READ_BYTES
            return Trimmed(begun, f"passed on: {f'a body of more than {READ_BYTES >> 20} MB' if large else BUSY}")
        trimmed = await self._trimmer.trim(begun, messages, network_of(scope["client"]))
        self.counts.trimmed += trimmed.body is not begun
        return trimmed

    async def _pass_back(self, response: httpx.Response, told: str | None, lesson: Lesson | None, reply: Reply) -> None:
        headers = returned(response.headers.raw)
        if told is not None:
            headers.append((TOLD, as_header(told)))
        await reply.begin(response.status_code, headers)
        ending = Ending(first(headers, b"content-encoding")) if lesson is not None else None
        async for part in response.aiter_raw():
            if ending is not None:
                ending.feed(part)
            await reply.part(part)
        if lesson is not None and ending is not None and self._learning is not None and response.status_code == 200:
            self._learning.hear(lesson, ending)
        await reply.part(b"", more=False)
