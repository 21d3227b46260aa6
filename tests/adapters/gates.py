"""The command `edgeret gate` in a process of its own, in front of a server of the test's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx


@dataclass
class RunningGate:
    """`url` is the base URL for clients; `process` can be killed."""

    url: str
    process: subprocess.Popen[str]
    out: list[str] = field(default_factory=list)

    def post(self, body: Any, path: str = "/chat/completions", **options: Any) -> httpx.Response:
        """A request with a body, JSON or bytes."""
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        headers = {"content-type": "application/json"} | options.pop("headers", {})
        return httpx.post(f"{self.url}{path}", timeout=60, trust_env=False, headers=headers, **content, **options)

    def stop(self) -> str:
        """Ends it as a user does, and gives all that it wrote."""
        self.process.terminate()
        told, complained = self.process.communicate(timeout=20)
        self.out += [told, complained]
        return told + complained


@contextmanager
def gating(upstream: str, base: Path, *options: str, **environment: str) -> Iterator[RunningGate]:
    """A gate for as long as the test takes."""
    command = [sys.executable, "-m", "edgeret", "gate", "--json", "--upstream", upstream, "--base", str(base)]
    if "--listen" not in options:
        command += ["--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    ) as process:
        try:
            yield RunningGate(_url(process.stderr), process)
        finally:
            process.kill()


def _url(stderr: IO[str] | None) -> str:
    assert stderr is not None
    line = stderr.readline()
    assert "base URL http" in line, line + stderr.read()
    return line.split("base URL ")[1].split()[0]
