"""`edgeret serve` for tests: the command in a process of its own, or a server in a thread of this one."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import httpx
import warm
from gates import HostedGate
from patience import PATIENCE_S

import edgeret


class Served(HostedGate):
    """`url` is where it listens."""

    def ask(self, path: str, body: Any = None, method: str = "POST", **options: Any) -> httpx.Response:
        """A request with a JSON body, or none."""
        given = {} if body is None else {"json": body}
        return httpx.request(method, self.url + path, timeout=PATIENCE_S, trust_env=False, **given, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        """A request without a body."""
        return self.ask(path, None, "GET", **options)


@contextmanager
def hosted(bundle: Path, limits: Any = None, token: str | None = None, **service: Any) -> Iterator[Served]:
    """A server in a thread."""
    from edgeret.adapters.serve.server import BOUNDS, Options, prepared
    from edgeret.adapters.serve.service import Service

    said: list[str] = []
    options = Options("127.0.0.1:0", token=token, limits=limits or BOUNDS)
    made = Service(edgeret.load(bundle, overlay=service.get("overlay") or False), **service)
    with prepared(made, options, said.append) as (server, _):
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        end = perf_counter() + PATIENCE_S
        while not said and perf_counter() < end:
            sleep(0.002)
        try:
            yield Served(said[0].split("ask ")[1].removesuffix("/v1/decide"), said)
        finally:
            server.should_exit = True
            thread.join(PATIENCE_S)


@contextmanager
def process(*options: object, first: str = "serve", cold: bool = False, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """The command; ended with the test. `cold`: its process imports all anew, as a user's does."""
    begun = ("-m", "edgeret", first, *map(str, options))
    command = [sys.executable, *begun] if cold else warm.python(*begun)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **{**pipes, **more}) as child:
        try:
            yield child
        finally:
            child.kill()
