"""A store's folder of bundles: each version under its content hash, its signatures beside it. Knows nothing of which
one is active."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from edgeret.bundle.copying import Copied, copy_bundle
from edgeret.bundle.folder import set_aside
from edgeret.bundle.placing import Workshop, workshop
from edgeret.bundle.signature import signatures_path
from edgeret.errors import BundleError, InputError
from edgeret.store.state import replace_file

FOLDER = "bundles"
_ENTRY = re.compile(r"\.?([0-9a-f]{64})(\..*)?")
_COMING = "coming"
"""What a version is called while it is copied, or made by a delta: its content hash is known only then, and whoever
adds the next one clears away what died so."""


def version_path(store: Path, content_hash: str) -> Path:
    """The folder of a version."""
    return store / FOLDER / content_hash


class Arrival:
    """A copy that waits for its place. Use `arriving`."""

    def __init__(self, store: Path, folder: Path, copied: Copied) -> None:
        """`folder` is where the copy lies."""
        self.content_hash = copied.manifest.content_hash
        self._place, self._folder, self._copied = version_path(store, self.content_hash), folder, copied

    def put_in_place(self) -> None:
        """Gives the copy its place, on disk when it returns; what lay there was no version. Raises OSError."""
        Workshop(self._folder, self._place).put_in_place(lambda found: None)

    def put_signatures(self) -> None:
        """Puts the signatures that came with it beside it, in the place of earlier ones. Raises InputError."""
        if self._copied.signatures:
            replace_file(signatures_path(self._place), self._copied.signatures)


@contextmanager
def _arrivals(store: Path) -> Iterator[Path]:
    """A folder of this writer's alone on the store's disk. Raises InputError where nothing can be written there."""
    try:
        with workshop(store / FOLDER / _COMING, own=True) as shop:
            yield shop.folder
    except OSError as error:
        raise InputError(
            f"{store}: the bundle cannot be copied there ({error.strerror or error}); nothing was changed. Make room, "
            "or remove versions with: edgeret store remove"
        ) from None


@contextmanager
def arriving(store: Path, bundle: Path, content_hash: str | None, trust: Any) -> Iterator[Arrival]:
    """A proved copy of `bundle` on the store's disk, gone at the end unless it was put in place. Raises BundleError for
    a bundle that is not whole or not trusted, InputError where there is no room for it."""
    with _arrivals(store) as folder:
        copied = copy_bundle(bundle, folder, content_hash=content_hash, trust=trust)
        yield Arrival(store, folder, copied)


@contextmanager
def made_of(store: Path, delta: Path, listed: Collection[str], content_hash: str | None, trust: Any) -> Iterator[Path]:
    """The bundle that a delta makes of one of the versions that are `listed`, with the signatures beside the delta, in
    a folder that is gone at the end. Raises BundleError for a delta that is damaged, not trusted, or of another bundle,
    InputError where there is no room."""
    from edgeret.bundle.delta import apply_delta  # whole bundles do not wait for it
    from edgeret.bundle.delta_file import opened, read_delta
    from edgeret.bundle.reader import signed_by, wanted_hash

    with opened(delta) as stream:
        base = read_delta(stream, str(delta), wanted_hash(content_hash), signed_by(delta, trust)).base
    if base not in listed:
        raise BundleError(
            f"{delta}: made for a bundle that this store has not (content hash {base[:16]}…); add that one first, or "
            "get the new one whole"
        )
    with _arrivals(store) as folder:
        target = folder / "made" / "bundle"  # whose writer locks the folder above it, as this one does
        target.parent.mkdir()
        if signatures_path(delta).is_file():
            shutil.copyfile(signatures_path(delta), signatures_path(target))
        apply_delta(version_path(store, base), delta, target, content_hash=content_hash, trust=trust)
        yield target


def sweep(store: Path, listed: Collection[str]) -> None:
    """Deletes what writers that died left, and versions that are not `listed`; brings back a listed one that had
    stepped aside for its mended copy. Hold the store locked."""
    for path in (store / FOLDER).iterdir():
        match = _ENTRY.fullmatch(path.name)
        if match is None or (match[1] in listed and not path.name.startswith(".")):
            continue
        place = version_path(store, match[1])
        with suppress(OSError):
            if match[1] in listed and path == set_aside(place) and not os.path.lexists(place):
                path.rename(place)
            elif path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def sizes(store: Path, listed: Sequence[str]) -> dict[str, int]:
    """Bytes that each version takes, 0 for one whose folder is gone."""
    found = {}
    for content_hash in listed:
        try:
            found[content_hash] = sum(path.stat().st_size for path in version_path(store, content_hash).iterdir())
        except OSError:
            found[content_hash] = 0
    return found
