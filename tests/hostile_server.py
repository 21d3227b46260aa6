"""HTTP servers for tests, out of plain sockets, that may do what no server should. Knows nothing of who asks them."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

Script = Callable[["Visit"], None]


class Visit(NamedTuple):
    """A request that was read, and the socket that it came from; `ended` is set when the test is over."""

    socket: socket.socket
    head: str
    body: bytes
    ended: threading.Event

    @property
    def question(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reply(self, body: bytes, status: str = "200 OK", headers: str = "") -> None:
        """A whole reply. The connection is closed behind it, and a client that was not told might ask on it again."""
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{headers}\r\n"
        self.send(head.encode() + body)

    def drip(self, data: bytes, seconds: float = 0.05) -> None:
        """Sends byte after byte, over and over, until the other side is gone."""
        while not self.ended.is_set():
            for i in range(len(data)):
                self.send(data[i : i + 1])
                if self.ended.wait(seconds):
                    return


class Server:
    """A server on this machine that plays `script` for every request, in threads."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None, *, reads: bool = True) -> None:
        self._script, self._tls, self._reads = script, tls, reads
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.ended = threading.Event()
        self.visits: list[Visit] = []
        self.closed_by_client = threading.Event()
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.ended.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection if self._tls is None else self._tls.wrap_socket(connection, server_side=True) as stream:
                visit = Visit(stream, *(_read(stream) if self._reads else ("", b"")), self.ended)
                self.visits.append(visit)
                self._script(visit)
        except OSError:
            self.closed_by_client.set()


def _read(stream: socket.socket) -> tuple[str, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        part = stream.recv(65536)
        if not part:
            raise ConnectionError
        data += part
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode(errors="replace").lower().split("\r\n")
    length = next((int(line.split(":")[1]) for line in lines if line.startswith("content-length:")), 0)
    while len(body) < length:
        part = stream.recv(65536)
        if not part:  # or a client that goes away would keep this thread busy for ever
            raise ConnectionError
        body += part
    return head.decode(errors="replace"), body


@contextmanager
def serving(script: Script, tls: ssl.SSLContext | None = None, *, reads: bool = True) -> Iterator[Server]:
    """A server for as long as the test takes."""
    server = Server(script, tls, reads=reads)
    try:
        yield server
    finally:
        server.close()


GOOD = {"searches": ["heating"], "done": False}


def completion(content: Any = None, **parts: Any) -> bytes:
    """A whole answer as chat endpoints give it, with the text `content`."""
    choice = {"message": {"content": json.dumps(GOOD) if content is None else content}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], **parts}).encode()


def whole(body: bytes, status: str = "200 OK", headers: str = "") -> Script:
    """A script with one whole reply."""
    return lambda visit: visit.reply(body, status, headers)


def endless(head: str, part: bytes) -> Script:
    """A script that sends `part` without end, as fast as it can."""

    def script(visit: Visit) -> None:
        visit.send(head.encode())
        while not visit.ended.is_set():
            visit.send(part)

    return script


def dripping(head: str, part: bytes) -> Script:
    """A script that sends `part` without end, twenty bytes a second."""

    def script(visit: Visit) -> None:
        visit.send(head.encode())
        visit.drip(part)

    return script
