"""Writes bundles: whole or not at all, whatever happens meanwhile. docs/FORMAT.md, "Writing", says what is promised."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

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
from edgeret.bundle.placing import folders_for, one_at_a_time, workshop
from edgeret.bundle.reader import read_manifest, unlisted
from edgeret.errors import BundleError, InputError


@contextmanager
def writing(target: str | Path, overwrite: bool = False) -> Iterator[BundleWriter]:
    """A writer whose bundle appears under `target` whole, or not at all.

    Files go to a folder beside the target that takes its place once everything is written and flushed to disk. What
    stands at the target already is refused, and so is what appears there meanwhile; with `overwrite` a bundle is
    replaced, and there is a whole one at every moment. A folder that is no bundle, or that holds other people's files
    too, is never replaced. A target that is a link stays one: the folder that it leads to is replaced.
    Raises InputError for a target that cannot be written, and for a disk that fills.
    """
    target = Path(target)
    place = target.resolve() if target.is_symlink() else target
    try:
        with folders_for(place):
            with one_at_a_time(place):
                if os.path.lexists(place):
                    _check_replaceable(place, overwrite)
            with workshop(place) as shop:
                writer = BundleWriter(shop.folder)
                yield writer
                if not (shop.folder / MANIFEST).is_file():
                    raise InputError(f"{target}: nothing was finished, so nothing was written")
                shop.put_in_place(lambda found: _check_replaceable(found, overwrite))
    except OSError as error:
        raise InputError(
            f"{target}: cannot be written ({error.strerror or error}); nothing was left behind. "
            "Make room or choose another folder, then try again"
        ) from error


def _check_replaceable(folder: Path, overwrite: bool) -> None:
    """Raises InputError for whatever is no bundle, or holds files that no manifest lists."""
    try:
        manifest = read_manifest(folder, older=True)
        strays = unlisted(folder, manifest)
    except (BundleError, OSError):
        raise InputError(
            f"{folder}: exists already and is no bundle that this edgeret reads; remove it, or choose another folder"
        ) from None
    if not overwrite:
        raise InputError(f"{folder}: exists already; give --force to replace the bundle")
    if any(file.is_symlink() for file in folder.iterdir()):
        raise InputError(f"{folder}: not replaced, since its files are links of somebody else's; choose another folder")
    if strays:
        raise InputError(
            f"{folder}: not replaced, since it holds more than the bundle: {', '.join(map(repr, strays[:5]))}; "
            "move that elsewhere, or choose another folder"
        )


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
