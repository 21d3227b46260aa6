"""Writes a bundle's files and its manifest; that they appear whole or not at all sees `edgeret.bundle.writer` to."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgeret.bundle import writer
from edgeret.bundle.codec import pack
from edgeret.bundle.layout import (
    BLOCK,
    FORMAT_VERSION,
    MANIFEST,
    MAX_FILE_BYTES,
    MAX_ROLE_BYTES,
    FileEntry,
    check_name,
    manifest_digest,
    wrap,
)
from edgeret.errors import InputError


@contextmanager
def writing(target: str | Path, overwrite: bool = False) -> Iterator[BundleWriter]:
    """A writer whose bundle appears under `target` whole, or not at all, as `edgeret.bundle.writer.writing` has it."""
    with writer.writing(target, overwrite) as folder:
        yield BundleWriter(folder)


class BundleWriter:
    """Collects a bundle's files in a folder of its own; `finish` writes the manifest, last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: list[FileEntry] = []

    def add(self, name: str, role: str, data: bytes, licence: str, source: str) -> FileEntry:
        """Writes one file and flushes it to disk."""
        check_name(name, str(self.folder))
        _check_size(role, len(data))
        entry = FileEntry(name, role, len(data), hashlib.sha256(data).hexdigest(), licence, source)
        _write_flushed(self.folder / name, data)
        self.entries.append(entry)
        return entry

    def add_file(self, name: str, role: str, file: Path, licence: str, source: str) -> FileEntry:
        """Copies a file that is too large to hold in memory, and flushes the copy to disk."""
        check_name(name, str(self.folder))
        _check_size(role, file.stat().st_size)
        digest, size = hashlib.sha256(), 0
        with file.open("rb") as stream, (self.folder / name).open("xb") as copy:
            while block := stream.read(BLOCK):
                digest.update(block)
                size += copy.write(block)
            copy.flush()
            os.fsync(copy.fileno())
        entry = FileEntry(name, role, size, digest.hexdigest(), licence, source)
        self.entries.append(entry)
        return entry

    def finish(self, info: Mapping[str, Any]) -> str:
        """Writes the manifest and returns the bundle's content hash (hex)."""
        body = pack({"files": [asdict(e) for e in sorted(self.entries, key=lambda e: e.name)], "info": info})
        _write_flushed(self.folder / MANIFEST, wrap(FORMAT_VERSION, body))
        return manifest_digest(FORMAT_VERSION, body).hex()


def _check_size(role: str, size: int) -> None:
    """Raises InputError for a file that no reader would take."""
    limit = MAX_ROLE_BYTES.get(role, MAX_FILE_BYTES)
    if size > limit:
        raise InputError(
            f"the file with the role {role} would have {size} bytes, at most {limit} are read; use fewer tools"
        )


def _write_flushed(file: Path, data: bytes) -> None:
    with file.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
