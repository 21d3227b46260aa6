"""A small file of JSON that several processes read and change: read whole, locked, and put in its place in one step.
Knows nothing of what is in it.

The lock is on a file beside it, `NAME.lock`, which stays: the file itself is another one after every change. Readers
take none.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from edgeret import InputError

MOST_BYTES = 64 << 20
WAIT_S = 10.0
"""For another process to end its change, which takes some milliseconds."""
_POLL_S = 0.005
_FLAGS = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))


class SharedFile:
    """One file. Every method but `moved` raises InputError, which names it and says what to do."""

    def __init__(self, path: Path, what: str, option: str) -> None:
        """Reads nothing. `what` is in it, and `option` names it on the command line."""
        self.path = path.resolve()  # what a link leads to is changed, and the link stays
        self._what, self._option, self._seen = what, option, _UNREAD

    def read(self) -> Any:
        """The file's value; None where there is no file."""
        try:
            with self.path.open("rb") as file:
                self._seen = _stamp(os.fstat(file.fileno()))
                data = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            if not self.path.parent.is_dir():
                raise self._error(f"{self.path.parent} is no folder") from None
            self._seen = _NONE
            return None
        except OSError as error:
            raise self._error(f"cannot be read ({error.strerror})") from None
        if len(data) > MOST_BYTES:
            raise self._error(f"more than {MOST_BYTES >> 20} MiB")
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise self.strange() from None

    def moved(self) -> bool:
        """Whether the file is another one than `read` and `write` saw last."""
        try:
            return _stamp(self.path.stat()) != self._seen
        except OSError:
            return self._seen != _NONE

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else is in here, with this file, at the same time."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        deadline = time.monotonic() + WAIT_S
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
        except OSError as error:
            raise self._error(f"cannot be locked ({lock.name}: {error.strerror})") from None
        try:
            while not _try_lock(descriptor):
                if time.monotonic() > deadline:
                    raise self._error(f"another process has held {lock.name} for {WAIT_S:g} s; end that one")
                time.sleep(_POLL_S)
            yield
        except OSError as error:
            raise self._error(f"cannot be kept ({error.strerror})") from None
        finally:
            os.close(descriptor)  # which unlocks

    def write(self, value: Any) -> None:
        """Puts this value in the file's place; in `locked`."""
        text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
        partial = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.partial")
        try:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode("utf-8", "backslashreplace") + b"\n")
                file.flush()
                os.fsync(file.fileno())
                self._seen = _stamp(os.fstat(file.fileno()))
            partial.replace(self.path)
        except OSError:
            with suppress(OSError):
                partial.unlink()
            raise

    def strange(self) -> InputError:
        """The error to raise where the value is another one than it should be."""
        return InputError(
            f"{self.path}: no file of {self._what}; name another with {self._option}, or move it away to begin anew"
        )

    def _error(self, what: str) -> InputError:
        return InputError(f"{self.path}: {what}; name another file with {self._option}")


_UNREAD, _NONE = (-1, -1, -1), (0, 0, 0)


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _try_lock(descriptor: int) -> bool:
    """Whether the lock could be had at once. Raises OSError where there are no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
