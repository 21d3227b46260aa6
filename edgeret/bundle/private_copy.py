"""Private copies of bytes, for native libraries that read files by path. Knows nothing of what the bytes mean.

What was verified is what the library reads: on Linux the copy is anonymous memory, sealed, which nobody can change or
cut short any more, this process included, and no file appears anywhere. Elsewhere it is a temporary file that this
user alone can open.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_DESCRIPTORS = Path("/proc/self/fd")


@contextmanager
def private_copy(write: Callable[[BinaryIO], object]) -> Iterator[Path]:
    """A path under which the bytes that `write` puts into a stream can be opened while the context lasts.

    Whoever maps the file keeps it beyond that. What `write` raises is passed on; OSError where there is no room.
    """
    if hasattr(os, "memfd_create") and _DESCRIPTORS.is_dir():
        with os.fdopen(os.memfd_create("edgeret", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "wb") as stream:
            write(stream)
            stream.flush()
            _seal(stream.fileno())
            yield _DESCRIPTORS / str(stream.fileno())
        return
    import tempfile

    descriptor, name = tempfile.mkstemp(prefix="edgeret-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            write(stream)
        yield Path(name)
    finally:
        with suppress(OSError):  # Windows keeps a mapped file; its temporary folder is cleaned with the session
            Path(name).unlink()


def _seal(descriptor: int) -> None:
    import fcntl

    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
