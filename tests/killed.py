"""Children that die while they write, for commands that say what such a death loses."""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from edgeret.bundle import placing

CALLS = ("write", "fsync", "replace", "rename", "link", "unlink", "rmdir", "mkdir", "ftruncate")
"""Of the module os."""


def die_at(fatal_call: int) -> None:
    """From now on this process dies at so many calls that change the disk: before one, or half way through a write."""
    calls = itertools.count(1)

    def deadly(function: Any, name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if next(calls) == fatal_call:
                if name == "write":
                    function(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name), name))
    placing.renamed = deadly(placing.renamed, "renameat2")


def kill_at_calls(
    folder: Path,
    write: Callable[[Path, int, Callable[[], object]], None],
    judge: Callable[[Path, int], str | None],
    kills: int,
    stride: int = 1,
    first: int = 1,
) -> dict[str, Any]:
    """Kills that many children, each `stride` calls later than the one before, from the `first` call on and from the
    next again after one that got through.

    A child does `write(place, call, acknowledge)` in an empty folder of its own, and is to die at that call;
    `judge(place, acknowledged)` then says what is wrong after so many acknowledged operations, or None.
    """
    lost, killed, call, rounds = [], 0, first, 0
    acknowledge = os.write
    while killed < kills:
        with tempfile.TemporaryDirectory(dir=folder) as own:
            ours, theirs = os.pipe()
            gc.collect()  # a child that did would wait for threads of ONNX Runtime that it does not have
            child = os.fork()
            if child == 0:
                try:
                    write(Path(own), call, partial(acknowledge, theirs, b"."))
                    os._exit(0)
                finally:
                    os._exit(1)
            os.close(theirs)
            with os.fdopen(ours, "rb") as stream:
                acknowledged = len(stream.read())
            status = os.waitpid(child, 0)[1]
            if status == 0:
                rounds += 1
                call = first + rounds % stride
                assert rounds < kills, "more moments were asked for than there are calls"
                continue
            assert os.WIFSIGNALED(status), f"the child failed at call {call}"
            assert os.WTERMSIG(status) == signal.SIGKILL
            killed += 1
            if wrong := judge(Path(own), acknowledged):
                lost.append(f"call {call}: after {acknowledged} operations: {wrong}")
        call += stride
    return {"killed": killed, "rounds": rounds, "lost": lost}


def command(about: str | None, kill: Callable[[Path, int, int], dict[str, Any]]) -> None:
    """A command line that kills by `kill(folder, moments, stride)` and prints one JSON object; exits 1 if anything was
    lost."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--moments", type=int, default=50, help="children to kill")
    parser.add_argument("--stride", type=int, default=1, help="calls from one child's end to the next one's")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = kill(Path(folder), arguments.moments, arguments.stride)
    sys.stdout.write(f"{json.dumps(found, indent=1)}\n")
    sys.exit(bool(found["lost"]))
