"""The gate in front of a server of the test's: the command in a process of its own, or a server in a thread of this
one, with limits that a test can reach."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep
from typing import IO, Any

import httpx
import warm
from patience import PATIENCE_S


@dataclass
class RunningGate:
    """`url` is the base URL for clients; `process` can be killed."""

    url: str
    process: subprocess.Popen[str]
    out: list[str] = field(default_factory=list)

    def post(self, body: Any, path: str = "/chat/completions", **options: Any) -> httpx.Response:
        """A request with a body, JSON or bytes."""
        return post(f"{self.url}{path}", body, **options)

    def stop(self) -> str:
        """Ends it as a user does, and gives all that it wrote."""
        self.process.terminate()
        told, complained = self.process.communicate(timeout=PATIENCE_S)
        self.out += [told, complained]
        return told + complained


@dataclass
class HostedGate:
    """`url` is the base URL for clients; `said` are the lines that it told its user."""

    url: str
    said: list[str]

    def post(self, body: Any, path: str = "/chat/completions", **options: Any) -> httpx.Response:
        """A request with a body, JSON or bytes."""
        return post(f"{self.url}{path}", body, **options)

    def connect(self, address: str = "") -> socket.socket:
        """A bare connection, from this address of this machine."""
        port = httpx.URL(self.url).port or 0
        return socket.create_connection(("127.0.0.1", port), PATIENCE_S, (address, 0) if address else None)

    def raw(self, request: bytes) -> bytes:
        """What bytes are answered with until the connection ends."""
        with self.connect() as client:
            client.sendall(request)
            return all_of(client)


def all_of(client: socket.socket) -> bytes:
    """What comes until the other side ends."""
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    return b"".join(parts)


def post(url: str, body: Any, **options: Any) -> httpx.Response:
    """A request with a body, JSON or bytes."""
    content = {"content": body} if isinstance(body, bytes) else {"json": body}
    headers = {"content-type": "application/json"} | options.pop("headers", {})
    return httpx.post(url, timeout=PATIENCE_S, trust_env=False, headers=headers, **content, **options)


@contextmanager
def gating(
    upstream: str, base: Path, *options: str, descriptors: int | None = None, **environment: str
) -> Iterator[RunningGate]:
    """A gate for as long as the test takes, which may open so many files."""
    begun = ["-m", "edgeret", "gate", "--json", "--upstream", upstream, "--base", str(base), *options]
    if "--listen" not in options:
        begun += ["--listen", "127.0.0.1:0"]
    command = warm.python(*begun)
    if descriptors is not None:  # a fork would have its parent's limit
        command = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", sys.executable, *begun]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    ) as process:
        try:
            yield RunningGate(_url(process.stderr), process)
        finally:
            process.kill()


@contextmanager
def hosting(upstream: str, base: Path, limits: Any = None, **options: Any) -> Iterator[HostedGate]:
    """A gate in a thread, with other `Limits`."""
    from edgeret.adapters.gate.options import Options
    from edgeret.adapters.gate.server import prepared
    from edgeret.adapters.web.limits import Limits

    said: list[str] = []
    chosen = Options(upstream, base, listen="127.0.0.1:0", limits=limits or Limits(), **options)
    with prepared(chosen, said.append) as (server, _):
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        end = perf_counter() + PATIENCE_S
        while not said and perf_counter() < end:
            sleep(0.002)
        try:
            yield HostedGate(said[0].split("base URL ")[1].split()[0], said)
        finally:
            server.should_exit = True
            thread.join(PATIENCE_S)


def _url(stderr: IO[str] | None) -> str:
    assert stderr is not None
    line = stderr.readline()
    assert "base URL http" in line, line + stderr.read()
    return line.split("base URL ")[1].split()[0]
