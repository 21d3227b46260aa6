"""A bundle held open: what nobody asked for yet is read later, from the very files that were there. Knows nothing of
what files mean."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from edgeret.bundle.folder import Folder, KeptFolder, in_folder
from edgeret.bundle.layout import MAX_ROLE_BYTES, REBUILD, FileEntry, Manifest
from edgeret.bundle.reader import Bundle, Wanted, open_bundle, prove, reading_manifest, verified

if TYPE_CHECKING:
    from edgeret.bundle.signature_trust import Trusted


class KeptBundle:
    """A bundle whose files stay open, so that they can be read later, whatever is put in its place meanwhile. On
    Windows, where open files could not be replaced, they are opened anew, and another bundle is refused."""

    def __init__(self, path: Path, content_hash: str | None, trust: Trusted | Sequence[Trusted] | None = None) -> None:
        """`content_hash` and `trust` are those of `open_bundle`. Raises BundleError and InputError."""
        self.path = path
        manifest_of = reading_manifest(path, content_hash, trust)

        def opened(folder: Folder) -> tuple[Manifest, Folder | None]:
            manifest = manifest_of(folder)
            sizes = {entry.name: entry.size for entry in manifest.files if entry.role in MAX_ROLE_BYTES}
            return manifest, KeptFolder(folder, sizes, REBUILD) if os.name == "posix" else None

        self.manifest, self._folder = in_folder(path, opened)

    def open(self, only: Wanted) -> Bundle:
        """What `open_bundle` gives. Not for several threads at once."""
        if self._folder is None:
            return open_bundle(self.path, content_hash=self.manifest.content_hash, only=only)
        return verified(self._folder, self.path, self.manifest, only)

    def verify(self, entries: Collection[FileEntry]) -> None:
        """Proves these files without holding any. Raises BundleError."""

        def read(folder: Folder) -> None:
            for entry in entries:
                with folder.open_file(entry.name, entry.size, REBUILD) as stream:
                    prove(folder, entry, stream)

        if self._folder is None:
            in_folder(self.path, read)
        else:
            read(self._folder)
