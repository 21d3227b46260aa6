"""Appends demonstrations to a file, none twice. Knows nothing of how they came about."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from edgeret import Demonstration, InputError

ANOTHER = "give another file with --output"


def append(path: Path, demonstrations: Sequence[Demonstration]) -> int:
    """Appends what the file lacks, a line each; how many lines that were. Two processes may append to one file.

    Raises InputError for a file that cannot be read or written, and for one with a line that is no demonstration; then
    it is as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            _lock(file)
            file.seek(0)
            before = file.read()
            known = _known(before, path)
            lines = b"\n" if before and not before.endswith(b"\n") else b""
            fresh = 0
            for value in map(_plain, demonstrations):
                if (key := _key(value)) not in known:
                    known.add(key)
                    lines += json.dumps(value, ensure_ascii=False).encode() + b"\n"
                    fresh += 1
            if fresh:
                _write(file, lines, len(before))
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); {ANOTHER}") from None
    return fresh


def _write(file: BinaryIO, lines: bytes, before: int) -> None:
    """All of it or nothing: a disk may be full."""
    try:
        file.write(lines)
        file.flush()
        os.fsync(file.fileno())
    except OSError:
        os.ftruncate(file.fileno(), before)
        raise


def _lock(file: BinaryIO) -> None:
    """Waits for whoever writes to it now; the end of the file's use ends the lock."""
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows: there, two sessions with one file are the user's own care
        return
    fcntl.flock(file, fcntl.LOCK_EX)


def _known(data: bytes, path: Path) -> set[str]:
    """What is in the file."""
    found: set[str] = set()
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            found.add(_key({"query": value["query"], "calls": value["calls"]}))
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError(f"{path}:{number}: no demonstration, so nothing is written there; {ANOTHER}") from None
    return found


def _plain(demonstration: Demonstration) -> dict[str, Any]:
    calls = [
        {"tool": call.tool, **({"arguments": dict(call.arguments)} if call.arguments else {})}
        for call in demonstration.calls
    ]
    return {"id": demonstration.id, "query": demonstration.query, "calls": calls}


def _key(value: Mapping[str, Any]) -> str:
    """What two lines have in common that say the same, whatever their ids."""
    calls = [[call["tool"], call.get("arguments") or {}] for call in value["calls"]]
    return json.dumps([value["query"], calls], sort_keys=True)
