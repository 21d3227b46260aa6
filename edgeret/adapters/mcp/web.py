"""HTTP to a server: bounded before anything is in memory, with the cause where it fails, and with headers that go to no
other host. Knows nothing of what is said."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types

from edgeret import InputError
from edgeret.adapters.mcp.bounds import Counted, Meter
from edgeret.adapters.mcp.causes import OlderError, as_answer, refused
from edgeret.adapters.mcp.config import Server
from edgeret.records import dataclass

CONNECT_S = 30.0
PROBE_S = 5.0
"""For the first event of a server that may speak the older transport."""
_EVENTS, _JSON = "text/event-stream", "application/json"
_PIECE = 1 << 13
"""Bytes that are looked at before others get their turn."""
_HEAD = b"HTTP/1."
_MOST_COOKIES = 20
"""Of one answer; the standard library's time for them grows with their square."""
_STREAM_UNITS = 20.0
"""What opening a stream counts for beside a message: 25 a second."""
_PACKED = frozenset(("gzip", "x-gzip", "deflate"))
_SESSION = "mcp-session-id"
Heard = Callable[[httpx2.Response], Awaitable[None]]
"""Takes every answer's head, before its body is read."""


@dataclass(frozen=True, slots=True)
class Access:
    """What is needed to get at servers over HTTP: `ca` is a file of authorities beside the known ones, or none; `auth`
    gives what logs in at a server, or nothing."""

    ca: Path | None = None
    auth: Callable[[Server], httpx2.Auth | None] = lambda _: None


def check_access(access: Access) -> None:
    """Reads the authorities. Raises InputError, which names the file."""
    _trusted(access.ca)


def web_client(
    server: Server, access: Access, meter: Meter, call_s: float, heard: Heard | None = None
) -> httpx2.AsyncClient:
    """A client for one connection to a server; answers have `call_s` seconds between their parts. Raises InputError."""
    hooks = _Hooks(server, meter, call_s)
    client = httpx2.AsyncClient(
        headers={"Accept-Encoding": "identity", **server.headers},
        timeout=httpx2.Timeout(CONNECT_S, read=None),  # a stream of events may be silent for ever
        verify=_trusted(access.ca),
        auth=access.auth(server),
        cookies=_Jar(),
        event_hooks={"request": [hooks.asked], "response": [hooks.answered, *([heard] if heard else [])]},
    )
    hooks.client = client
    return client


class _Jar(type(httpx2.Cookies().jar)):  # type: ignore[misc]
    """A few cookies, as a server behind several machines may need one to be found again."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        """Takes those of an answer, where they are not more."""
        if len(response.response.headers.get_list("set-cookie")) <= _MOST_COOKIES:
            super().extract_cookies(response, request)
        if len(self) > _MOST_COOKIES:
            self.clear()


class _Hooks:
    def __init__(self, server: Server, meter: Meter, call_s: float) -> None:
        self.client: httpx2.AsyncClient
        self._meter, self._call_s = meter, call_s
        self._has_key = "authorization" in {name.lower() for name in server.headers}

    async def asked(self, request: httpx2.Request) -> None:
        """Bounds the time of what is no stream that stays open, the number of those, and what stands before answers."""
        request.extensions = {**request.extensions, "trace": self._traced}
        if request.method == "GET":
            await self._meter.message(_STREAM_UNITS)  # a server may end one at once, and ask for it again at once
        else:
            request.extensions = {
                **request.extensions,
                "timeout": {**request.extensions.get("timeout", {}), "read": self._call_s},
            }

    async def _traced(self, event: str, info: Mapping[str, Any]) -> None:
        """Has heads without an answer (100 Continue) wait their turn: nobody else sees them, and there may be endless
        many."""
        if event not in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            return
        stream = info["return_value"]
        read = stream.read

        async def paced(most: int, timeout: float | None = None) -> bytes:
            piece: bytes = await read(min(most, _PIECE), timeout)
            if (heads := piece.count(_HEAD)) > 1:
                await self._meter.message(heads)
            return piece

        stream.read = paced

    async def answered(self, response: httpx2.Response) -> None:
        """Bounds the body, and puts words of ours in the place of an answer that is none. Raises OlderError."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        coding = response.headers.pop("content-encoding", "").strip().lower()
        events = kind == _EVENTS and response.status_code == 200
        response.stream = _Body(response.stream, coding in _PACKED, events, self._meter)
        request = response.request
        if request.method != "POST" or _EVENTS not in request.headers.get("accept", ""):
            return  # none of MCP's requests: those of a login
        status = response.status_code
        if status == 202 or (status < 300 and kind in (_JSON, _EVENTS) and coding in (*_PACKED, "", "identity")):
            return
        if status in (307, 308) and _same_origin(response):
            return  # followed
        if status in (400, 404) and _SESSION in request.headers:
            return  # a session that is lost, and begun again by who holds it
        if kind == _JSON and status >= 400 and status not in (401, 403) and await _is_error(response):
            return
        if 400 <= status < 500 and status not in (401, 403, 429) and await self._is_older(request):
            raise OlderError('speaks the older transport alone; put "type": "sse" to its entry')
        words = refused(status, response.headers, self._has_key)
        response.status_code = status if status >= 400 else 502
        response.headers["content-type"] = _JSON
        await response.stream.aclose()
        response.stream = httpx2.ByteStream(as_answer(words))

    async def _is_older(self, request: httpx2.Request) -> bool:
        """Whether a server that does not take the first request sends events, the first of which says where to."""
        try:
            if json.loads(request.content).get("method") != "initialize":
                return False
            with anyio.move_on_after(PROBE_S):
                async with self.client.stream("GET", request.url, headers={"Accept": _EVENTS}) as response:
                    if response.status_code == 200:
                        async for event in httpx2.EventSource(response):
                            return event.event == "endpoint"
        except (httpx2.HTTPError, httpx2.StreamError, ValueError, AttributeError):
            pass
        return False


class _Body(httpx2.AsyncByteStream):
    """An answer's body, unpacked piece by piece and counted."""

    def __init__(self, inner: Any, packed: bool, events: bool, meter: Meter) -> None:
        self._inner, self._packed, self._events, self._meter = inner, packed, events, meter

    async def __aiter__(self) -> AsyncIterator[bytes]:
        counted = Counted("blank" if self._events else "never", self._meter)
        async for chunk in self._pieces():
            for begin in range(0, len(chunk), _PIECE):
                piece = chunk[begin : begin + _PIECE]
                await self._meter.bytes(piece, lines=self._events)
                await anyio.lowlevel.checkpoint()  # or a piece a byte, which all came at once, holds up the loop
                counted.feed(piece)
                yield piece

    async def _pieces(self) -> AsyncIterator[bytes]:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if self._packed else None
        async for chunk in self._inner:
            while unpacker and chunk:
                try:
                    piece = unpacker.decompress(chunk, _PIECE)
                except zlib.error:
                    raise httpx2.DecodingError("not packed as it says") from None
                chunk = unpacker.unconsumed_tail
                if piece:
                    yield piece
            if chunk:
                yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _is_error(response: httpx2.Response) -> bool:
    """Whether a body is an error of JSON-RPC. It is read, and stays there to be read."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    body = b"".join([piece async for piece in response.stream])
    await response.stream.aclose()
    response.stream = httpx2.ByteStream(body)
    try:
        message = mcp_types.jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValueError:
        return False
    return isinstance(message, mcp_types.JSONRPCError)


def _same_origin(response: httpx2.Response) -> bool:
    url = response.request.url
    location = url.join(response.headers.get("location", ""))
    return (url.scheme, url.host, url.port) == (location.scheme, location.host, location.port)


@cache
def _trusted(ca: Path | None) -> Any:
    try:
        context = httpx2.create_ssl_context()
    except OSError as error:
        raise InputError(f"SSL_CERT_FILE or SSL_CERT_DIR: cannot be read ({error.strerror or error})") from None
    if ca is not None:
        try:
            context.load_verify_locations(ca)
        except OSError as error:
            raise InputError(f"--ca {ca}: no certificates can be read there ({error.strerror or error})") from None
    return context
