"""Whether a server still knows the HTTP session that a connection was given. Told by answers' status alone: what a
JSON-RPC error says may as well be a tool's own word. Knows nothing of what is asked and of what is done about it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import httpx2

SESSION_HEADER = "mcp-session-id"
_CODES = (-32_600, -32_000, -32_001)
"""Under which servers say so: "invalid request", and two of their own. Others are about what was asked."""
_MOST_READ = 1 << 12


class SessionLostError(Exception):
    """A request that a server did not carry out, since it knows its session no more."""


class Session:
    """What a connection over HTTP shows of its session. Nothing ever happens to that of a child process."""

    def __init__(self) -> None:
        """Neither lost nor hung up."""
        self.lost = anyio.Event()
        """Set when the server knows the session no more."""
        self.hung_up = anyio.Event()
        """Set when the stream ended on which the server speaks first; whoever looks what it means sets another one."""
        self.refused: set[Any] = set()
        """Ids of the requests that were not carried out for it."""

    async def heard(self, response: httpx2.Response) -> None:
        """Takes an answer's head: to be called with each, before its body is read."""
        request = response.request
        if SESSION_HEADER not in request.headers or request.method == "DELETE":
            return
        if response.status_code in (400, 404) and _lost(response.status_code, await response.aread()):
            if request.method == "POST":
                self.refused.add(_id(request.content))
            self.lost.set()
        elif request.method == "GET" and response.status_code == 200:
            response.stream = _Watched(response.stream, self._ended)

    def _ended(self) -> None:
        self.hung_up.set()


class _Watched(httpx2.AsyncByteStream):
    """A body that says when it ends, however it does."""

    def __init__(self, body: Any, ended: Callable[[], None]) -> None:
        self._body, self._ended = body, ended

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._body:
                yield chunk
        finally:
            self._ended()

    async def aclose(self) -> None:
        await self._body.aclose()


def _lost(status: int, body: bytes) -> bool:
    """Whether an answer is about the session. The specification wants 404 for it, and some servers answer 400; both
    also stand over errors of single requests."""
    try:
        message = json.loads(body)
    except ValueError:
        message = None
    error = message.get("error") if isinstance(message, dict) else None
    if status == 404 and not isinstance(error, dict):
        return True
    named = b"session" in body[:_MOST_READ].lower()
    return named and (not isinstance(error, dict) or error.get("code") in _CODES)


def _id(body: bytes) -> Any:
    message = json.loads(body)
    return message.get("id") if isinstance(message, dict) else None
