"""What a build keeps for the next one: bytes under a key, in the user's cache folder. Knows not what they are."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from edgeret.terminal.progress import say
from edgeret_export.sources.fetch import cache_folder


def key_of(parts: object) -> str:
    """A file name for what `parts`, plain data, determine."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def recall(key: str) -> bytes | None:
    """What was kept under the key; None if nothing whole was."""
    file = cache_folder() / "onnx" / key
    try:
        data = file.read_bytes()
    except OSError:
        return None
    # The last 32 bytes are the hash of the rest: a file cut short by a crash must not be taken for a model.
    return data[:-32] if hashlib.sha256(data[:-32]).digest() == data[-32:] else None


def remember(key: str, data: bytes) -> None:
    """Keeps the bytes; a full disk is told of, and is no error."""
    folder = cache_folder() / "onnx"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".partial-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.write(hashlib.sha256(data).digest())
        Path(name).replace(folder / key)
    except OSError:
        Path(name).unlink(missing_ok=True)
        say("the export could not be kept in the cache (disk full?); the next build exports again")
