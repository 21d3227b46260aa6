"""Copies a bundle byte by byte, proved on the way, with the signatures beside it. Knows nothing of what files mean."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from edgeret.bundle.folder import Folder, in_folder
from edgeret.bundle.layout import MANIFEST, MAX_MANIFEST_BYTES, REBUILD, FileEntry, Manifest
from edgeret.bundle.reader import parse_manifest, prove
from edgeret.bundle.signature import pack_signatures, read_signatures, signatures_path
from edgeret.records import dataclass

if TYPE_CHECKING:
    from edgeret.bundle.signature_trust import Trusted


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied: the bundle's manifest, and the bytes of a file of those signatures that are over it."""

    manifest: Manifest
    signatures: bytes


def copy_bundle(
    source: Path,
    target: Path,
    *,
    content_hash: str | None = None,
    trust: Trusted | Sequence[Trusted] | None = None,
) -> Copied:
    """Copies the files that the manifest of `source` lists into the empty folder `target`, the manifest last, each one
    flushed to disk. `content_hash` (64 hex digits) and `trust` are those of `open_bundle`, checked before anything is
    copied. Raises BundleError, and OSError where the target cannot be written."""
    signatures = read_signatures(source) if trust is not None or os.path.lexists(signatures_path(source)) else ()

    def signed(found: str) -> None:
        if trust is not None:
            from edgeret.bundle.signature_trust import trust_of

            trust_of(trust).check(found, signatures, source)

    def copy(folder: Folder) -> Manifest:
        for left in target.iterdir():  # of a bundle that was replaced while it was copied
            left.unlink()
        with folder.open_file(MANIFEST, MAX_MANIFEST_BYTES, f"it is not a bundle; {REBUILD}") as stream:
            data = stream.read(MAX_MANIFEST_BYTES + 1)
        manifest = parse_manifest(data, str(source / MANIFEST), content_hash, signed=signed)
        for entry in manifest.files:
            _copy(folder, entry, target / entry.name)
        with (target / MANIFEST).open("xb") as copied:
            copied.write(data)
            copied.flush()
            os.fsync(copied.fileno())
        return manifest

    manifest = in_folder(source, copy)
    return Copied(manifest, pack_signatures(each for each in signatures if each.bundle == manifest.content_hash))


def _copy(folder: Folder, entry: FileEntry, target: Path) -> None:
    with folder.open_file(entry.name, entry.size, REBUILD) as stream, target.open("xb") as copied:
        prove(folder, entry, stream, copied)
        copied.flush()
        os.fsync(copied.fileno())
