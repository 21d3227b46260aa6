"""The gate as an ASGI application: takes a request, has its tools trimmed, passes it on and gives the answer back byte
for byte. Decides nothing, and logs nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from edgeret.adapters.gate.ending import Ending
from edgeret.adapters.gate.headers import forwarded, returned
from edgeret.adapters.gate.lessons import Learning, Lesson
from edgeret.adapters.gate.trimming import MESSAGES, Trimmed, Trimmer
from edgeret.adapters.gate.upstream import Upstream
from edgeret.adapters.web.connections import Connections, network_of
from edgeret.adapters.web.door import Door, Reply, Scope
from edgeret.adapters.web.headers import TOLD, Headers, first
from edgeret.adapters.web.incoming import READ_BYTES, Incoming, Share
from edgeret.adapters.web.refusals import RefusedError, as_header
from edgeret.adapters.web.visitors import Visitors

BUSY = "too many large bodies are being read at once"


@dataclass(slots=True)
class Counts:
    """What was done so far."""

    requests: int = 0
    trimmed: int = 0
    refused: int = 0


class Gate(Door):
    """Answers requests with what the upstream says to them."""

    wanted = "a path of the upstream"

    def __init__(
        self,
        upstream: Upstream,
        trimmer: Trimmer,
        visitors: Visitors,
        connections: Connections,
        learning: Learning | None = None,
    ) -> None:
        """`learning` is None to learn nothing."""
        super().__init__(visitors, connections)
        self._upstream, self._trimmer, self._learning = upstream, trimmer, learning
        self.counts = Counts()

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """Keeps the connections to the upstream, and ends what learns."""
        async with self._upstream:
            yield
        self._trimmer.close()
        if self._learning is not None:
            self._learning.close()

    def admitted(self) -> None:
        """Counts it."""
        self.counts.requests += 1

    def refused(self, refused: RefusedError) -> None:
        """Counts it."""
        self.counts.refused += 1

    async def serve(self, scope: Scope, headers: Headers, incoming: Incoming, share: Share, reply: Reply) -> None:
        """Passes a request on and its answer back. Raises RefusedError as long as nothing was sent, and GoneError."""
        begun, whole = await incoming.begin(share)
        async with self.place(whole):
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
