"""Kills processes that write an overlay, and says what was lost. A command: `python tests/kill_run.py --help`.

A writer acknowledges each operation (an append of several records, or a compaction) on a pipe. After it was killed, at
random moments or before its n-th call that changes the disk for one n after another, the file must hold what the last
acknowledged operation left, or what the one after it leaves.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ENCODER, BUNDLE = "ab" * 32, "cd" * 32
OPERATIONS = 12
"""Of a writer that is killed at a call; those killed at random go on until they are."""


def main() -> None:
    """Kills writers in both ways and prints one JSON object; exits 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=30, help="writers to kill at random moments")
    parser.add_argument("--calls", type=int, default=300, help="writers to kill at one call after another")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        moments = kill_at_random(Path(folder), arguments.moments, arguments.seed)
        calls = kill_at_calls(Path(folder), arguments.calls)
    print(json.dumps({"moments": moments, "calls": calls}, indent=1))
    sys.exit(bool(moments["lost"] or calls["lost"]))


def records_of(operation: int) -> list[tuple[str, dict[str, Any]]]:
    """What the operation of this number appends: one to three records, some of them larger than a disk's block."""
    return [
        ("note", {"operation": operation, "place": n, "data": bytes(operation % 5 * 1500)})
        for n in range(1 + operation % 3)
    ]


def is_compaction(operation: int) -> bool:
    """Every fifth operation keeps the last four records only."""
    return operation % 5 == 4


def state_after(operations: int) -> list[tuple[int, int]]:
    """Operation and place of each record that is there after so many operations."""
    state: list[tuple[int, int]] = []
    for operation in range(operations):
        if is_compaction(operation):
            state = state[-4:]
        else:
            state += [(operation, record["place"]) for _, record in records_of(operation)]
    return state


def write(path: Path, fatal_call: int, operations: int, acknowledge: int) -> None:
    """Goes on where the file ends, and writes a byte to `acknowledge` after each operation. Dies at the `fatal_call`-th
    call that changes the disk (0: does not): before it, or, where it writes, half way through it."""
    from edgeret_export.reference.overlay_writer import Overlay

    calls = itertools.count(1)

    def deadly(name: str) -> Any:
        function = getattr(os, name)

        def call(*arguments: Any, **options: Any) -> Any:
            if next(calls) == fatal_call:
                if name == "write":
                    function(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return call

    real_write = os.write
    for name in ("write", "fsync", "ftruncate", "replace", "unlink"):
        setattr(os, name, deadly(name))
    with Overlay.open(path, ENCODER, BUNDLE) as overlay:
        real_write(acknowledge, b".")
        for operation in range(operations):
            if is_compaction(operation):
                overlay.compact([(record.kind, record.value) for record in overlay.records[-4:]])
            else:
                overlay.append(records_of(operation))
            real_write(acknowledge, b".")


def found_in(path: Path) -> list[tuple[int, int]]:
    """Operation and place of each record, after a writer has taken up the file again."""
    from edgeret.bundle.overlay_file import read_overlay
    from edgeret_export.reference.overlay_writer import Overlay

    read = read_overlay(path, ENCODER)
    with Overlay.open(path, ENCODER, BUNDLE, wait_seconds=5.0) as overlay:
        assert overlay.records == read, "a reader and a writer disagree"
    left = [name for name in os.listdir(path.parent) if name != path.name]  # noqa: PTH208
    assert left == [], left
    return [(record.value["operation"], record.value["place"]) for record in read]


def judge(path: Path, acknowledged: int) -> str | None:
    """What is wrong with the file after so many acknowledged operations, or None."""
    try:
        found = found_in(path)
    except Exception as error:
        return f"after {acknowledged}: {type(error).__name__}: {error}"
    allowed = [state_after(acknowledged), state_after(acknowledged + 1)]
    return None if found in allowed else f"after {acknowledged}: found {found}, expected one of {allowed}"


def kill_at_calls(folder: Path, kills: int) -> dict[str, Any]:
    """Kills that many writers, each at a call later than the one before, from the first again after the last."""
    lost, killed, call = [], 0, 0
    while killed < kills:
        call += 1
        with tempfile.TemporaryDirectory(dir=folder) as own:
            path = Path(own) / "b.overlay"
            ours, theirs = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    write(path, call, OPERATIONS, theirs)
                finally:
                    os._exit(0)
            os.close(theirs)
            with os.fdopen(ours, "rb") as stream:
                acknowledged = len(stream.read()) - 1
            if os.waitpid(child, 0)[1] == 0:
                assert acknowledged == OPERATIONS, acknowledged
                call = 0
                continue
            killed += 1
            if wrong := judge(path, max(0, acknowledged)):
                lost.append(f"call {call}: {wrong}")
    return {"killed": killed, "lost": lost}


def kill_at_random(folder: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kills that many writers a random time after their first operation."""
    lost, dice = [], random.Random(seed)
    for _ in range(kills):
        with tempfile.TemporaryDirectory(dir=folder) as own:
            path = Path(own) / "b.overlay"
            with subprocess.Popen([sys.executable, __file__, "--write", str(path)], stdout=subprocess.PIPE) as child:
                assert child.stdout is not None
                begun = child.stdout.read(2)
                time.sleep(dice.uniform(0.0, 0.3))
                child.kill()
                acknowledged = len(begun + child.stdout.read()) - 1
            if wrong := judge(path, acknowledged):
                lost.append(wrong)
    return {"killed": kills, "lost": lost}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]), 0, 1 << 30, 1)
    else:
        main()
