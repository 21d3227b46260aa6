"""The gate as an ASGI application: takes a request, has its tools trimmed, passes it on and gives the answer back byte
for byte. Decides nothing, and logs nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from edgeret.adapters.gate.ending import Ending
from edgeret.adapters.gate.headers import TOLD, Headers, first, forwarded, may_ask, returned
from edgeret.adapters.gate.incoming import GoneError, Incoming, Receive, TooLargeError, TooSlowError
from edgeret.adapters.gate.lessons import Learning, Lesson
from edgeret.adapters.gate.trimming import MESSAGES, Trimmed, Trimmer

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Scope = Mapping[str, Any]

READ_BYTES = 16 << 20
"""Bodies up to this are read; longer ones, pictures mostly, pass through as they come."""
CONNECT_S, BODY_S = 10.0, 60.0
KEPT_S = 2.0
"""That a connection to the upstream is kept idle: less than servers do (uvicorn 5 s), or one that is just being closed
would be used, and its request lost."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`body_bytes` of a request, `requests` at once, `silence_s` for which an upstream may say nothing."""

    body_bytes: int = 100 << 20
    requests: int = 64
    silence_s: float = 600.0


@dataclass(slots=True)
class Counts:
    """What was done so far."""

    requests: int = 0
    trimmed: int = 0
    refused: int = 0


class AnsweredError(Exception):
    """A request that the gate answers itself."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


@dataclass(slots=True)
class Gate:
    """`upstream` is where requests go, scheme and authority alone: their paths stay as they are."""

    upstream: str
    trimmer: Trimmer
    learning: Learning | None = None
    token: bytes | None = None
    limits: Limits = field(default_factory=Limits)
    counts: Counts = field(default_factory=Counts)
    _client: httpx.AsyncClient | None = None
    _active: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection's request, or the server's start and end."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        idle = httpx.Limits(
            max_connections=None, max_keepalive_connections=self.limits.requests, keepalive_expiry=KEPT_S
        )
        timeout = httpx.Timeout(self.limits.silence_s, connect=CONNECT_S, pool=None)
        verify = httpx.create_ssl_context(trust_env=False)
        # What the environment says of proxies and passwords is not for this program.
        async with httpx.AsyncClient(verify=verify, trust_env=False, timeout=timeout, limits=idle) as self._client:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        self.trimmer.close()
        if self.learning is not None:
            self.learning.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, within its bounds; ends when its client goes away."""
        incoming = Incoming(receive, self.limits.body_bytes, BODY_S)
        try:
            self._admit(scope)
        except AnsweredError as answer:
            self.counts.refused += 1
            await _say(send, answer)
            return
        self._active += 1
        self.counts.requests += 1
        work, gone = asyncio.create_task(self._serve(scope, incoming, send)), asyncio.create_task(incoming.gone())
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._active -= 1
            for task in (work, gone):
                task.cancel()
            results = await asyncio.gather(work, gone, return_exceptions=True)
        if isinstance(results[0], AnsweredError):
            with suppress(OSError):
                await _say(send, results[0])

    def _admit(self, scope: Scope) -> None:
        """Raises AnsweredError for a client that may not ask, or not now."""
        headers: Headers = list(scope["headers"])
        if not scope["raw_path"].startswith(b"/"):
            raise AnsweredError(400, "ask for a path of the upstream")
        if not may_ask(headers, self.token):
            raise AnsweredError(
                403, "send the gate's token as x-edgeret-token, or ask for it by a name of this machine"
            )
        if self._active >= self.limits.requests:
            raise AnsweredError(503, f"{self.limits.requests} requests are under way; try again in a moment")
        length = first(headers, b"content-length") or b"0"
        if length.isdigit() and int(length[:20]) > self.limits.body_bytes:
            raise AnsweredError(413, _too_large(self.limits))

    async def _serve(self, scope: Scope, incoming: Incoming, send: Send) -> None:
        """Passes a request on and its answer back. Raises AnsweredError as long as nothing was sent."""
        headers: Headers = list(scope["headers"])
        try:
            content, trimmed = await self._content(scope, headers, incoming)
            response = await self._ask(scope, headers, content)
        except TooLargeError:
            raise AnsweredError(413, _too_large(self.limits)) from None
        except TooSlowError:
            raise AnsweredError(408, f"nothing more of the request came within {BODY_S:g} s") from None
        except GoneError:
            return
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise AnsweredError(502, f"the upstream {self.upstream} cannot be reached; is it running?") from None
        except httpx.TimeoutException:
            raise AnsweredError(504, f"the upstream said nothing for {self.limits.silence_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL):
            raise AnsweredError(502, "the upstream broke off, or speaks no HTTP") from None
        lesson = trimmed.lesson if trimmed is not None and self.learning is not None else None
        try:
            await self._pass_back(response, trimmed, lesson, send)
        except httpx.HTTPError:
            return  # unfinished, so the server closes the connection and the client sees that the answer broke off
        finally:
            await response.aclose()

    async def _content(
        self, scope: Scope, headers: Headers, incoming: Incoming
    ) -> tuple[bytes | AsyncIterator[bytes] | None, Trimmed | None]:
        """What to send, and what was trimmed where there is something to trim."""
        messages = next((key for end, key in MESSAGES.items() if scope["path"].encode().endswith(end)), None)
        if scope["method"] != "POST" or messages is None:
            has_body = any(name in (b"content-length", b"transfer-encoding") for name, _ in headers)
            if not has_body:
                await incoming.begin(0)
            return incoming.rest() if has_body else None, None
        if first(headers, b"content-encoding") is not None:
            return incoming.rest(), Trimmed(b"", "passed on: a body that is packed")
        body, whole = await incoming.begin(READ_BYTES)
        if not whole:
            return incoming.rest(body), Trimmed(b"", f"passed on: a body of more than {READ_BYTES >> 20} MB")
        trimmed = await self.trimmer.trim(body, messages)
        self.counts.trimmed += trimmed.body is not body
        return trimmed.body, trimmed

    async def _ask(
        self, scope: Scope, headers: Headers, content: bytes | AsyncIterator[bytes] | None
    ) -> httpx.Response:
        """The upstream's answer, whose body is still to come."""
        assert self._client is not None, "requests come after the start"
        target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        passed = forwarded(headers)
        length = first(headers, b"content-length")
        if length is not None and not isinstance(content, bytes):
            passed.append((b"content-length", length))
        # Said in so many bytes: made into a URL, a path would lose its dots and doubled slashes.
        request = httpx.Request(
            scope["method"], self.upstream, headers=passed, content=content, extensions={"target": target}
        )
        return await self._client.send(request, stream=True, follow_redirects=False)

    async def _pass_back(
        self, response: httpx.Response, trimmed: Trimmed | None, lesson: Lesson | None, send: Send
    ) -> None:
        headers = returned(response.headers.raw)
        if trimmed is not None:
            headers.append((TOLD, _header(trimmed.told)))
        await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        ending = Ending(first(headers, b"content-encoding")) if lesson is not None else None
        async for part in response.aiter_raw():
            if ending is not None:
                ending.feed(part)
            await send({"type": "http.response.body", "body": part, "more_body": True})
        if lesson is not None and ending is not None and self.learning is not None and response.status_code == 200:
            self.learning.hear(lesson, ending)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _too_large(limits: Limits) -> str:
    return f"the body has more than {limits.body_bytes >> 20} MB"


def _header(text: str) -> bytes:
    """Words as a header can hold them."""
    shown = "".join(char if " " <= char <= "~" else "?" for char in " ".join(text.split()))
    return shown[:200].encode()


async def _say(send: Send, answer: AnsweredError) -> None:
    """An answer of the gate's own, in the form of OpenAI's errors."""
    error = {"message": f"edgeret gate: {answer.message}", "type": "edgeret_gate", "code": answer.status}
    body = json.dumps({"error": error}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (TOLD, _header(answer.message)),
    ]
    if answer.status in (413, 408):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
