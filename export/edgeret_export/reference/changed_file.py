"""A locked file that is changed at its end, or replaced. Knows nothing of what is in it. What returns has reached the
disk."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from glob import escape
from pathlib import Path

from edgeret.bundle import locked_file


class ChangedFile(locked_file.LockedFile):
    """A file held open and locked; made if it is not there. All methods but `close` raise OSError."""

    def let_go(self) -> None:
        """Lets others lock the file; it stays open. `take` it again before anything else is done with it."""
        with suppress(OSError):
            locked_file.unlock(self.lock)

    def take(self, wait_seconds: float) -> None:
        """Locks the file that was let go of. Waits that long for another writer to end. Raises OverlayError."""
        self.wait_until(self._locked, wait_seconds)

    def ends_with(self, data: bytes, size: int) -> bool:
        """Whether the file has so many bytes, and these are the last ones."""
        if os.fstat(self.descriptor).st_size != size:
            return False
        os.lseek(self.descriptor, size - len(data), os.SEEK_SET)
        return os.read(self.descriptor, len(data)) == data

    def read(self, limit: int) -> bytes:
        """All bytes. Raises OverlayError if they are more than `limit`."""
        return locked_file.read_all(self.descriptor, limit, self.path)

    def put(self, data: bytes, offset: int) -> None:
        """Puts `data` at `offset`, the file's end so far. If it raises, some of it may be there: `cut` that off."""
        _write(self.descriptor, data, offset)
        _flush(self.descriptor)

    def cut(self, size: int) -> None:
        """Makes the file so many bytes long."""
        os.ftruncate(self.descriptor, size)
        _flush(self.descriptor)

    def settle(self) -> None:
        """Deletes what writers that died left beside the file, and makes the file and its name durable."""
        for partial in self.path.parent.glob(f".{escape(self.path.name)}.????????.partial"):
            if partial.is_file() and not partial.is_symlink():
                partial.unlink()
        _flush(self.descriptor)
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
        return locked_file.same(self.path, self.descriptor)

    def replace(self, data: bytes) -> None:
        """Puts a file with `data` in the place of this one, in one step, and holds that. Call `settle_name` then."""
        import tempfile

        descriptor, name = tempfile.mkstemp(prefix=f".{self.path.name}.", suffix=".partial", dir=self.path.parent)
        try:
            _write(descriptor, data, 0)
            _flush(descriptor)
            if locked_file.LOCKED_BESIDE:
                os.close(descriptor)
                descriptor = locked_file.CLOSED
                self._rename_closed(name)
                return
            if not locked_file.try_lock(descriptor):
                raise OSError(errno.EAGAIN, "another one took the new file", name)
            Path(name).replace(self.path)
        except BaseException:
            if descriptor != locked_file.CLOSED:
                os.close(descriptor)
            with suppress(OSError):
                Path(name).unlink()
            raise
        old, self.lock = self.descriptor, descriptor
        self.descriptor = descriptor
        os.close(old)

    def _locked(self) -> bool:
        """Whether the lock could be had. Raises OverlayError where there are no locks."""
        try:
            return locked_file.try_lock(self.lock)
        except OSError as error:
            raise self.lockless(error) from None

    def _rename_closed(self, name: str) -> None:
        """Renames with both files closed, under the lock beside them."""
        old, self.descriptor = self.descriptor, locked_file.CLOSED
        os.close(old)
        try:
            Path(name).replace(self.path)
        finally:
            self.descriptor = locked_file.open_regular(self.path, os.O_RDWR)


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
