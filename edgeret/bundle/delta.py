"""Makes a new bundle out of an older one and a delta (docs/FORMAT.md, section 20), whole or not at all.

Knows nothing of how a delta is made (`edgeret-export delta`). Whatever it is given, what it puts in place is the bundle
that the delta's manifest names: every file is hashed while it is written.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from edgeret.bundle.delta_file import (
    GET_AGAIN,
    Delta,
    Recipe,
    Unpacked,
    check_base,
    opened,
    prove_streams,
    read_delta,
    read_steps,
)
from edgeret.bundle.folder import Folder, in_folder
from edgeret.bundle.layout import BLOCK, MANIFEST, FileEntry, Manifest
from edgeret.bundle.reader import manifest_of, signed_by, wanted_hash
from edgeret.bundle.writer import writing
from edgeret.errors import BundleError, InputError
from edgeret.records import dataclass

if TYPE_CHECKING:
    from edgeret.bundle.signature_trust import Trusted

_WHOLE = "copy that bundle again, or get the new one whole"


@dataclass(frozen=True, slots=True)
class Applied:
    """A bundle that was made: its manifest, which is proved, and the names of files taken from the old one as they
    were, of those among them that both bundles now share on the disk, and of those that were made anew."""

    path: Path
    manifest: Manifest = field(repr=False)
    kept: tuple[str, ...]
    linked: tuple[str, ...]
    made: tuple[str, ...]


def apply_delta(
    old: str | Path,
    delta: str | Path,
    target: str | Path,
    *,
    content_hash: str | None = None,
    overwrite: bool = False,
    link: bool = False,
    trust: Trusted | Sequence[Trusted] | None = None,
) -> Applied:
    """The bundle that `delta` makes of the bundle `old`, under `target`, which may be `old` itself with `overwrite`.

    It appears whole or not at all, whatever happens meanwhile. With `content_hash` (hex) it must be that very bundle.
    With `trust` (as of `trust_of`) those must have signed it: the signatures lie beside `target`, as they will of the
    bundle there. With `link` both bundles share the files that did not change, where the file system can.
    Raises BundleError for a delta that is damaged or made for another bundle, and for an old bundle that is not as it
    was written; InputError for a target that cannot be written.
    """
    old, target, where = Path(old), Path(target), str(delta)
    if (target.parent / MANIFEST).is_file():
        raise InputError(f"{target}: would lie in a bundle, and be a stray there; choose another folder")
    with opened(Path(delta)) as stream:
        read = read_delta(stream, where, wanted_hash(content_hash), signed_by(target, trust))
        # Before anything is unpacked or written, and again in the very folder that is then read.
        found = check_base(read, in_folder(old, _old_manifest), where)
        prove_streams(stream, read, where)
        _check_room(target, sum(e.size for e in read.result.files if not (link and e.name in found)))

        def make(folder: Folder) -> Applied:
            base = _old_manifest(folder)
            kept, linked = check_base(read, base, where), list[str]()
            with writing(target, overwrite) as new:
                recipes = dict(zip((r.name for r in read.recipes), _placed(read), strict=True))
                for entry in read.result.files:
                    place = new / entry.name
                    if entry.name not in recipes:
                        if link and _linked(folder, kept[entry.name], place):
                            linked.append(entry.name)
                        else:
                            _write(place, entry, _copied(folder, kept[entry.name]), str(folder.path / entry.name))
                        continue
                    recipe, begin = recipes[entry.name]
                    _write(place, entry, _made(folder, base, stream, recipe, begin, entry, where), where)
                _flushed(new / MANIFEST, [read.manifest])
            return Applied(target, read.result, tuple(kept), tuple(linked), tuple(recipes))

        return in_folder(old, make)


def _old_manifest(folder: Folder) -> Manifest:
    """The old bundle's, of whatever format: only what the delta makes of it is to be read by this edgeret."""
    return manifest_of(folder, older=True, remedy=_WHOLE)


def _placed(delta: Delta) -> Iterator[tuple[Recipe, int]]:
    """Each recipe, and where its streams begin."""
    at = delta.begin
    for recipe in delta.recipes:
        yield recipe, at
        at += sum(recipe.packed)


def _check_room(target: Path, size: int) -> None:
    """Raises InputError where the disk is too full; better said before it is."""
    there = next((folder for folder in target.absolute().parents if folder.is_dir()), None)
    if there is not None and (free := shutil.disk_usage(there).free) < size:
        raise InputError(
            f"{target}: {size} bytes are needed there, {free} are free; make room, or choose another folder"
        )


def _copied(folder: Folder, entry: FileEntry) -> Iterator[bytes]:
    with folder.open_file(entry.name, entry.size, _WHOLE) as source:
        while block := source.read(BLOCK):
            yield block


def _linked(folder: Folder, entry: FileEntry, place: Path) -> bool:
    """Whether the file stands at `place` too now, the same on the disk; its bytes are proved. What is a link itself, or
    lies on another disk, is to be copied."""
    try:
        os.link(folder.path / entry.name, place, follow_symlinks=False)
    except (OSError, NotImplementedError):
        return False
    if place.is_symlink():
        place.unlink()
        return False
    with place.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != entry.sha256:
        raise BundleError(f"{folder.path / entry.name}: altered (expected sha256 {entry.sha256[:16]}…); {_WHOLE}")
    return True


def _made(
    folder: Folder, base: Manifest, stream: BinaryIO, recipe: Recipe, begin: int, entry: FileEntry, where: str
) -> Iterator[bytes]:
    """The bytes of a file that a recipe makes."""
    if recipe.base is None:
        yield from _stepped(None, 0, stream, recipe, begin, entry, where)
        return
    source = next(each for each in base.files if each.name == recipe.base)
    with folder.open_file(source.name, source.size, _WHOLE) as opened_base:
        yield from _stepped(opened_base, source.size, stream, recipe, begin, entry, where)


def _stepped(
    base: BinaryIO | None, size: int, stream: BinaryIO, recipe: Recipe, begin: int, entry: FileEntry, where: str
) -> Iterator[bytes]:
    steps = read_steps(stream, begin, recipe, entry, size, where)
    begins = np.cumsum([begin, *recipe.packed]).tolist()
    differences, fresh = (
        Unpacked(stream, begins[i], recipe.packed[i], int(steps[:, i].sum()), recipe.width, where) for i in (1, 2)
    )
    for at, same, more in steps.tolist():
        for count in _blocks(same):
            assert base is not None, "read_steps lets no step read a base of 0 bytes"
            base.seek(at)
            piece = base.read(count)
            at += count
            if len(piece) < count:
                raise BundleError(f"{where}: the file it builds on is shorter than its bundle says; {_WHOLE}")
            changed = np.frombuffer(piece, np.uint8) + np.frombuffer(differences.take(count), np.uint8)
            yield changed.tobytes()
        for count in _blocks(more):
            yield fresh.take(count)
    differences.end()
    fresh.end()


def _blocks(count: int) -> Iterator[int]:
    while count:
        yield min(count, BLOCK)
        count -= min(count, BLOCK)


def _write(place: Path, entry: FileEntry, pieces: Iterator[bytes], where: str) -> None:
    """Writes a file and flushes it. Raises BundleError if it is not the one of the new manifest."""
    digest = _flushed(place, pieces)
    if digest != entry.sha256:
        raise BundleError(
            f"{where}: does not give {entry.name} as it was written (expected sha256 {entry.sha256[:16]}…, found "
            f"{digest[:16]}…): the old bundle's files are not as they were, or the delta is; verify that bundle, "
            f"{GET_AGAIN}"
        )


def _flushed(place: Path, pieces: Iterator[bytes] | list[bytes]) -> str:
    """The sha256 of what was written."""
    digest = hashlib.sha256()
    with place.open("xb") as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()
