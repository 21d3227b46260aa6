"""What a planner has read, kept in a folder for later starts. Knows nothing of models or of what the bytes mean.

llama.cpp parses these bytes, so they must be our own: a file counts only if it belongs to this user, nobody else can
write to it, and it is whole. Who owns the folder does not matter then.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

MAX_STATE_BYTES = 1 << 30
_MAGIC = b"edgeret-prefix-1"
_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC")


def read_state(folder: Path, key: str) -> bytes | None:
    """The state kept under `key` (64 hex digits); None if there is none that can be trusted."""
    try:
        descriptor = os.open(_file(folder, key), os.O_RDONLY | sum(getattr(os, flag, 0) for flag in _FLAGS))
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(stream.fileno())
            if not _is_ours(status) or status.st_size > MAX_STATE_BYTES:
                return None
            data = stream.read(status.st_size)
    except OSError:
        return None
    header = _header(key)
    state, digest = data[len(header) : -32], data[-32:]
    return state if data.startswith(header) and hashlib.sha256(header + state).digest() == digest else None


def write_state(folder: Path, key: str, state: bytes) -> None:
    """Keeps a state. A read-only folder or a full disk costs time at the next start, and nothing else."""
    if len(state) > MAX_STATE_BYTES - 128:
        return
    header = _header(key)
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        # A name that nobody can guess, and can have put a link under.
        descriptor, partial = tempfile.mkstemp(dir=folder, suffix=".partial")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(header + state + hashlib.sha256(header + state).digest())
            Path(partial).replace(_file(folder, key))
        except OSError:
            Path(partial).unlink()


def _is_ours(status: os.stat_result) -> bool:
    if not stat.S_ISREG(status.st_mode):
        return False
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def _file(folder: Path, key: str) -> Path:
    return folder / f"{key}.state"


def _header(key: str) -> bytes:
    return _MAGIC + bytes.fromhex(key)
