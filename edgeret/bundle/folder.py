"""A folder held open: its files come from the very folder that was opened, whatever is put in its place meanwhile.

Knows nothing of what the files are. Links are refused but for those that `links` allows; so is whatever is no regular
file, without waiting for it.
"""

from __future__ import annotations

import errno
import os
import stat
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import TypeVar

from edgeret.bundle.layout import MANIFEST
from edgeret.bundle.links import link_text, open_linked
from edgeret.errors import BundleError

_FILE_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC")  # a pipe in a file's place must not make us wait
_ATTEMPTS = 100
_VERSION = "..data"  # where a Kubernetes volume exchanges all files in one step, under the folder that stays
_Identity = tuple[int, int, str | None]
_ARCHIVES = {b"PK": "a zip archive; unpack it first", b"\x1f\x8b": "a gzip archive; unpack it first"}
_Result = TypeVar("_Result")


class Folder:
    """An open folder. Use `in_folder`."""

    def __init__(self, path: Path, descriptor: int | None, identity: _Identity) -> None:
        self.path = path
        self._descriptor = descriptor
        self.identity = identity

    def open_file(self, name: str, limit: int, remedy: str) -> BufferedReader:
        """A regular file of at most `limit` bytes, open for reading. Raises BundleError, which ends with `remedy`."""
        file = self.path / name
        flags = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in _FILE_FLAGS)
        try:
            inside = self._descriptor
            descriptor = os.open(file, flags) if inside is None else _open_in(inside, name, flags)
        except FileNotFoundError:
            raise BundleError(f"{file}: missing; {remedy}") from None
        except OSError as error:
            raise BundleError(f"{file}: cannot be read ({error.strerror}); {remedy}") from None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
                raise BundleError(f"{file}: {what}; {remedy}")
            if status.st_size > limit:
                raise BundleError(f"{file}: expected {limit} bytes at most, found {status.st_size}; {remedy}")
            return os.fdopen(descriptor, "rb")
        except BaseException:
            with suppress(OSError):  # without memory, what had taken it over closed it
                os.close(descriptor)
            raise

    def was_replaced(self) -> bool:
        """Whether another folder, or none, is there by now."""
        try:
            return _identity(self.path.stat(), link_text(self.path / _VERSION)) != self.identity
        except OSError:
            return True


class KeptFolder(Folder):
    """A folder whose files stay open as long as it does. Not for several readers of one file at once."""

    def __init__(self, folder: Folder, sizes: Mapping[str, int], remedy: str) -> None:
        """Opens those files, each of at most so many bytes. Raises BundleError, which ends with `remedy`."""
        super().__init__(folder.path, None, folder.identity)
        self._files: dict[str, int] = {}
        weakref.finalize(self, _close, self._files)
        for name, size in sizes.items():
            with folder.open_file(name, size, remedy) as stream:
                self._files[name] = os.dup(stream.fileno())

    def open_file(self, name: str, limit: int, remedy: str) -> BufferedReader:
        """From its beginning."""
        descriptor = os.dup(self._files[name])
        os.lseek(descriptor, 0, os.SEEK_SET)
        return os.fdopen(descriptor, "rb")


def _close(files: Mapping[str, int]) -> None:
    for descriptor in files.values():
        os.close(descriptor)


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
                identity = _identity(os.fstat(descriptor), link_text(_VERSION, descriptor))
            else:
                identity = _identity(place.stat(), link_text(place / _VERSION))
        except FileNotFoundError:
            if attempt and not os.path.lexists(path) and not os.path.lexists(set_aside(path)):
                break
            continue
        except OSError as error:
            raise BundleError(f"{path}: not a bundle: {_told(path) or f'{error.strerror}; name its folder'}") from None
        try:
            yield Folder(place, descriptor, identity)
        finally:
            if descriptor is not None:
                os.close(descriptor)
        return
    raise BundleError(f"{path}: not a bundle (no such folder); make one with: edgeret-export build -o {path}")


def _open_in(folder: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EMLINK):  # what systems say of a link that must not be followed
            raise
        return open_linked(folder, name, flags)


def _told(path: Path) -> str | None:
    """What was named in a folder's place, if it is something that people take for a bundle."""
    try:
        if not path.is_file():
            return None
        if (path.parent / MANIFEST).is_file():
            return f"a file in one; name its folder: {path.parent}"
        with path.open("rb") as stream:
            return _ARCHIVES.get(stream.read(2))
    except OSError:
        return None


def _identity(status: os.stat_result, version: str | None) -> _Identity:
    return status.st_dev, status.st_ino, version
