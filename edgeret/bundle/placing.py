"""Puts a finished folder where it belongs, in one step, and cleans up after writers that died. Knows no formats.

Linux can exchange two folders in one call. Elsewhere the old one steps aside for a moment (`folder.set_aside`), where
readers find it; a writer that dies in that moment is made up for by the next one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from edgeret.bundle.folder import set_aside

try:
    import fcntl
except ImportError:  # Windows: folders cannot be locked, so nobody can tell a dead writer's folder from a living one's
    fcntl = None  # type: ignore[assignment]

_RANDOM = "????????"  # what tempfile puts between prefix and suffix
_ATTEMPTS = 100
_AT_FDCWD, _NO_REPLACE, _EXCHANGE = -100, 1, 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


class Workshop:
    """A folder of this writer's alone, beside the place that it is for."""

    def __init__(self, folder: Path, place: Path) -> None:
        """Use `workshop`."""
        self.folder = folder
        self._place = place

    def put_in_place(self, check: Callable[[Path], object]) -> None:
        """Gives the folder its place. `check` raises for what stands there and may not be replaced; what it lets pass
        is deleted. Raises OSError."""
        self.folder.chmod(0o755)
        flush_folder(self.folder)
        with one_at_a_time(self._place):
            for _ in range(_ATTEMPTS):
                try:
                    _move_new(self.folder, self._place)
                except FileExistsError:
                    if not self._exchange(check):
                        continue
                flush_folder(self._place.parent)
                return
        raise FileExistsError(errno.EEXIST, "others keep writing there", str(self._place))

    def _exchange(self, check: Callable[[Path], object]) -> bool:
        """Changes places with what stands there; False if that was another one in the end, and nothing was changed."""
        check(self._place)
        with _locked(self._place) as old:
            if old is None or _identity(self._place) != old:
                return False
            check(self._place)  # again, now that no other writer can come between
            swap(self.folder, self._place)
            if _identity(self.folder) != old:
                swap(self.folder, self._place)
                return False
            shutil.rmtree(self.folder, ignore_errors=True)
        return True


@contextmanager
def workshop(place: Path, own: bool = False) -> Iterator[Workshop]:
    """A workshop for `place`, gone at the end; what dead writers left beside `place` goes first, be it folders within
    folders where that place is our `own` alone. Raises OSError."""
    _clean(place, own)
    for _ in range(_ATTEMPTS):
        folder = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".partial", dir=place.parent))
        with _locked(folder) as mine:
            if mine is None or _identity(folder) != mine:
                continue  # taken for a dead writer's before it was locked
            try:
                yield Workshop(folder, place)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return
    raise FileExistsError(errno.EEXIST, "others keep cleaning up there", str(place.parent))


@contextmanager
def folders_for(place: Path) -> Iterator[None]:
    """Makes the folders that `place` is to be in; those in which nothing lies at the end go again. Raises OSError."""
    missing = [folder for folder in place.parents if not folder.exists()]
    if (there := next(folder for folder in place.absolute().parents if folder.exists())).is_file():
        raise NotADirectoryError(errno.ENOTDIR, f"{there} is a file", str(there))
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):
            for folder in missing:
                folder.rmdir()


@contextmanager
def one_at_a_time(place: Path) -> Iterator[None]:
    """Holds the folder that `place` is in, so that no other writer is halfway with its renames there."""
    with _locked(place.parent.resolve()):
        yield


def _clean(place: Path, own: bool) -> None:
    """Deletes workshops whose writers died, and brings back what one of them had set aside."""
    if fcntl is None:
        return
    aside = set_aside(place)
    for folder in (aside, *place.parent.glob(f".{escape(place.name)}.{_RANDOM}.partial")):
        if not _is_ours(folder, own):
            continue
        with _locked(folder, wait=False) as old:
            if old is not None and folder == aside and not os.path.lexists(place):
                folder.rename(place)
            elif old is not None:
                shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: Path, own: bool) -> bool:
    """Whether it looks like a writer's folder: plain files and nothing else, unless nobody else writes there. What does
    not is left alone."""
    try:
        with os.scandir(folder) as entries:
            return not folder.is_symlink() and (own or all(entry.is_file(follow_symlinks=False) for entry in entries))
    except OSError:
        return False


@contextmanager
def _locked(folder: Path, wait: bool = True) -> Iterator[tuple[int, int] | None]:
    """Holds a folder against other writers and gives its identity; None if it is gone, or held (without `wait`)."""
    if fcntl is None:
        yield _identity(folder)
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    try:
        status = os.fstat(descriptor)
        held: tuple[int, int] | None = (status.st_dev, status.st_ino)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            held = None
        except OSError:  # a file system without locks: what nobody can hold is nobody's to clean up
            held = held if wait else None
        yield held
    finally:
        os.close(descriptor)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _move_new(source: Path, target: Path) -> None:
    """Renames a folder. Raises FileExistsError if anything stands at the target, however late it came."""
    if renamed(source, target, _NO_REPLACE):
        return
    if os.name == "posix":
        target.mkdir()  # claims the name, or raises; an empty folder can then be renamed over
    source.rename(target)


def swap(folder: Path, place: Path) -> None:
    """Exchanges two folders, in one step where the system can."""
    if renamed(folder, place, _EXCHANGE):
        return
    aside = set_aside(place)
    shutil.rmtree(aside, ignore_errors=True)
    place.rename(aside)
    try:
        folder.rename(place)
    except OSError:
        aside.rename(place)
        raise
    aside.rename(folder)


def renamed(source: Path, target: Path, how: int) -> bool:
    """renameat2; False where system or file system has no such call. Raises OSError."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if not call(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), ctypes.c_uint(how)):
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(target))


def flush_folder(folder: Path) -> None:
    """Makes the names in a folder durable; Windows has no such call and needs none."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
