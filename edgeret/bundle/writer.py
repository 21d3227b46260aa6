"""Writes bundles: whole or not at all, whatever happens meanwhile. docs/FORMAT.md, "Writing", says what is promised."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgeret.bundle.layout import MANIFEST
from edgeret.bundle.placing import folders_for, one_at_a_time, workshop
from edgeret.bundle.reader import read_manifest, unlisted
from edgeret.errors import BundleError, InputError


@contextmanager
def writing(target: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """A folder for the files of a bundle, its manifest last. The bundle appears under `target` whole, or not at all.

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
                yield shop.folder
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
