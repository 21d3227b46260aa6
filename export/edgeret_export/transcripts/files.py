"""Bytes of a transcript, line by line in bounded memory, unpacked where it is a gzip file. Knows nothing of JSON."""

from __future__ import annotations

import gzip
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from edgeret.errors import InputError
from edgeret_export.transcripts.conversation import Place
from edgeret_export.transcripts.tally import Tally

MAX_BYTES = 1 << 24
"""Of one line, or of one entry of an array. Decoded JSON takes some ten times as much."""
MAX_RATIO = 500
"""How much larger unpacked text may be than its gzip file, once it is over `BOMB_FROM`. Made-up logs that
repeat a system prompt of 26 kB in every line reach 123; zeros reach 1,028."""
BOMB_FROM = 1 << 26
_SKIPPED_AT_ONCE = 1 << 20
_PACKED = {b"PK\x03\x04": "a zip archive", b"\x28\xb5\x2f\xfd": "packed with zstd", b"BZh": "packed with bzip2"}
_PACKED |= {b"\xfd7zXZ": "packed with xz", b"PAR1": "Parquet"}
_GZIP = b"\x1f\x8b"


class Lines:
    """The lines of an open file, each with its number and without its end; a second loop goes on where one stopped."""

    def __init__(self, stream: BinaryIO, raw: BinaryIO, file: str, tally: Tally) -> None:
        self._stream, self._raw, self._file, self._tally = stream, raw, file, tally
        self._packed = stream is not raw
        self._number = self._unpacked = 0
        self.has_long_start = False
        """Whether the first line is longer than `MAX_BYTES`; then its beginning is what `__next__` gave."""

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        return self

    def __next__(self) -> tuple[int, bytes]:
        while line := self.read(MAX_BYTES + 1):
            self._number += 1
            if self._number == 1:
                line = line.removeprefix(BOM_UTF8)
            if len(line) <= MAX_BYTES or line.endswith(b"\n"):
                return self._number, line.rstrip(b"\r\n")
            if self._number == 1 and line.lstrip().startswith(b"["):
                self.has_long_start = True
                return self._number, line
            while (rest := self.read(_SKIPPED_AT_ONCE)) and not rest.endswith(b"\n"):
                pass
            reason = f"longer than {MAX_BYTES >> 20} MB; leave files and images out of the log"
            self._tally.add("line", reason, Place(self._file, self._number))
        raise StopIteration

    def read(self, size: int) -> bytes:
        """The next bytes up to the end of a line, `size` at most; none at the end, or where a gzip file is damaged."""
        try:
            found = self._stream.readline(size)
        except (OSError, EOFError, zlib.error):
            self._tally.add("file", "damaged from here on; what stood before it was read", self._here())
            return b""
        self._unpacked += len(found)
        if self._packed and self._unpacked > max(BOMB_FROM, MAX_RATIO * self._raw.tell()):
            reason = f"unpacks to more than {MAX_RATIO} times its size; unpack it yourself if it is no trap"
            self._tally.add("file", reason, self._here())
            self._stream = cast(BinaryIO, _Ended())
            return b""
        return found

    def _here(self) -> Place:
        return Place(self._file, self._number + 1)


class _Ended:
    def readline(self, _: int) -> bytes:
        return b""


@contextmanager
def opened(path: Path, tally: Tally) -> Iterator[Lines | None]:
    """The lines of a file, or None for one that holds no lines of text, which is counted. Raises InputError for one
    that cannot be opened."""
    try:
        raw = path.open("rb")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give transcripts") from None
    except IsADirectoryError:
        raise InputError(f"{path}: a folder; give the files in it") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give another file") from None
    with raw:
        start = raw.peek(8)[:8]
        if reason := _no_text(start):
            tally.add("file", reason, path)
            yield None
        elif start.startswith(_GZIP):
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield Lines(cast(BinaryIO, unpacked), raw, str(path), tally)
        else:
            yield Lines(raw, raw, str(path), tally)


def _no_text(start: bytes) -> str:
    if not start:
        return "empty"
    if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or start[1:2] == b"\0":
        return "UTF-16; convert it with: iconv -f UTF-16 -t UTF-8"
    found = next((what for magic, what in _PACKED.items() if start.startswith(magic)), "")
    return f"{found}; unpack it first" if found else ""
