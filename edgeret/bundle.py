"""THE on-disk format: names, version, checks, reading. docs/FORMAT.md is its specification, `edgeret.bundle_writer`
its other half.

A bundle is a folder. Its `manifest` lists every other file with size and sha256, and is itself hashed; nothing is
given to a parser before its bytes are proved to be the ones that were written. What the files mean is the business of
the rooms that read them.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import msgpack

from edgeret.codec import get, pack, unpack
from edgeret.errors import BundleError
from edgeret.folder import Folder, in_folder
from edgeret.private_copy import private_copy

MAGIC = "edgeret-bundle"
FORMAT_VERSION = 1
MANIFEST = "manifest"
MAX_MANIFEST_BYTES = 16 << 20
MAX_FILES = 256
MAX_FILE_BYTES = 16 << 30
MAX_ROLE_BYTES: Mapping[str, int] = {
    "encoder": 2 << 30,
    "tokenizer": 64 << 20,
    "tools": 64 << 20,
    "index": 256 << 20,
    "hnsw": 512 << 20,
    "graph": 256 << 20,
    "head": 256 << 20,
    "head-paper": 256 << 20,
    "head-static": 256 << 20,
    "examples": 4 << 20,
    "planner": MAX_FILE_BYTES,
}
"""The roles that readers know, and how large their files may be; judged by the manifest before anything is read."""
LARGE_ROLES = frozenset({"planner"})
"""Files that stay on disk until they are needed, since they would fill the memory; they are verified all the same."""
SPARE_ROLES = frozenset({"head-paper", "head-static"})
"""Files that no decision needs; they are read where they are asked for by name."""
BLOCK = 1 << 20
REBUILD = "copy the bundle again or build it again with: edgeret-export build"


@dataclass(frozen=True, slots=True)
class FileEntry:
    """What the manifest says of one file. `licence` is an SPDX identifier or a name, `source` says where it is from."""

    name: str
    role: str
    size: int
    sha256: str
    licence: str
    source: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The bundle's table of contents. `info` holds what rooms and people need (see docs/FORMAT.md)."""

    version: int
    content_hash: str
    files: tuple[FileEntry, ...]
    info: Mapping[str, Any]

    def file(self, role: str) -> FileEntry | None:
        """The file that plays `role`, or None."""
        return next((f for f in self.files if f.role == role), None)


class LargeFile:
    """A verified file of LARGE_ROLES. It stays open, so that replacing or deleting the bundle does not exchange it."""

    def __init__(self, stream: BinaryIO, entry: FileEntry, where: str) -> None:
        """Takes over an open and verified stream."""
        self.sha256 = entry.sha256
        self.where = where
        self._size = entry.size
        self._stream = stream
        weakref.finalize(self, stream.close)

    @contextmanager
    def private_copy(self) -> Iterator[Path]:
        """A path to a copy that nobody can change, proved again while it is made; the path is good while the context
        lasts, a mapping of it for longer. Raises BundleError if the file was changed since it was verified, or if
        there is no memory for it."""

        def copy(target: BinaryIO) -> None:
            self._stream.seek(0)
            digest, left = hashlib.sha256(), self._size
            while block := self._stream.read(min(BLOCK, left)):
                digest.update(block)
                target.write(block)
                left -= len(block)
            if left or digest.hexdigest() != self.sha256:
                raise BundleError(f"{self.where}: changed since the bundle was loaded; {REBUILD}")

        try:
            with private_copy(copy) as path:
                yield path
        except OSError as error:
            raise BundleError(f"{self.where}: cannot be copied into memory ({error.strerror or error})") from None


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle whose every known file has been verified; `contents` maps a file's name to those very bytes, `large`
    has the files of LARGE_ROLES by role."""

    path: Path
    manifest: Manifest
    contents: dict[str, bytes] = field(repr=False)
    large: dict[str, LargeFile] = field(repr=False)

    @property
    def size(self) -> int:
        """Bytes of all files together, without the manifest."""
        return sum(f.size for f in self.manifest.files)

    def read(self, role: str) -> bytes:
        """The verified bytes of the file that plays `role`. Raises BundleError if the bundle has none."""
        entry = self.manifest.file(role)
        if entry is None:
            raise BundleError(f'{self.path}: no file with the role "{role}"; {REBUILD}')
        return self.contents[entry.name]

    def large_file(self, role: str) -> LargeFile:
        """The file that plays one of LARGE_ROLES. Raises BundleError if the bundle has none."""
        if role not in self.large:
            raise BundleError(f'{self.path}: no file with the role "{role}"; {REBUILD}')
        return self.large[role]

    def map(self, role: str) -> dict[str, Any]:
        """The msgpack map of the file that plays `role`."""
        return unpack(self.read(role), f"{self.path} ({role})")

    def fingerprint(self) -> str:
        """The encoder's fingerprint, which index, graph and head must repeat."""
        return str(get(get(self.manifest.info, "encoder", dict, str(self.path)), "fingerprint", str, str(self.path)))


def encoder_fingerprint(spec: Mapping[str, Any], weights_sha256: str, tokenizer_sha256: str) -> str:
    """Hex sha256 that changes with anything that changes a vector: weights, tokenizer, pooling, prefix, limits."""
    parts = {"weights": weights_sha256, "tokenizer": tokenizer_sha256, **{k: spec[k] for k in sorted(spec)}}
    return hashlib.sha256(pack(parts)).hexdigest()


def check_owner(value: Mapping[str, Any], fingerprint: str, where: str) -> None:
    """Refuses a part that was made for another encoder. Raises BundleError."""
    found = value.get("encoder")
    if found != fingerprint:
        raise BundleError(
            f"{where}: made for another encoder (expected fingerprint {fingerprint[:12]}…, found {str(found)[:12]}…); "
            "its vectors mean something else: build the bundle again"
        )


def open_bundle(path: str | Path, *, content_hash: str | None = None, spare: bool = False) -> Bundle:
    """Reads and verifies a bundle. Raises BundleError at the first thing that is not as it was written.

    With `content_hash` (hex) it must be that very bundle; this is checked before any other file is opened. Files of
    SPARE_ROLES are read if `spare`. Should a writer put another bundle in its place meanwhile, that one is read.
    """
    path = Path(path)

    def read(folder: Folder) -> Bundle:
        manifest = _manifest(folder, content_hash)
        contents: dict[str, bytes] = {}
        large: dict[str, LargeFile] = {}
        for entry in manifest.files:
            if entry.role in LARGE_ROLES:
                large[entry.role] = LargeFile(_open_verified(folder, entry), entry, f"{path / entry.name}")
            elif entry.role in MAX_ROLE_BYTES and (spare or entry.role not in SPARE_ROLES):
                contents[entry.name] = _read_verified(folder, entry)
        return Bundle(path, manifest, contents, large)

    return in_folder(path, read)


def verify_bundle(path: str | Path, *, content_hash: str | None = None) -> Manifest:
    """Proves every listed file, those of unknown roles too, without holding any in memory. Raises BundleError."""

    def read(folder: Folder) -> Manifest:
        manifest = _manifest(folder, content_hash)
        for entry in manifest.files:
            _open_verified(folder, entry).close()
        return manifest

    return in_folder(Path(path), read)


def read_manifest(path: str | Path) -> Manifest:
    """The manifest alone, itself verified; the files it lists are not looked at. Raises BundleError."""
    return in_folder(Path(path), lambda folder: _manifest(folder, None))


def unlisted(path: Path, manifest: Manifest) -> list[str]:
    """Names in the folder that the manifest does not list; loading ignores them, `verify` reports them."""
    listed = {MANIFEST, *(f.name for f in manifest.files)}
    return sorted(p.name for p in path.iterdir() if p.name not in listed)


def wrap(version: int, body: bytes) -> bytes:
    """The manifest's bytes around a body (docs/FORMAT.md, section 2.1)."""
    return bytes(msgpack.packb([MAGIC, version, manifest_digest(version, body), body], use_bin_type=True))


def manifest_digest(version: int, body: bytes) -> bytes:
    """The 32 bytes whose hex form is the content hash."""
    return hashlib.sha256(f"{MAGIC}/{version}\n".encode() + body).digest()


def check_name(name: str, where: str) -> None:
    """Raises BundleError for a name that a bundle's file may not have."""
    plain = name.isascii() and name.replace("-", "").replace("_", "").replace(".", "").isalnum()
    if not plain or name.startswith(".") or name == MANIFEST or len(name) > 100:
        raise BundleError(f"{where}: {name[:120]!r} is no file name that a bundle may hold; {REBUILD}")


def _manifest(folder: Folder, content_hash: str | None) -> Manifest:
    where = str(folder.path / MANIFEST)
    with folder.open_file(MANIFEST, MAX_MANIFEST_BYTES, f"it is not a bundle; {REBUILD}") as stream:
        data = stream.read(MAX_MANIFEST_BYTES + 1)
    damaged = BundleError(f"{where}: damaged (its checksum does not match its content); {REBUILD}")
    try:
        outer = msgpack.unpackb(data, raw=False, use_list=True, max_array_len=4, max_map_len=0)
    except (ValueError, msgpack.exceptions.UnpackException):
        raise damaged from None
    if not isinstance(outer, list) or len(outer) != 4 or outer[0] != MAGIC or type(outer[1]) is not int:
        raise damaged
    _, version, digest, body = outer
    # The checksum covers the version, so a flipped bit there is damage and not "a newer release".
    if not isinstance(body, bytes) or digest != manifest_digest(version, body) or data != wrap(version, body):
        raise damaged
    if version != FORMAT_VERSION:
        raise BundleError(
            f"{where}: format version {version}, this edgeret reads {FORMAT_VERSION}; "
            + ("install a newer edgeret: pip install -U edgeret" if version > FORMAT_VERSION else REBUILD)
        )
    if content_hash is not None and content_hash.lower() != digest.hex():
        raise BundleError(
            f"{folder.path}: another bundle than the one asked for (expected content hash {content_hash[:64]}, "
            f"found {digest.hex()}); get it again from where the hash came from"
        )
    value = unpack(body, where)
    listed = get(value, "files", list, where)
    if len(listed) > MAX_FILES:
        raise BundleError(f"{where}: lists {len(listed)} files, at most {MAX_FILES} are allowed; {REBUILD}")
    files = tuple(_entry(f, where) for f in listed)
    names = {f.name.lower() for f in files}
    if len(names) != len(files) or len({f.role for f in files}) != len(files):
        raise BundleError(f"{where}: lists a file or a role twice; {REBUILD}")
    return Manifest(version, digest.hex(), files, get(value, "info", dict, where))


def _entry(value: Any, where: str) -> FileEntry:
    if not isinstance(value, dict):
        raise BundleError(f"{where}: a file entry is not a map; {REBUILD}")
    texts = {key: get(value, key, str, where) for key in _MAX_TEXT}
    size = get(value, "size", int, where)
    check_name(texts["name"], where)
    long = next((key for key, limit in _MAX_TEXT.items() if len(texts[key]) > limit), None)
    if long is not None:
        raise BundleError(f'{where}: "{long}" of {texts["name"]} has {len(texts[long])} characters; {REBUILD}')
    if not 0 <= size <= MAX_ROLE_BYTES.get(texts["role"], MAX_FILE_BYTES):
        raise BundleError(f"{where}: {texts['name']} ({texts['role']}) is said to have {size} bytes; {REBUILD}")
    return FileEntry(size=size, **texts)


_MAX_TEXT: Mapping[str, int] = {"name": 100, "role": 100, "sha256": 64, "licence": 500, "source": 2_000}
"""Characters of an entry's texts at most."""


def _read_verified(folder: Folder, entry: FileEntry) -> bytes:
    with folder.open_file(entry.name, entry.size, REBUILD) as stream:
        data = stream.read(entry.size + 1)
    _check(folder, entry, len(data), hashlib.sha256(data).hexdigest())
    return data


def _open_verified(folder: Folder, entry: FileEntry) -> BinaryIO:
    """The file, open and proved, without having held it in memory."""
    stream = folder.open_file(entry.name, entry.size, REBUILD)
    try:
        digest, size = hashlib.sha256(), 0
        while size <= entry.size and (block := stream.read(BLOCK)):
            digest.update(block)
            size += len(block)
        _check(folder, entry, size, digest.hexdigest())
    except BaseException:
        stream.close()
        raise
    return stream


def _check(folder: Folder, entry: FileEntry, size: int, sha256: str) -> None:
    file = folder.path / entry.name
    if size != entry.size:
        raise BundleError(f"{file}: expected {entry.size} bytes, found {size}; {REBUILD}")
    if sha256 != entry.sha256:
        raise BundleError(f"{file}: altered (expected sha256 {entry.sha256[:16]}…, found {sha256[:16]}…); {REBUILD}")
