"""An overlay on disk: add to it, write it anew. Knows nothing of what a record means.

What was added is on disk when `append` returns, and all records of one call or none are there after a crash at any
point. One writer at a time; readers need no lock and see what was there at some moment.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from edgeret.bundle.overlay import DIGEST_BYTES, MAX_OVERLAY_BYTES, SALT_BYTES, Contents, Record, is_unborn, scan
from edgeret.bundle.overlay_file import read_contents, recovered, told
from edgeret.errors import OverlayError
from edgeret_export.reference.changed_file import ChangedFile
from edgeret_export.reference.overlay_bytes import pack_batch, pack_header

Records = Sequence[tuple[str, Mapping[str, Any]]]
"""A kind (1 to 64 of a-z, 0-9 and -) and a map of plain data and arrays, for each record."""


class Overlay:
    """An open overlay. It can be used by many threads, and by the process that opened it alone."""

    def __init__(self, path: Path, file: ChangedFile | None, contents: Contents, recovered: str) -> None:
        """Use `open`."""
        self.path = path
        self.recovered = recovered
        """What was left out, since its writer died before it was whole; empty if nothing was."""
        self._file = file
        self._contents = contents
        self._unusable = "it was opened to be read" if file is None else ""
        self._rests = False
        self._process = os.getpid()
        self._turn = threading.Lock()

    @classmethod
    def open(
        cls,
        path: Path | str,
        fingerprint: str,
        bundle_hash: str,
        *,
        wait_seconds: float = 0.0,
        read_only: bool = False,
        key: bytes | None = None,
    ) -> Self:
        """Opens the overlay at `path`; makes it, with mode 0600, if it is not there and not `read_only`.

        `fingerprint` is the encoder's, `bundle_hash` the bundle's content hash, both 64 hex digits; a new file keeps
        the latter for people to read. `wait_seconds`: how long another writer may take to end. `key`: the device's
        secret, which the file is bound to. Raises OverlayError.
        """
        path = Path(path).absolute()
        if read_only:
            return cls(path, None, *read_contents(path, fingerprint, key))
        with told(path, "opened"):
            file = ChangedFile(path, wait_seconds)
            try:
                data = file.read(MAX_OVERLAY_BYTES)
                if is_unborn(data):  # not longer than a header, so that nothing is left behind the new one
                    data = pack_header(fingerprint, bundle_hash, os.urandom(SALT_BYTES), key)
                    file.put(data, 0)
                contents = scan(data, fingerprint, str(path), key)
                if contents.size_bytes < len(data):
                    file.cut(contents.size_bytes)
                file.settle()
            except BaseException:
                file.close()
                raise
        return cls(path, file, contents, recovered(len(data) - contents.size_bytes))

    @property
    def records(self) -> tuple[Record, ...]:
        """What is in it, in order."""
        return tuple(self._contents.records)

    @property
    def size_bytes(self) -> int:
        """The file's length."""
        return self._contents.size_bytes

    @property
    def bundle_hash(self) -> str:
        """The content hash of the bundle that the file was made with."""
        return self._contents.bundle_hash

    @property
    def digest(self) -> bytes:
        """Its last bytes, which are others after any change; none if there is no file."""
        return self._contents.digest

    def append(self, records: Records) -> tuple[Record, ...]:
        """Adds all records or, if it raises, none, and gives them as readers will find them.

        On disk when it returns; a write to the disk's own memory costs most of the time, so give many at once where you
        can. Raises OverlayError: a record that cannot be kept, a full disk or file, a file that was moved away.
        """
        with self._turn:
            file, contents = self._writable(), self._contents
            if not records:
                return ()
            batch = pack_batch(records, contents, str(self.path))
            with told(self.path, "written"):
                try:
                    file.put(batch.data, contents.size_bytes)
                    contents.add(batch)
                except BaseException:
                    self._retreat(file, contents.size_bytes)
                    raise
            return tuple(batch.records)

    def compact(self, records: Records) -> None:
        """Writes the file anew with these records only, in one step: after a crash, all of them are there or all of
        those before. Raises OverlayError; then the records before are there."""
        with self._turn:
            file, old = self._writable(), self._contents
            header = pack_header(old.fingerprint, old.bundle_hash, os.urandom(SALT_BYTES), old.key)
            parts, digest = [header], header[-DIGEST_BYTES:]
            contents = Contents(old.fingerprint, old.bundle_hash, digest, len(header), key=old.key)
            for record in records:
                batch = pack_batch([record], contents, str(self.path))
                contents.add(batch)
                parts.append(batch.data)
            with told(self.path, "written"):
                file.replace(b"".join(parts))
                self._contents = contents
                # Without its name the new file could be gone after a crash, and with it what is added from here on.
                self._unusable = "its folder could not be written"
                file.settle_name()
                self._unusable = ""

    def rest(self) -> None:
        """Lets other writers in until it is to `resume`. What was read stays, and so does the file, open."""
        with self._turn:
            if self._file is not None and not self._rests and os.getpid() == self._process:
                self._file.let_go()
                self._rests = True

    def resume(self, wait_seconds: float = 0.0) -> bool:
        """Keeps other writers out again; `wait_seconds` is how long another one may take to end. Whether the file is as
        this one left it; if not, close it, and open it anew. Raises OverlayError."""
        with self._turn:
            if self._file is None or self._unusable:
                return False
            self._check_process()
            with told(self.path, "read"):
                if self._rests:
                    self._file.take(wait_seconds)
                    self._rests = False
                return self._file.is_in_place() and self._file.ends_with(self.digest, self.size_bytes)

    def close(self) -> None:
        """Lets other writers in for good. What was read stays."""
        with self._turn:
            if self._file is not None:
                self._file.close(release=os.getpid() == self._process)
                self._file = None
                self._unusable = "it was closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise OverlayError(f"{self.path}: opened before a fork, by another process; open it again in this one")

    def _writable(self) -> ChangedFile:
        self._check_process()
        if self._file is None or self._unusable:
            raise OverlayError(f"{self.path}: cannot be written, {self._unusable}; open it again")
        if self._rests:
            raise OverlayError(f"{self.path}: cannot be written while it lets others in; resume it first")
        if not self._file.is_in_place():
            raise OverlayError(f"{self.path}: moved, deleted or replaced since it was opened; open it again")
        return self._file

    def _retreat(self, file: ChangedFile, end: int) -> None:
        """Takes back what a failed append left, so that the next one goes where a reader looks for it."""
        self._unusable = "its end is not known since a write failed"
        with suppress(OSError):
            file.cut(end)
            self._unusable = ""
