"""Attacks on the gate with raw sockets, and the server behind it that they meet. Knows nothing of what becomes of them.

One attack is one function that goes on until its time is over; `attack` puts it on a list.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Any

from hostile_server import completion
from samples import calls, functions, gave, many_tools, user

Attack = Callable[["Door"], None]
GATE: dict[str, Attack] = {}


@dataclass(frozen=True)
class Door:
    """Where an attack goes. It has this long."""

    port: int
    seconds: float

    def again(self) -> Iterator[int]:
        """Counts until the time is over."""
        end, count = perf_counter() + self.seconds, 0
        while perf_counter() < end:
            yield count
            count += 1

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 10)

    def ask(self, request: bytes) -> bytes:
        """Sends it whole and takes the beginning of what comes; nothing where the other side breaks off."""
        with suppress(OSError), self.connect() as client:
            client.sendall(request)
            return client.recv(65536)
        return b""

    def together(self, threads: int, work: Callable[[int], None]) -> None:
        """Does the work in so many threads, over and over."""

        def go_on(number: int) -> None:
            for _ in self.again():
                with suppress(OSError):
                    work(number)

        started = [threading.Thread(target=go_on, args=(number,), daemon=True) for number in range(threads)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join(self.seconds + 30)

    def drip(self, clients: int, begin: bytes, part: bytes, pause: float) -> None:
        """So many connections that send `part` every so often, each begun again when it is ended."""
        held: list[socket.socket] = []
        for _ in self.again():
            while len(held) < clients:
                with suppress(OSError):
                    client = self.connect()
                    client.sendall(begin)
                    client.setblocking(False)
                    held.append(client)
            for client in list(held):
                try:
                    client.send(part)
                    if not client.recv(1, socket.MSG_PEEK):
                        raise ConnectionError
                except BlockingIOError:
                    continue
                except OSError:
                    client.close()
                    held.remove(client)
            sleep(pause)


def attack(doors: dict[str, Attack]) -> Callable[[Attack], Attack]:
    """Names a function as an attack on a door."""

    def named(function: Attack) -> Attack:
        doors[function.__name__] = function
        return function

    return named


HEAD = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n"


def chat(body: bytes, headers: str = "") -> bytes:
    """A whole request."""
    return f"{HEAD}{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


@attack(GATE)
def nothing(door: Door) -> None:
    """What the machine itself makes of a second client."""
    sleep(door.seconds)


@attack(GATE)
def half_headers(door: Door) -> None:
    """More connections than there are descriptors, each with half a header."""
    door.drip(400, GET, b"", 0.05)


@attack(GATE)
def slow_headers(door: Door) -> None:
    """A byte of a header every 25 ms."""
    door.drip(200, GET + b"X: ", b"y", 0.025)


@attack(GATE)
def idle_connections(door: Door) -> None:
    """Connections that were answered once, and stay."""
    door.drip(400, GET + b"\r\n", b"", 0.05)


@attack(GATE)
def new_connections(door: Door) -> None:
    """Connections that come and go as fast as they can."""
    door.together(8, lambda _: door.connect().close())


@attack(GATE)
def header_lines(door: Door) -> None:
    """Thousands of header lines, in one piece."""
    door.together(4, lambda _: door.ask(chat(b"{}", "".join(f"X-{i}: y\r\n" for i in range(7000)))) and None)


@attack(GATE)
def slow_bodies(door: Door) -> None:
    """A byte of a body every 25 ms, on as many connections as there may be requests, and some more."""
    door.drip(100, f"{HEAD}Content-Length: 1000000\r\n\r\n".encode(), b" ", 0.025)


@attack(GATE)
def slow_other_bodies(door: Door) -> None:
    """The same where the gate reads no tools."""
    begin = HEAD.replace("chat/completions", "embeddings")
    door.drip(100, f"{begin}Content-Length: 1000000\r\n\r\n".encode(), b" ", 0.025)


@attack(GATE)
def brackets(door: Door) -> None:
    """14 MB of empty arrays."""
    body = b'{"tools": [' + b"[]," * 4_600_000 + b"[]]}"
    door.together(4, lambda _: door.ask(chat(body)) and None)


@attack(GATE)
def many_values(door: Door) -> None:
    """As many values as are read at all, in the dearest form."""
    body = b'{"messages": [], "tools": [' + b'{"":0},' * 240_000 + b"{}]}"
    door.together(4, lambda _: door.ask(chat(body)) and None)


@attack(GATE)
def deep_values(door: Door) -> None:
    """Nesting without end."""
    body = b'{"tools": ' + b"[" * 15_000_000
    door.together(4, lambda _: door.ask(chat(body)) and None)


@attack(GATE)
def wide_letters(door: Door) -> None:
    """Bodies that take four times their size once they are text."""
    said = json.dumps({"messages": [user("😀" + "x" * 15_000_000)], "tools": []}, ensure_ascii=False).encode()
    door.together(6, lambda _: door.ask(chat(said)) and None)


@attack(GATE)
def crumbs(door: Door) -> None:
    """A body in chunks of a byte."""
    begin = f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode()
    door.together(8, lambda _: door.ask(begin + b"1\r\n \r\n" * 200_000) and None)


@attack(GATE)
def pipelines(door: Door) -> None:
    """Thousands of requests in one piece, whose answers nobody reads."""
    door.together(4, lambda _: door.ask((GET + b"\r\n") * 5000) and None)


@attack(GATE)
def unread_answers(door: Door) -> None:
    """Answers without end that nobody reads."""
    door.drip(100, GET.replace(b"models", b"endless") + b"\r\n", b"", 0.05)


@attack(GATE)
def hostile_upstream(door: Door) -> None:
    """Answers with thousands of header lines and cookies, and early ones without end."""
    paths = [b"cookies", b"lines", b"early", b"garbage"]
    door.together(4, lambda number: door.ask(GET.replace(b"models", paths[number]) + b"\r\n") and None)


@attack(GATE)
def long_new_lists(door: Door) -> None:
    """Lists of as many tools as are read at all, each new."""

    def work(number: int) -> None:
        marker = random.randrange(1 << 30)
        tools = [
            {"type": "function", "function": {"name": f"t{marker}_{i}", "description": "x"}} for i in range(19_000)
        ]
        door.ask(chat(json.dumps({"messages": [user("do it")], "tools": tools}).encode()))

    door.together(16, work)


@attack(GATE)
def large_new_lists(door: Door) -> None:
    """Lists whose tools have as many parameters as they may, each new."""

    def work(number: int) -> None:
        marker = random.randrange(1 << 30)
        parameters = {
            "type": "object",
            "properties": {f"p{i}": {"type": "string", "enum": ["a", "b"]} for i in range(500)},
        }
        tools = [
            {"type": "function", "function": {"name": f"t{marker}_{i}", "description": "x", "parameters": parameters}}
            for i in range(60)
        ]
        door.ask(chat(json.dumps({"messages": [user("do it")], "tools": tools}).encode()))

    door.together(4, work)


@attack(GATE)
def garbage(door: Door) -> None:
    """Requests with some bytes exchanged, left out and doubled."""
    chunked = HEAD.encode() + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    seeds, parts = [chat(b"{}"), GET + b"\r\n", chunked], [b"", b"\r\n", b"\n", b":", b" ", b"\0", b"\xff", b"9"]

    def work(number: int) -> None:
        request = bytearray(random.choice(seeds))
        for _ in range(random.randrange(1, 6)):
            at = random.randrange(len(request))
            request[at : at + random.randrange(3)] = random.choice(parts)
        door.ask(bytes(request) + b"\r\n\r\n")

    door.together(8, work)


@attack(GATE)
def foreign_pages(door: Door) -> None:
    """What a browser sends for a page that nobody named. The upstream counts what reaches it."""
    lesson = {
        "messages": [user("clean up"), calls("evil"), gave("evil")],
        "tools": functions(many_tools(20)),
        "evil": 1,
    }
    body = json.dumps(lesson).encode()
    ways = [
        "Origin: https://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\nOrigin: http://localhost:3000\r\n", "Host: evil.example\r\n",
    ]  # fmt: skip
    plain = chat(body).replace(b"application/json", b"text/plain")
    door.together(
        4, lambda number: [door.ask(request) for request in (plain, *(chat(body, way) for way in ways))] and None
    )


EVIL = multiprocessing.Value("i", 0)
"""Requests of foreign pages that came through."""


ODD = {
    "/v1/cookies": b"HTTP/1.1 200 OK\r\n" + b"Set-Cookie: a=b\r\n" * 4000 + b"\r\n",
    "/v1/lines": b"HTTP/1.1 200 OK\r\n" + b"a:\r\n" * 20_000 + b"\r\n",
    "/v1/early": b"HTTP/1.1 103 Early Hints\r\n\r\n" * 5000,
    "/v1/garbage": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
}
"""What the server behind the gate says by itself, by the path that it is asked for."""


async def behind(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection of the server behind the gate: keeps nothing, and answers at once."""
    with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        path, length = head.split()[1], re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        left, seen = int(length[1]) if length else 0, "evil" in head
        while left > 0 and (part := await reader.read(1 << 20)):
            left -= len(part)
            seen = seen or b"evil" in part
        EVIL.value += seen
        answer = completion("fine")
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(answer)}\r\nConnection: close\r\n\r\n"
        writer.write(ODD.get(path) or head.encode() + answer)
        while path == "/v1/endless":
            writer.write(b"x" * 65536)
            await writer.drain()
        await writer.drain()
    writer.close()


def serve(ports: Any) -> None:
    """The process behind a door."""

    async def run() -> None:
        server = await asyncio.start_server(behind, "127.0.0.1", 0, backlog=1024)
        ports.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())
