"""A folder held open: its files come from the very folder that was opened, whatever is put in its place meanwhile.

Knows nothing of what the files are. Links inside the folder are refused, since they lead out of it; so is whatever is
no regular file, without waiting for it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

from edgeret.errors import BundleError

_FILE_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC")  # a pipe in a file's place must not make us wait
_ATTEMPTS = 100
_Result = TypeVar("_Result")


class Folder:
    """An open folder. Use `in_folder`."""

    def __init__(self, path: Path, descriptor: int | None, identity: tuple[int, int]) -> None:
        self.path = path
        self._descriptor = descriptor
        self._identity = identity

    def open_file(self, name: str, limit: int, remedy: str) -> BinaryIO:
        """A regular file of at most `limit` bytes, open for reading. Raises BundleError, which ends with `remedy`."""
        file = self.path / name
        flags = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in _FILE_FLAGS)
        try:
            if self._descriptor is None:
                descriptor = os.open(file, flags)
            else:
                descriptor = os.open(name, flags, dir_fd=self._descriptor)
        except FileNotFoundError:
            raise BundleError(f"{file}: missing; {remedy}") from None
        except OSError as error:
            reason = "a symbolic link" if file.is_symlink() else error.strerror
            raise BundleError(f"{file}: cannot be read ({reason}); {remedy}") from None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
                raise BundleError(f"{file}: {what}; {remedy}")
            if status.st_size > limit:
                raise BundleError(f"{file}: expected {limit} bytes at most, found {status.st_size}; {remedy}")
            return os.fdopen(descriptor, "rb")
        except BaseException:
            os.close(descriptor)
            raise

    def was_replaced(self) -> bool:
        """Whether another folder, or none, is there by now."""
        try:
            return _identity(self.path.stat()) != self._identity
        except OSError:
            return True


def in_folder(path: Path, read: Callable[[Folder], _Result]) -> _Result:
    """What `read` gives for the folder; read again if that failed because another one was put in its place.

    Raises BundleError if there is no such folder.
    """
    for attempt in range(_ATTEMPTS):
        with _opened(path) as folder:
            try:
                return read(folder)
            except BundleError:
                if attempt + 1 == _ATTEMPTS or not folder.was_replaced():
                    raise
    raise AssertionError("the last attempt returns or raises")


def set_aside(path: Path) -> Path:
    """Where a folder waits while another one takes its place, on systems that cannot exchange two in one step."""
    return path.with_name(f".{path.name}.replaced")


@contextmanager
def _opened(path: Path) -> Iterator[Folder]:
    descriptor = None
    for attempt in range(_ATTEMPTS):
        # Looked for in turn: a writer killed between its two renames leaves the old folder aside, a living one soon
        # has the new one in place.
        place = set_aside(path) if attempt % 2 and path.name else path
        try:
            if os.open in os.supports_dir_fd:
                descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                identity = _identity(os.fstat(descriptor))
            else:
                identity = _identity(place.stat())
        except FileNotFoundError:
            if attempt and not os.path.lexists(path) and not os.path.lexists(set_aside(path)):
                break
            continue
        except OSError as error:
            raise BundleError(f"{path}: not a bundle ({error.strerror}); name a bundle's folder") from None
        try:
            yield Folder(place, descriptor, identity)
        finally:
            if descriptor is not None:
                os.close(descriptor)
        return
    raise BundleError(f"{path}: not a bundle (no such folder); make one with: edgeret-export build -o {path}")


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
