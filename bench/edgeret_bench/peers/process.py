"""A peer in a process of its own, as the benchmark sees it.

Times did not decide for this. Block by block in turn with a process without peers, our medians in a process with all of
them loaded were 5 % higher in one run and 2 % in another, on a busy machine, where the second run's 95 % intervals are
-4 % to +7 % (search) and -8 % to +5 % (select). But apart, each library keeps threads, memory and crashes to itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from types import TracebackType
from typing import Any

from edgeret.errors import CheckFailedError, MissingExtraError
from edgeret.types import Tool
from edgeret_bench.peers import extra_of

PATIENCE = 10.0
"""Seconds that a process gets to leave by itself once it has been told that nothing more will come."""


class PeerProcess:
    """Starts with the constructor, ends with the `with` block. One request at a time."""

    def __init__(self, name: str, threads: int) -> None:
        """Starts the process; nothing is loaded before `prepare`."""
        self.name = name
        self._threads = threads
        # OpenMP's libraries read their number of threads from here; the model's files are here already, so a look
        # at the hub would only wait for a time-out.
        settings = {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"}
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "edgeret_bench.peers.worker", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            encoding="utf-8",
            env=os.environ | settings,
        )

    def __enter__(self) -> PeerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or issubclass(kind, Exception):
            self._leave()
        else:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdout, self._log):
            if stream is not None:
                stream.close()

    def prepare(self, tools: Sequence[Tool], texts: Sequence[str], model: Path | None) -> dict[str, Any]:
        """Loads the peer and builds its index: version, load_ms, build_ms, rss_mb. Raises as `_ask`."""
        request = {
            "model": None if model is None else str(model),
            "threads": self._threads,
            "tools": [astuple(tool) for tool in tools],
            "texts": list(texts),
        }
        return self._ask({"prepare": request})

    def answer(self, queries: Sequence[str], k: int) -> tuple[list[float], list[list[int]]]:
        """As `base.timed`; the times are taken in the peer's process, so the pipe is no part of them."""
        found = self._ask({"queries": list(queries), "k": k})
        return found["ms"], found["rankings"]

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One answer. Raises MissingExtraError for a peer that is not installed, CheckFailedError for one that fails
        or whose process ends.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):  # it may have ended; then there is no answer to read either
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise CheckFailedError(f"the peer {self.name} failed: its process ended ({self._last_words()})")
        answer: dict[str, Any] = json.loads(line)
        if "missing" in answer:
            raise MissingExtraError(extra_of(self.name), f"the peer {self.name} ({answer['missing']})")
        if "error" in answer:
            raise CheckFailedError(answer["error"])
        return answer

    def _last_words(self) -> str:
        code = self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return f"exit code {code}" + (f": {lines[-1].strip()}" if lines else "")

    def _leave(self) -> None:
        """Closes its input, on which it ends; kills it if it does not."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it may have ended before
            self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
