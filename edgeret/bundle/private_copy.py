"""Private copies of bytes, for native libraries that read files by path. Knows nothing of what the bytes mean.

What was verified is what the library reads: on Linux the copy is anonymous memory, sealed, which nobody can change or
cut short any more, this process included, and no file appears anywhere. Elsewhere it is this process's own memory, or
for libraries that take nothing but a path a temporary file that this user alone can open.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

_DESCRIPTORS = Path("/proc/self/fd")


class PrivateBytes:
    """Bytes that nobody can change. `data` is to be read here; `source` is for a library that takes bytes or a path: a
    path wherever there is one, since bytes would be kept. It is good for as long as this object lives."""

    data: bytes | mmap.mmap
    source: bytes | Path

    def __init__(self, write: Callable[[BinaryIO], object]) -> None:
        """Takes the bytes that `write` puts into a stream. What it raises is passed on; OSError where there is no
        room."""
        stream = _memory()
        if stream is not None:
            try:
                write(stream)
                _seal(stream)
            except BaseException as error:
                with suppress(OSError):
                    stream.close()
                if not isinstance(error, OSError):
                    raise
                stream = None  # a limit on files, which files in memory are too (ulimit -f)
        if stream is None:
            kept = BytesIO()
            write(kept)
            self.data = self.source = kept.getvalue()
            return
        weakref.finalize(self, stream.close)
        self.data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if stream.tell() else b""
        self.source = _DESCRIPTORS / str(stream.fileno())


@contextmanager
def private_copy(write: Callable[[BinaryIO], object]) -> Iterator[Path]:
    """A path under which the bytes that `write` puts into a stream can be opened while the context lasts.

    Whoever maps the file keeps it beyond that. What `write` raises is passed on; OSError where there is no room.
    """
    memory = _memory()
    if memory is not None:
        with memory as stream:
            write(stream)
            _seal(stream)
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


def _memory() -> BinaryIO | None:
    """A file without a name, in memory; None where the system has none, or allows none."""
    if not hasattr(os, "memfd_create") or not _DESCRIPTORS.is_dir():
        return None
    try:
        return os.fdopen(os.memfd_create("edgeret", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "wb")
    except OSError:  # hardened systems forbid them all (vm.memfd_noexec)
        return None


def _seal(stream: BinaryIO) -> None:
    import fcntl

    stream.flush()
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    fcntl.fcntl(stream.fileno(), fcntl.F_ADD_SEALS, seals)
