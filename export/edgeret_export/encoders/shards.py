"""Records under keys, kept in files that only grow, so that a build killed at any moment loses a record or two.

Every process that has something to keep writes a file of its own, a shard: no locks, and nothing is ever written behind
what a killed process left half done. Knows not what the records are.
"""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from edgeret.terminal.progress import say

KEY_BYTES = 16
MOST_BYTES = 32_000_000_000
"""Of all folders of shards together; 26 GB are what a million queries of 384 numbers a vector take."""
_SUFFIX = ".shard"
_HEAD = struct.Struct(f"<{KEY_BYTES}sI8s")
"""Before every record: its key, its length, and a hash of both and of itself."""


class Shards:
    """The records of one folder, those that others wrote before it was opened, and its own. For one thread."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        """`folder` lies beside others of its kind, which together hold at most `most_bytes`: the files that were not
        used for longest are removed for that."""
        self._folder = folder
        self._room = most_bytes - _prune(folder.parent, most_bytes)
        self._places: dict[bytes, tuple[Path, int, int]] = {}
        for file in sorted(folder.glob(f"*{_SUFFIX}")):
            self._places |= {key: (file, start, size) for key, start, size in records_of(file)}
        self._used: set[Path] = set()
        self._source: tuple[Path, BinaryIO] | None = None
        self._sink: BinaryIO | None = None
        self._own = folder

    def get(self, key: bytes) -> bytes | None:
        """What is kept under a key of KEY_BYTES; None if nothing whole is."""
        if key not in self._places:
            return None
        file, start, size = self._places[key]
        try:
            source = self._opened(file)
            source.seek(start - _HEAD.size)
            head, data = source.read(_HEAD.size), source.read(size)
        except OSError:  # another build needed the room
            return None
        return data if head == _head(key, data) else None

    def put(self, key: bytes, data: bytes) -> None:
        """Keeps a record; a full disk is told of, and is no error."""
        record = _head(key, data) + data
        if self._room < len(record):
            return
        try:
            if self._sink is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                descriptor, name = tempfile.mkstemp(dir=self._folder, suffix=_SUFFIX)
                self._sink, self._own = os.fdopen(descriptor, "wb", buffering=0), Path(name)
            if self._sink.write(record) < len(record):
                raise OSError
            self._places[key] = (self._own, self._sink.tell() - len(data), len(data))
            self._room -= len(record)
        except OSError:
            self._room = 0
            say("encodings could not be kept in the cache (disk full?); the next build encodes again")

    def close(self) -> None:
        """Closes the files."""
        for stream in (self._sink, self._source and self._source[1]):
            if stream:
                stream.close()
        self._source, self._sink, self._room = None, None, 0

    def _opened(self, file: Path) -> BinaryIO:
        """One file at a time: what was written by one build is read one behind the other."""
        if self._source is None or self._source[0] != file:
            if self._source is not None:
                self._source[1].close()
            self._source = (file, file.open("rb"))
            if file not in self._used:
                self._used.add(file)
                os.utime(file)  # `_prune` removes others first
        return self._source[1]


def _head(key: bytes, data: bytes) -> bytes:
    digest = hashlib.blake2b(key + len(data).to_bytes(4, "little"), digest_size=8)
    digest.update(data)
    return _HEAD.pack(key, len(data), digest.digest())


def records_of(file: Path) -> Iterator[tuple[bytes, int, int]]:
    """Key, beginning and length of every record that is there as long as it says; a killed process leaves at most one
    that is not, the last."""
    try:
        with file.open("rb") as stream:
            end, start = stream.seek(0, os.SEEK_END), 0
            while start + _HEAD.size <= end:
                stream.seek(start)
                key, size, _ = _HEAD.unpack(stream.read(_HEAD.size))
                start += _HEAD.size + size
                if start <= end:
                    yield key, start - size, size
    except OSError:
        return


def _prune(root: Path, most_bytes: int) -> int:
    """Removes shards from all folders, oldest use first, until a quarter of the room is free; returns what is left."""
    found = []
    for file in root.glob(f"*/*{_SUFFIX}"):
        try:
            told = file.stat()
        except OSError:
            continue
        found.append((told.st_mtime_ns, told.st_size, file))
    total = sum(size for _, size, _ in found)
    for _, size, file in sorted(found):
        if total <= most_bytes * 3 // 4:
            break
        file.unlink(missing_ok=True)
        total -= size
    return total
