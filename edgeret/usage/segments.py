"""A folder of files that lines are added to, within a bound: the newest file grows, the oldest one goes. Knows nothing
of what a line says.

Each process writes to a file of its own, which it holds locked, so that nobody waits for another one's lines. A line is
there when `put` returns: it was handed to the system in one piece, which a killed process cannot take back. It is not
forced to the disk; that would take milliseconds, and a machine without power loses some seconds of its log.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from edgeret.errors import InputError

PARTS = 16
"""Files that the bound is divided into, so that what goes at once is small; and about as many processes may write."""
_NAME = re.compile(r"(\d{9})\.jsonl")
_DAY_S, _JUMP_S = 86_400.0, 3_600.0
_PLAUSIBLE = 1_577_836_800.0  # 2020: a clock before that was never set, and says nothing of a file's age
_FLAGS = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_APPEND"))
_SHARED = sys.platform != "win32"
"""Whether files can be locked and deleted while they are open. Elsewhere each start begins a new one."""
_CLOSED = -1
_LOOK = 32  # lines from one look at the clock to the next


class _Part(NamedTuple):
    number: int
    path: Path
    size: int
    changed: float


def parts_of(folder: Path) -> list[Path]:
    """The files of such a folder, the oldest first."""
    return [part.path for part in _parts(folder)]


def _parts(folder: Path) -> list[_Part]:
    found = []
    for entry in folder.iterdir():
        named = _NAME.fullmatch(entry.name)
        with suppress(FileNotFoundError):
            if named and not entry.is_symlink():
                told = entry.stat()
                found.append(_Part(int(named[1]), entry, told.st_size, told.st_mtime))
    return sorted(found)


def _steady() -> float:
    """Seconds by a clock that nobody sets, and that goes on while the machine sleeps where there is such a one."""
    clock: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class Segments:
    """Thread-safe; any number of processes, each with an object of its own, may share a folder."""

    def __init__(
        self,
        folder: Path,
        max_bytes: int,
        max_age_s: float,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = _steady,
    ) -> None:
        """Makes the folder if it is not there, and a file to write to. All files together have `max_bytes` at most;
        those that were written last more than `max_age_s` ago go. `clock` may be set while this runs, `steady` may not.
        Raises InputError for a folder that cannot be written to, or whose bound others' files fill already."""
        self.folder, self._max, self._max_age = folder, max_bytes, max_age_s
        self._part_bytes = max_bytes // PARTS
        self._span = min(_DAY_S, max_age_s / PARTS)  # or a file that is written to for ever would never be old
        self._clock, self._steady = clock, steady
        self._lock = threading.Lock()
        self._descriptor, self._size, self._began, self._jumped = _CLOSED, 0, 0.0, False
        self._offset = clock() - steady()
        self._known: set[str] = set()
        self._lines = 0
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._open(adopts=_SHARED)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror}); name another folder") from None

    @property
    def part_bytes(self) -> int:
        """What one file has at most."""
        return self._part_bytes

    def put(self, line: bytes, about: str = "", told: bytes = b"") -> bool:
        """Adds a line, with its end; and before it the line `told`, unless what is `about` stands in this file already.
        False where it is not there: no room is left, or this was closed, which is warned of once; or no file could hold
        it."""
        with self._lock:
            if self._descriptor == _CLOSED:
                return False
            try:
                if len(told) + len(line) > self._part_bytes:
                    return False
                whole = line if about in self._known else told + line
                self._lines += 1
                if self._size + len(whole) > self._part_bytes or (not self._lines % _LOOK and self._is_old()):
                    self._open(adopts=False)
                    whole = told + line
                self._write(whole)
            except OSError as error:
                self._close()
                why = error.strerror or str(error)
                message = f"{self.folder}: no more is logged ({why}); decisions go on"
                warnings.warn(message, RuntimeWarning, stacklevel=6)
                return False
            self._known.add(about)
            return True

    def close(self) -> None:
        """Lets go of the file; nothing more is added."""
        with self._lock:
            self._close()

    def _is_old(self) -> bool:
        return self._steady() - self._began > self._span

    def _write(self, whole: bytes) -> None:
        left = whole
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError:
            with suppress(OSError):  # half a line is worth nothing, and no other process writes here
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(whole)

    def _open(self, adopts: bool) -> None:
        """Goes on with the newest file, if it `adopts` one that nobody holds, or begins another one. Raises OSError."""
        self._close()
        self._known.clear()
        with self._alone():
            parts = self._room()
            newest = parts[-1] if parts else None
            if not (adopts and newest is not None and self._adopted(newest)):
                self._begin(0 if newest is None else newest.number + 1)
        self._began = self._steady()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other process makes room or begins a file. Raises OSError."""
        descriptor = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
        try:
            if _SHARED:
                import fcntl

                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _adopted(self, part: _Part) -> bool:
        if part.size >= self._part_bytes or not (descriptor := _held(part.path, os.O_RDWR)):
            return False
        size = os.fstat(descriptor).st_size
        self._descriptor, self._size = descriptor, size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            self._write(b"\n")  # whoever wrote here was killed: half a line, which readers leave out
        return True

    def _begin(self, number: int) -> None:
        while True:
            with suppress(FileExistsError):
                path = self.folder / f"{number:09}.jsonl"
                descriptor = _held(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
                if descriptor is not None:
                    self._descriptor, self._size = descriptor, 0
                    return
            number += 1

    def _room(self) -> list[_Part]:
        """Deletes what is too old or too much for one more file; what is left. Raises OSError if that is too much."""
        parts = _parts(self.folder)
        now, newest = self._clock(), 0.0
        # Lines stand in the order of files, so no file is older than the one before it, whatever a clock said. Whoever
        # saw the clock being set does not judge by it: one day it would delete what was written a minute ago.
        self._jumped = self._jumped or abs(now - self._steady() - self._offset) > _JUMP_S
        old = set()
        for part in parts:
            newest = max(newest, part.changed)
            if not self._jumped and newest >= _PLAUSIBLE and now - newest > self._max_age:
                old.add(part.number)
        held = {part.number for part in parts if _is_held(part.path)}
        # What another process holds may grow until it is full.
        left = [part._replace(size=self._part_bytes) if part.number in held else part for part in parts]
        for part in [part for part in left if part.number not in held]:
            too_much = sum(one.size for one in left) + self._part_bytes > self._max
            if (part.number in old or too_much) and _deleted(part.path):
                left.remove(part)
        if sum(part.size for part in left) + self._part_bytes > self._max:
            raise OSError(0, f"{len(left)} files that others write to fill the bound; give a larger one")
        return left

    def _close(self) -> None:
        if self._descriptor != _CLOSED:
            os.close(self._descriptor)
            self._descriptor = _CLOSED


def _held(path: Path, flags: int) -> int | None:
    """The descriptor of a file that is locked by this; None where another one holds it, or deleted it meanwhile. Raises
    OSError."""
    try:
        descriptor = os.open(path, flags | _FLAGS, 0o600)
    except FileNotFoundError:
        return None
    if not _SHARED:
        return descriptor
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:
            return descriptor
    except BlockingIOError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _is_held(path: Path) -> bool:
    """Whether another process writes to a file, as far as this system tells."""
    if not _SHARED or (descriptor := _held(path, os.O_RDWR)) is None:
        return _SHARED and path.exists()
    os.close(descriptor)
    return False


def _deleted(path: Path) -> bool:
    """Deletes a file unless somebody writes to it; whether it is gone."""
    try:
        if _SHARED:
            if (descriptor := _held(path, os.O_RDWR)) is None:
                return not path.exists()
            os.close(descriptor)
        path.unlink(missing_ok=True)
    except PermissionError:  # open elsewhere, on Windows
        return False
    return True
