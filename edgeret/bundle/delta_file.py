"""What a delta's file holds: a new bundle's manifest, and for each file that an older bundle lacks, how to make it.

docs/FORMAT.md, section 20, specifies it. Reads, checks and writes the file; puts no bundle together. All that a reader
will ever allocate or write is bounded by what is checked here, before the first byte is unpacked.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.codec import unpack
from edgeret.bundle.layout import MAX_MANIFEST_BYTES, FileEntry, Manifest
from edgeret.bundle.reader import Signed, parse_manifest
from edgeret.errors import BundleError
from edgeret.fields import get
from edgeret.records import dataclass

MAGIC = b"edgeret-delta\n"
VERSION = 1
FIXED = struct.Struct("<14sHI")
"""Magic, version, and how many bytes of header follow."""
MAX_HEADER_BYTES = MAX_MANIFEST_BYTES + (1 << 20)
MAX_STEPS, STEP_BYTES = 1 << 20, 24
"""Steps of one file, and bytes of one while they are read."""
STREAMS = ("steps", "differences", "fresh")
"""What each file has, packed one behind the other."""
WIDTHS = (1, 2, 4, 8)
"""Bytes of a number, by whose places a stream's bytes may be sorted before they are packed."""
SLICE = 1 << 16
"""Bytes that are sorted together, a multiple of every width."""
MOST_TIMES, ALWAYS_ALLOWED = 4, 64 << 20
"""A new bundle has at most so many times the bytes of the old one and the delta together, and this much more. Zeros
pack a thousandfold, and steps may copy the same bytes again and again: 40 MB would make terabytes."""
GET_AGAIN = "get the delta again, or the whole bundle"
_HASH = re.compile("[0-9a-f]{64}")
Steps = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one file is made: `steps` in number, bytes that its three streams have packed, and the width by which two of
    them were sorted. `base` is the old file's name, None for a file made of nothing."""

    name: str
    base: str | None
    steps: int
    packed: tuple[int, int, int]
    width: int


@dataclass(frozen=True, slots=True)
class Delta:
    """A delta whose header is proved. `result` is the new manifest, `manifest` its bytes; the packed streams begin at
    `begin`, together `size` bytes of that `sha256`."""

    base: str
    manifest: bytes
    result: Manifest
    recipes: tuple[Recipe, ...]
    begin: int
    size: int
    sha256: str

    @property
    def bytes(self) -> int:
        """Of the whole file."""
        return self.begin + self.size


def most_made(given: int) -> int:
    """Bytes that a new bundle's files may have together, where the old one's and the delta have `given`."""
    return MOST_TIMES * given + ALWAYS_ALLOWED


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """A regular file, open for reading; a pipe in its place makes nobody wait. Raises BundleError."""
    flags = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NONBLOCK", "O_BINARY", "O_CLOEXEC"))
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        raise BundleError(f"{path}: cannot be read ({error.strerror}); name the delta's file") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BundleError(f"{path}: not a regular file; name the delta's file")
        stream = os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
    with stream:
        yield stream


def read_delta(
    stream: BufferedReader, where: str, content_hash: str | None = None, signed: Signed | None = None
) -> Delta:
    """The delta in an open file, all but its streams proved. With `content_hash` its result must be that bundle, and
    `signed` is asked of it before its manifest is parsed. Raises BundleError."""
    length = os.fstat(stream.fileno()).st_size
    fixed = stream.read(FIXED.size)
    if len(fixed) < FIXED.size or fixed[: len(MAGIC)] != MAGIC:
        raise BundleError(f"{where}: no delta of edgeret's; make one with: edgeret-export delta OLD NEW -o FILE")
    _, version, size = FIXED.unpack(fixed)
    if size > MAX_HEADER_BYTES:
        raise BundleError(f"{where}: its header is said to have {size} bytes, at most {MAX_HEADER_BYTES}; {GET_AGAIN}")
    header, digest = stream.read(size), stream.read(hashlib.sha256().digest_size)
    if hashlib.sha256(fixed + header).digest() != digest:
        raise BundleError(f"{where}: damaged or cut short (the checksum of its header does not match); {GET_AGAIN}")
    if version != VERSION:
        raise BundleError(f"{where}: delta version {version}, this edgeret reads {VERSION}; install another edgeret")
    value = unpack(header, where)
    manifest = get(value, "manifest", bytes, where)
    result = parse_manifest(manifest, f"{where} (the new manifest)", content_hash, signed=signed)
    recipes = tuple(_recipe(each, where) for each in get(value, "files", list, where))
    delta = Delta(
        _hash(value, "base", where),
        manifest,
        result,
        recipes,
        len(fixed) + len(header) + len(digest),
        sum(sum(recipe.packed) for recipe in recipes),
        _hash(value, "sha256", where),
    )
    wanted = [entry.name for entry in result.files if entry.name in {recipe.name for recipe in recipes}]
    if wanted != [recipe.name for recipe in recipes]:
        raise BundleError(f"{where}: makes files that the new bundle has not, or not in their order; {GET_AGAIN}")
    if length != delta.bytes:
        raise BundleError(f"{where}: expected {delta.bytes} bytes, found {length}: cut short or damaged; {GET_AGAIN}")
    return delta


def prove_streams(stream: BufferedReader, delta: Delta, where: str) -> None:
    """Raises BundleError unless the packed bytes are those that were written."""
    stream.seek(delta.begin)
    if hashlib.file_digest(stream, "sha256").hexdigest() != delta.sha256:
        raise BundleError(f"{where}: damaged (expected sha256 {delta.sha256[:16]}… of what it packs); {GET_AGAIN}")


def check_base(delta: Delta, old: Manifest, where: str) -> dict[str, FileEntry]:
    """From each new file that is made of nothing but an old one to that one. Raises BundleError for the wrong base, and
    for what cannot be made of it."""
    if old.content_hash != delta.base:
        if old.content_hash == delta.result.content_hash:
            raise BundleError(f"{where}: makes the very bundle that is there already; nothing is to be done")
        raise BundleError(
            f"{where}: made for another bundle than this one (expected content hash {delta.base[:16]}…, found "
            f"{old.content_hash[:16]}…); get the delta for this one, or the whole bundle"
        )
    names = {entry.name for entry in old.files}
    by_content = {(entry.sha256, entry.size): entry for entry in old.files}
    made_here = {recipe.name for recipe in delta.recipes}
    kept = {}
    for entry in delta.result.files:
        if entry.name in made_here:
            continue
        if (entry.sha256, entry.size) not in by_content:
            raise BundleError(f"{where}: says nothing of {entry.name}, which the old bundle lacks; {GET_AGAIN}")
        kept[entry.name] = by_content[entry.sha256, entry.size]
    if any(recipe.base is not None and recipe.base not in names for recipe in delta.recipes):
        raise BundleError(f"{where}: builds on a file that the old bundle lacks; {GET_AGAIN}")
    size = sum(entry.size for entry in delta.result.files)
    allowed = most_made(sum(entry.size for entry in old.files) + delta.bytes)
    if size > allowed:
        raise BundleError(f"{where}: would make {size} bytes, of this base at most {allowed}; {GET_AGAIN}")
    return kept


class Unpacked:
    """A packed stream of a known size, unpacked and put in order slice by slice: no more of it is ever in memory."""

    def __init__(self, stream: BinaryIO, begin: int, packed: int, size: int, width: int, where: str) -> None:
        self._stream, self._at, self._end, self._where = stream, begin, begin + packed, where
        self._inflate, self._left, self._width = zlib.decompressobj(), size, width
        self._slice, self._taken = b"", 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes. Raises BundleError if there are fewer."""
        found = []
        while count:
            if self._taken == len(self._slice):
                self._slice, self._taken = self._next_slice(), 0
            piece = self._slice[self._taken : self._taken + count]
            self._taken += len(piece)
            count -= len(piece)
            found.append(piece)
        return b"".join(found)

    def end(self) -> None:
        """Raises BundleError if there is more."""
        if self._inflated(1) or not self._inflate.eof or self._inflate.unused_data or self._at < self._end:
            raise self._wrong("too many bytes")

    def _next_slice(self) -> bytes:
        wanted, found = min(SLICE, self._left), bytearray()
        while len(found) < wanted:
            piece = self._inflated(wanted - len(found))
            if not piece:
                break
            found += piece
        if not found or len(found) < wanted:
            raise self._wrong("too few bytes")
        self._left -= wanted
        return turned(bytes(found), self._width, 1)

    def _inflated(self, most: int) -> bytes:
        """Some of the next bytes, none at the end."""
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail
            if not packed:
                self._stream.seek(self._at)
                packed = self._stream.read(min(SLICE, self._end - self._at))
                self._at += len(packed)
            try:
                piece = self._inflate.decompress(packed, most)
            except zlib.error as error:
                raise self._wrong(str(error)) from None
            if piece or not packed:
                return piece
        return b""

    def _wrong(self, why: str) -> BundleError:
        return BundleError(f"{self._where}: a stream does not unpack ({why}); {GET_AGAIN}")


def turned(piece: bytes, width: int, way: int) -> bytes:
    whole = len(piece) // width * width
    shape = (-1, width) if way < 0 else (width, -1)
    return np.frombuffer(piece[:whole], np.uint8).reshape(shape).T.tobytes() + piece[whole:]


def read_steps(stream: BinaryIO, begin: int, recipe: Recipe, entry: FileEntry, base: int, where: str) -> Steps:
    """The steps (count, 3) of a file: where in the base, of `base` bytes, it goes on, how many bytes are differences
    from it, and how many fresh ones follow. Raises BundleError for those that lead out of either file."""
    source = Unpacked(stream, begin, recipe.packed[0], STEP_BYTES * recipe.steps, 1, where)
    raw = np.frombuffer(source.take(STEP_BYTES * recipe.steps), "<i8").reshape(3, -1)
    source.end()
    # Bounded first, so that no sum of them wraps around.
    if not ((raw >= -base).all() and (raw <= max(base, entry.size)).all() and (raw[1:] >= 0).all()):
        raise BundleError(f"{where}: {entry.name}: a step leads out of the files; {GET_AGAIN}")
    steps = raw.T.astype(np.int64)
    # Stored are jumps from where the last step ended: in files that are alike they are zeros.
    steps[:, 0] = np.cumsum(raw[0] + np.concatenate(([0], raw[1][:-1])))
    inside = (steps[:, 0] >= 0).all() and (steps[:, 0] + steps[:, 1] <= base).all()
    if not inside or int(steps[:, 1:].sum()) != entry.size:
        raise BundleError(f"{where}: {entry.name}: its steps do not make {entry.size} bytes; {GET_AGAIN}")
    return steps


def _recipe(value: Any, where: str) -> Recipe:
    if not isinstance(value, dict):
        raise BundleError(f"{where}: what it says of a file is no map; {GET_AGAIN}")
    name, steps = get(value, "name", str, where), get(value, "steps", int, where)
    base, packed, width = value.get("from"), get(value, "packed", list, where), get(value, "width", int, where)
    sizes = len(packed) == len(STREAMS) and all(type(size) is int and 0 < size < 1 << 40 for size in packed)
    if not (1 <= steps <= MAX_STEPS and sizes and width in WIDTHS and (base is None or isinstance(base, str))):
        raise BundleError(f"{where}: {name[:100]!r}: impossible numbers of steps or bytes; {GET_AGAIN}")
    return Recipe(name, base, steps, (packed[0], packed[1], packed[2]), width)


def _hash(value: Mapping[str, Any], key: str, where: str) -> str:
    found = str(get(value, key, str, where))
    if not _HASH.fullmatch(found):
        raise BundleError(f'{where}: "{key}" is no hash; {GET_AGAIN}')
    return found
