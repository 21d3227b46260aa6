"""Counters on a port of their own, for servers whose own port is somebody else's API, or that have none. Answers
`GET /metrics`, and nothing else. Knows nothing of what is counted."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from edgeret import InputError
from edgeret.adapters.metrics import KIND
from edgeret.adapters.web.addresses import LOOPBACK, address

_RIGHT = "127.0.0.1:9464"
_MOST_BYTES, _MOST_AT_ONCE, _PATIENCE_S = 8192, 16, 5.0
_ASKED = re.compile(rb"(GET|HEAD) /metrics(?:\?\S*)? HTTP/1\.[01]\r\n")
_HOST = re.compile(rb"\r\nhost:[ \t]*(\[[0-9a-fA-F:.]+\]|[^\s:]+)(?::\d{1,5})?[ \t]*\r\n", re.IGNORECASE)
_ADDRESS = re.compile(r"\[[0-9a-f:.]+\]|\d{1,3}(\.\d{1,3}){3}", re.IGNORECASE)


@contextmanager
def exporting(listen: str | None, text: Callable[[], bytes], option: str = "--metrics") -> Iterator[int]:
    """Answers on `listen` (HOST:PORT) with `text()` while the context lasts, in a thread of its own; gives the port, 0
    where `listen` is None. Raises InputError for what is no address, and for one that cannot be had."""
    if listen is None:
        yield 0
        return
    try:
        host, port = address(listen, _RIGHT)
    except InputError as error:
        raise InputError(str(error).replace("--listen", option, 1)) from None
    exporter = _Exporter(host, port, text)
    exporter.start()
    exporter.ready.wait()
    if exporter.problem is not None:
        raise InputError(f"{option} {listen}: cannot be listened on ({exporter.problem}); choose another port")
    try:
        yield exporter.port
    finally:
        exporter.stop()


class _Exporter(threading.Thread):
    def __init__(self, host: str, port: int, text: Callable[[], bytes]) -> None:
        super().__init__(name="edgeret-metrics", daemon=True)
        self._host, self.port, self._text = host, port, text
        self.ready = threading.Event()
        self.problem: str | None = None
        self._open = 0

    def run(self) -> None:
        """Until it is stopped."""
        asyncio.run(self._serve())

    def stop(self) -> None:
        """Ends it; connections that are open end with it."""
        with suppress(RuntimeError):  # the loop may have ended by itself
            self._loop.call_soon_threadsafe(self._ends.set)
        self.join(_PATIENCE_S)

    async def _serve(self) -> None:
        self._loop, self._ends = asyncio.get_running_loop(), asyncio.Event()
        try:
            server = await asyncio.start_server(self._answer, self._host, self.port, limit=_MOST_BYTES)
        except OSError as error:
            self.problem = error.strerror or str(error)
            self.ready.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        await self._ends.wait()
        server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= _MOST_AT_ONCE:
                async with asyncio.timeout(_PATIENCE_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(self._answered(head))
                    await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asks in another way gets no answer
        finally:
            self._open -= 1
            writer.close()

    def _answered(self, head: bytes) -> bytes:
        asked, host = _ASKED.match(head), _HOST.search(head)
        named = host[1].decode("latin-1") if host else ""
        # A page of a stranger whose name leads here says that name, which is none of this machine's.
        known = LOOPBACK.fullmatch(named.strip("[]")) or _ADDRESS.fullmatch(named) or named == self._host
        status, kind, body = (
            (b"200 OK", KIND, self._text()) if asked and known else (b"404 Not Found", b"text/plain", b"")
        )
        fields = b"\r\ncontent-length: %d\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n" % len(body)
        sent = b"" if asked and asked[1] == b"HEAD" else body
        return b"HTTP/1.1 " + status + b"\r\ncontent-type: " + kind + fields + sent
