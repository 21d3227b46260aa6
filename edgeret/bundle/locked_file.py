"""One regular file that one writer at a time holds, changes at its end, or replaces. Knows nothing of what is in it.

What returns has reached the disk. On POSIX the file itself is locked. Windows puts nothing in the place of a file that
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
from glob import escape
from pathlib import Path

from edgeret.errors import OverlayError

_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC")  # a pipe in the file's place must not make us wait
_LOCKED_BESIDE = sys.platform == "win32"
_LEAST_POLL_S, _MOST_POLL_S = 0.002, 0.02
"""Who waits looks again after a time between these, drawn anew: at one rhythm, some of many would never have luck."""
_CLOSED = -1


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
    """A file held open and locked; made if it is not there. All methods but `close` raise OSError."""

    def __init__(self, path: Path, wait_seconds: float) -> None:
        """Waits that long for another writer to end. Raises OverlayError."""
        self.path = path
        self._lock = self._descriptor = _CLOSED
        self._wait_until(self._opened, wait_seconds)

    def let_go(self) -> None:
        """Lets others lock the file; it stays open. `take` it again before anything else is done with it."""
        with suppress(OSError):
            _unlock(self._lock)

    def take(self, wait_seconds: float) -> None:
        """Locks the file that was let go of. Waits that long for another writer to end. Raises OverlayError."""
        self._wait_until(self._locked, wait_seconds)

    def ends_with(self, data: bytes, size: int) -> bool:
        """Whether the file has so many bytes, and these are the last ones."""
        if os.fstat(self._descriptor).st_size != size:
            return False
        os.lseek(self._descriptor, size - len(data), os.SEEK_SET)
        return os.read(self._descriptor, len(data)) == data

    def read(self, limit: int) -> bytes:
        """All bytes. Raises OverlayError if they are more than `limit`."""
        return read_all(self._descriptor, limit, self.path)

    def put(self, data: bytes, offset: int) -> None:
        """Puts `data` at `offset`, the file's end so far. If it raises, some of it may be there: `cut` that off."""
        _write(self._descriptor, data, offset)
        _flush(self._descriptor)

    def cut(self, size: int) -> None:
        """Makes the file so many bytes long."""
        os.ftruncate(self._descriptor, size)
        _flush(self._descriptor)

    def settle(self) -> None:
        """Deletes what writers that died left beside the file, and makes the file and its name durable."""
        for partial in self.path.parent.glob(f".{escape(self.path.name)}.????????.partial"):
            if partial.is_file() and not partial.is_symlink():
                partial.unlink()
        _flush(self._descriptor)
        self.settle_name()

    def settle_name(self) -> None:
        """Makes the file's name durable; Windows has no such call and needs none."""
        if os.name != "posix":
            return
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            _flush(folder)
        finally:
            os.close(folder)

    def is_in_place(self) -> bool:
        """Whether the path still leads to this very file."""
        return _same(self.path, self._descriptor)

    def replace(self, data: bytes) -> None:
        """Puts a file with `data` in the place of this one, in one step, and holds that. Call `settle_name` then."""
        import tempfile

        descriptor, name = tempfile.mkstemp(prefix=f".{self.path.name}.", suffix=".partial", dir=self.path.parent)
        try:
            _write(descriptor, data, 0)
            _flush(descriptor)
            if _LOCKED_BESIDE:
                os.close(descriptor)
                descriptor = _CLOSED
                self._rename_closed(name)
                return
            if not _try_lock(descriptor):
                raise OSError(errno.EAGAIN, "another one took the new file", name)
            Path(name).replace(self.path)
        except BaseException:
            if descriptor != _CLOSED:
                os.close(descriptor)
            with suppress(OSError):
                Path(name).unlink()
            raise
        old, self._lock = self._descriptor, descriptor
        self._descriptor = descriptor
        os.close(old)

    def close(self, unlock: bool = True) -> None:
        """Lets go of the file. A process forked off the one that locked it must not `unlock`."""
        if self._lock != _CLOSED and unlock:
            with suppress(OSError):
                _unlock(self._lock)
        for descriptor in {self._lock, self._descriptor} - {_CLOSED}:
            os.close(descriptor)
        self._lock = self._descriptor = _CLOSED

    def _wait_until(self, done: Callable[[], bool], wait_seconds: float) -> None:
        """Tries until it is done. Raises OverlayError."""
        deadline = time.monotonic() + wait_seconds
        while not done():
            if time.monotonic() >= deadline:
                raise OverlayError(
                    f"{self.path}: another one is writing to it (waited {wait_seconds:g} s); end that one, or wait "
                    "longer"
                )
            time.sleep(random.uniform(_LEAST_POLL_S, _MOST_POLL_S))

    def _locked(self) -> bool:
        """Whether the lock could be had. Raises OverlayError where there are no locks."""
        try:
            return _try_lock(self._lock)
        except OSError as error:
            raise self._lockless(error) from None

    def _lockless(self, error: OSError) -> OverlayError:
        return OverlayError(f"{self.path}: cannot be locked ({error.strerror}); name a file on a disk that has locks")

    def _opened(self) -> bool:
        """Opens and locks, unless another one holds the lock or exchanged the file meanwhile."""
        locked = self.path.with_name(f"{self.path.name}.lock") if _LOCKED_BESIDE else self.path
        try:
            self._lock = open_regular(locked, os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:
            raise OverlayError(f"{self.path}: there is no such folder; make it, or name another file") from None
        try:
            if _try_lock(self._lock) and _same(locked, self._lock):
                self._descriptor = open_regular(self.path, os.O_RDWR | os.O_CREAT) if _LOCKED_BESIDE else self._lock
                return True
        except OSError as error:
            raise self._lockless(error) from None
        finally:
            if self._descriptor == _CLOSED:
                os.close(self._lock)
                self._lock = _CLOSED
        return False

    def _rename_closed(self, name: str) -> None:
        """Renames with both files closed, under the lock beside them."""
        old, self._descriptor = self._descriptor, _CLOSED
        os.close(old)
        try:
            Path(name).replace(self.path)
        finally:
            self._descriptor = open_regular(self.path, os.O_RDWR)


def _same(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False


def _write(descriptor: int, data: bytes, offset: int) -> None:
    os.lseek(descriptor, offset, os.SEEK_SET)
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _flush(descriptor: int) -> None:
    if sys.platform == "darwin":  # whose fsync leaves the bytes in the disk's own memory
        import fcntl

        with suppress(OSError):  # a file system that has no such call
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def _try_lock(descriptor: int) -> bool:
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


def _unlock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)
