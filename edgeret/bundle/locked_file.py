"""One regular file that one writer at a time holds. Knows nothing of what is in it.

On POSIX the file itself is locked. Windows puts nothing in the place of a file that
is open, so there the lock is on a file beside it, `NAME.lock`, which stays.
"""

from __future__ import annotations

import errno
import os
import random
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from edgeret.errors import OverlayError

_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC")  # a pipe in the file's place must not make us wait
LOCKED_BESIDE = sys.platform == "win32"
_LEAST_POLL_S, _MOST_POLL_S = 0.002, 0.02
"""Who waits looks again after a time between these, drawn anew: at one rhythm, some of many would never have luck."""
CLOSED = -1


def open_regular(path: Path, flags: int) -> int:
    """The descriptor of a regular file, made with mode 0600 if `flags` make it. Raises FileNotFoundError, OverlayError
    for a link, a pipe, a folder or a device, and for what cannot be opened."""
    try:
        if path.is_symlink():
            raise OSError(errno.ELOOP, "a symbolic link; name the file itself")
        descriptor = os.open(path, flags | sum(getattr(os, flag, 0) for flag in _FLAGS), 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise OverlayError(f"{path}: cannot be opened ({error.strerror}); name a file that you may write") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OverlayError(f"{path}: not a regular file; name another one")
    return descriptor


def read_all(descriptor: int, limit: int, where: Path) -> bytes:
    """The file's bytes. Raises OverlayError, before it reads, if they are more than `limit`; and OSError."""
    size = os.fstat(descriptor).st_size
    if size > limit:
        raise OverlayError(f"{where}: expected {limit} bytes at most, found {size}; nothing was changed; move it away")
    os.lseek(descriptor, 0, os.SEEK_SET)
    parts = []
    while size > 0 and (part := os.read(descriptor, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class LockedFile:
    """A file held open and locked; made if it is not there."""

    def __init__(self, path: Path, wait_seconds: float) -> None:
        """Waits that long for another writer to end. Raises OverlayError."""
        self.path = path
        self.lock = self.descriptor = CLOSED
        self.wait_until(self._opened, wait_seconds)

    def close(self, release: bool = True) -> None:
        """Lets go of the file. A process forked off the one that locked it must not `release` it."""
        if self.lock != CLOSED and release:
            with suppress(OSError):
                unlock(self.lock)
        for descriptor in {self.lock, self.descriptor} - {CLOSED}:
            os.close(descriptor)
        self.lock = self.descriptor = CLOSED

    def wait_until(self, done: Callable[[], bool], wait_seconds: float) -> None:
        """Tries until it is done. Raises OverlayError."""
        deadline = time.monotonic() + wait_seconds
        while not done():
            if time.monotonic() >= deadline:
                raise OverlayError(
                    f"{self.path}: another one is writing to it (waited {wait_seconds:g} s); end that one, or wait "
                    "longer"
                )
            time.sleep(random.uniform(_LEAST_POLL_S, _MOST_POLL_S))

    def lockless(self, error: OSError) -> OverlayError:
        return OverlayError(f"{self.path}: cannot be locked ({error.strerror}); name a file on a disk that has locks")

    def _opened(self) -> bool:
        """Opens and locks, unless another one holds the lock or exchanged the file meanwhile."""
        locked = self.path.with_name(f"{self.path.name}.lock") if LOCKED_BESIDE else self.path
        try:
            self.lock = open_regular(locked, os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:
            raise OverlayError(f"{self.path}: there is no such folder; make it, or name another file") from None
        try:
            if try_lock(self.lock) and same(locked, self.lock):
                self.descriptor = open_regular(self.path, os.O_RDWR | os.O_CREAT) if LOCKED_BESIDE else self.lock
                return True
        except OSError as error:
            raise self.lockless(error) from None
        finally:
            if self.descriptor == CLOSED:
                os.close(self.lock)
                self.lock = CLOSED
        return False


def same(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False


def try_lock(descriptor: int) -> bool:
    """Whether the lock could be had at once. Raises OSError where there are no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def unlock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)
