"""Writes a delta: what a device that has the older bundle needs to make the newer one. `edgeret apply` makes it.

Files that both have are named by their hashes and no more; of the others go what they do not share with an old one
(`alike`), packed by zlib, which every device has. Knows nothing of what the files mean.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import pack
from edgeret.bundle.delta import apply_delta
from edgeret.bundle.delta_file import FIXED, MAGIC, MAX_STEPS, SLICE, VERSION, WIDTHS, Recipe, Steps, most_made, turned
from edgeret.bundle.folder import Folder, in_folder
from edgeret.bundle.layout import BLOCK, MANIFEST, MAX_MANIFEST_BYTES, FileEntry, Manifest
from edgeret.bundle.reader import parse_manifest, verify_bundle
from edgeret.errors import BundleError, InputError
from edgeret.terminal.console import check_place
from edgeret_export.alike import steps

MOST_COMPARED = 512 << 20
"""Bytes of a file that is compared with an old one; comparing takes twenty times as much memory. Larger ones are packed
whole."""
LEVEL = 9
_CHANGED = "changed while it was read; make the delta again"


@dataclass(frozen=True, slots=True)
class Written:
    """A delta that was written, and proved by making the bundle with it. `files`: how many bytes each takes."""

    path: Path
    size: int
    base: str
    result: str
    bundle_size: int
    kept: int
    files: dict[str, int]


def write_delta(old: Path, new: Path, target: Path) -> Written:
    """Writes to `target` what makes the bundle `new` of the bundle `old`; whole or not at all, over what stands there.

    Raises BundleError for a bundle that is not whole, InputError for a target that cannot be written, and where the
    newer one has so little of the older one that readers would refuse the delta.
    """
    check_place(target, "--output")
    result = verify_bundle(new)
    with _partial(target) as partial:
        base, recipes = in_folder(old, lambda source: _fill(source, new, result, partial))
        _check_size(base, result, partial, target)
        _prove(old, partial, result, target)
    return Written(
        target,
        target.stat().st_size,
        base.content_hash,
        result.content_hash,
        sum(entry.size for entry in result.files),
        len(result.files) - len(recipes),
        {recipe.name: sum(recipe.packed) for recipe in recipes},
    )


def _fill(old: Folder, new: Path, result: Manifest, partial: Path) -> tuple[Manifest, list[Recipe]]:
    with old.open_file(MANIFEST, MAX_MANIFEST_BYTES, "it is not a bundle") as stream:
        base = parse_manifest(stream.read(), str(old.path / MANIFEST), older=True)
    there = {(entry.sha256, entry.size) for entry in base.files}
    recipes = []
    with tempfile.TemporaryFile(dir=partial.parent) as streams:
        for entry in result.files:
            if (entry.sha256, entry.size) not in there:
                recipes.append(_pack(old, _alike_in(base, entry), new, entry, streams))
        digest = hashlib.sha256()
        for block in _blocks(streams):
            digest.update(block)
        with partial.open("xb") as file:
            file.write(header_of(base.content_hash, (new / MANIFEST).read_bytes(), recipes, digest.hexdigest()))
            for block in _blocks(streams):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
    return base, recipes


def _alike_in(base: Manifest, entry: FileEntry) -> FileEntry | None:
    """The old file that a new one is compared with: of the same role, else of the same name."""
    found = base.file(entry.role) or next((old for old in base.files if old.name == entry.name), None)
    return None if found is None or max(found.size, entry.size) > MOST_COMPARED else found


def _pack(old: Folder, base: FileEntry | None, new: Path, entry: FileEntry, streams: BinaryIO) -> Recipe:
    """Writes the streams of one file behind those that are there, and says how the file is made of them."""
    if base is None and entry.size > MOST_COMPARED:
        found = [zlib.compress(packed_steps(np.array([[0, 0, entry.size]])), LEVEL), zlib.compress(b"", LEVEL)]
        sizes = [streams.write(each) for each in found]
        return Recipe(entry.name, None, 1, (sizes[0], sizes[1], _packed_whole(new / entry.name, entry, streams)), 1)
    after = _proved((new / entry.name).read_bytes(), entry, new)
    before = b""
    if base is not None:
        with old.open_file(base.name, base.size, "the old bundle is not whole") as stream:
            before = _proved(stream.read(), base, old.path)
    whole = np.array([[0, 0, len(after)]], np.int64)
    tried: list[tuple[str | None, NDArray[np.int64], int, list[bytes]]] = [(None, whole, *_smallest(b"", after, whole))]
    if base is not None:
        tried += [(base.name, how, *_smallest(before, after, how)) for how in _ways(before, after)]
    name, how, width, packed = min(tried, key=lambda each: sum(map(len, each[3])))
    sizes = [streams.write(each) for each in packed]
    return Recipe(entry.name, name, len(how), (sizes[0], sizes[1], sizes[2]), width)


def _ways(before: bytes, after: bytes) -> Iterator[NDArray[np.int64]]:
    """Steps that may be worth it: by what agrees, and byte by byte where both are as long."""
    if len(found := steps(before, after)) <= MAX_STEPS:
        yield found
    if before and len(before) == len(after):
        yield np.array([[0, len(after), 0]], np.int64)


def _smallest(before: bytes, after: bytes, how: NDArray[np.int64]) -> tuple[int, list[bytes]]:
    """The width by which the streams pack best, and the three of them."""
    old, new = np.frombuffer(before, np.uint8), np.frombuffer(after, np.uint8)
    differences, fresh, at = [], [], 0
    for place, same, more in how.tolist():
        differences.append(new[at : at + same] - old[place : place + same])
        fresh.append(new[at + same : at + same + more])
        at += same + more
    both = [np.concatenate(each).tobytes() if each else b"" for each in (differences, fresh)]
    first = zlib.compress(packed_steps(how), LEVEL)
    tried = {width: [zlib.compress(sorted_bytes(each, width), LEVEL) for each in both] for width in WIDTHS}
    best = min(tried, key=lambda width: sum(map(len, tried[width])))
    return best, [first, *tried[best]]


def _packed_whole(file: Path, entry: FileEntry, streams: BinaryIO) -> int:
    digest, size, deflate = hashlib.sha256(), 0, zlib.compressobj(LEVEL)
    with file.open("rb") as stream:
        for block in _blocks(stream):
            digest.update(block)
            size += streams.write(deflate.compress(block))
    if digest.hexdigest() != entry.sha256:
        raise BundleError(f"{file}: {_CHANGED}")
    return size + streams.write(deflate.flush())


def _proved(data: bytes, entry: FileEntry, folder: Path) -> bytes:
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise BundleError(f"{folder / entry.name}: {_CHANGED}, or copy the bundle again")
    return data


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    stream.seek(0)
    while block := stream.read(BLOCK):
        yield block


def _check_size(base: Manifest, result: Manifest, partial: Path, target: Path) -> None:
    """Raises InputError where readers would take it for a bomb."""
    size = sum(entry.size for entry in result.files)
    allowed = most_made(sum(entry.size for entry in base.files) + partial.stat().st_size)
    if size > allowed:
        raise InputError(
            f"{target}: not written; the newer bundle has {size} bytes and the older one too few of them (a delta may "
            f"make {allowed}); send the newer bundle itself"
        )


def _prove(old: Path, partial: Path, result: Manifest, target: Path) -> None:
    """Makes the bundle with the delta, and lets it go again."""
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=partial.parent) as folder:
        apply_delta(old, partial, Path(folder) / "bundle", content_hash=result.content_hash, link=True)
        shutil.rmtree(Path(folder) / "bundle")


@contextmanager
def _partial(target: Path) -> Iterator[Path]:
    """A place beside the target for a file that then takes its place. Raises InputError where it cannot be written."""
    place = target.resolve() if target.is_symlink() else target
    partial = place.with_name(f".{place.name}.{secrets.token_hex(4)}.partial")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        partial.replace(place)
    except OSError as error:
        raise InputError(
            f"{target}: cannot be written ({error.strerror or error}); make room, or give another place with --output"
        ) from None
    finally:
        partial.unlink(missing_ok=True)


def sorted_bytes(data: bytes, width: int) -> bytes:
    """Slice by slice, the first bytes of all numbers, then the second ones, and so on; what fills no number stays
    behind. Floats that are alike have like first bytes, which pack better together."""
    return b"".join(turned(data[at : at + SLICE], width, -1) for at in range(0, len(data), SLICE))


def packed_steps(steps: Steps) -> bytes:
    """Steps as a delta keeps them, before they are packed."""
    jumps = steps[:, 0] - np.concatenate(([0], (steps[:, 0] + steps[:, 1])[:-1]))
    return np.stack((jumps, steps[:, 1], steps[:, 2])).astype("<i8").tobytes()


def header_of(base: str, manifest: bytes, recipes: Sequence[Recipe], sha256: str) -> bytes:
    """All that stands before the streams."""
    files = [
        {"name": r.name, "from": r.base, "steps": r.steps, "packed": list(r.packed), "width": r.width} for r in recipes
    ]
    body = pack({"base": base, "manifest": manifest, "sha256": sha256, "files": files})
    head = FIXED.pack(MAGIC, VERSION, len(body)) + body
    return head + hashlib.sha256(head).digest()
