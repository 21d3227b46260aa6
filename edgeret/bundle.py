"""THE on-disk format: names, version, checks, reading and writing. docs/FORMAT.md is its specification.

A bundle is a folder. Its `manifest` lists every other file with size and sha256, and is itself hashed; nothing is
given to a parser before its bytes are proved to be the ones that were written. What the files mean is the business of
the rooms that read them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import msgpack

from edgeret.codec import get, pack, unpack
from edgeret.errors import BundleError, InputError

MAGIC = "edgeret-bundle"
FORMAT_VERSION = 1
MANIFEST = "manifest"
MAX_MANIFEST_BYTES = 16 << 20
MAX_FILE_BYTES = 16 << 30
MAPPED_ROLES = frozenset({"planner"})
"""Files that stay on disk, since their reader maps them into memory itself; their hash is proved all the same."""
_BLOCK = 1 << 20
_OPEN_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")  # a pipe in a file's place must not make us wait
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


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle whose every byte has been verified; `contents` maps a file's name to those very bytes, without the
    files of MAPPED_ROLES."""

    path: Path
    manifest: Manifest
    contents: dict[str, bytes] = field(repr=False)

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

    def file(self, role: str) -> Path:
        """Where a file of MAPPED_ROLES lies. Raises BundleError if the bundle has none."""
        entry = self.manifest.file(role)
        if entry is None:
            raise BundleError(f'{self.path}: no file with the role "{role}"; {REBUILD}')
        return self.path / entry.name

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


def open_bundle(path: str | Path) -> Bundle:
    """Reads and verifies a whole bundle. Raises BundleError at the first thing that is not as it was written."""
    path = Path(path)
    manifest = read_manifest(path)
    contents: dict[str, bytes] = {}
    for entry in manifest.files:
        if entry.role in MAPPED_ROLES:
            _verify_mapped(path, entry)
        else:
            contents[entry.name] = _read_verified(path, entry)
    return Bundle(path, manifest, contents)


def read_manifest(path: Path) -> Manifest:
    """The manifest alone, itself verified; the files it lists are not looked at. Raises BundleError."""
    file = path / MANIFEST
    where = str(file)
    if not path.is_dir() or not os.path.lexists(file):
        raise BundleError(f"{path}: not a bundle (no {MANIFEST} in it); make one with: edgeret-export build -o {path}")
    data = _read_regular(file, MAX_MANIFEST_BYTES)
    damaged = BundleError(f"{where}: damaged (its checksum does not match its content); {REBUILD}")
    try:
        outer = msgpack.unpackb(data, raw=False, use_list=True)
    except (ValueError, msgpack.exceptions.UnpackException, RecursionError):
        raise damaged from None
    if not isinstance(outer, list) or len(outer) != 4 or outer[0] != MAGIC or type(outer[1]) is not int:
        raise damaged
    _, version, digest, body = outer
    # The checksum covers the version, so a flipped bit there is damage and not "a newer release".
    if not isinstance(body, bytes) or digest != _manifest_digest(version, body) or data != _wrap(version, body):
        raise damaged
    if version != FORMAT_VERSION:
        raise BundleError(
            f"{where}: format version {version}, this edgeret reads {FORMAT_VERSION}; "
            + ("install a newer edgeret: pip install -U edgeret" if version > FORMAT_VERSION else REBUILD)
        )
    value = unpack(body, where)
    files = tuple(_entry(f, where) for f in get(value, "files", list, where))
    names = [f.name for f in files]
    if len({name.lower() for name in names}) != len(names) or len({f.role for f in files}) != len(files):
        raise BundleError(f"{where}: lists a file or a role twice; {REBUILD}")
    return Manifest(version, digest.hex(), files, get(value, "info", dict, where))


def unlisted(bundle: Bundle) -> list[str]:
    """Names in the folder that the manifest does not list; loading ignores them, `verify` reports them."""
    listed = {MANIFEST, *(f.name for f in bundle.manifest.files)}
    return sorted(p.name for p in bundle.path.iterdir() if p.name not in listed)


@contextmanager
def writing(target: str | Path, overwrite: bool = False) -> Iterator[BundleWriter]:
    """A writer whose bundle appears under `target` whole, or not at all.

    Files go to a folder beside the target that is renamed once everything is written and flushed to disk. A bundle
    that stands at the target already is refused, unless `overwrite`; it stays valid until the new one takes its place.
    Raises InputError for a target that cannot be written, and for a disk that fills.
    """
    target = Path(target)
    if os.path.lexists(target) and not (overwrite and (target / MANIFEST).is_file()):
        hint = "choose another folder" if not (target / MANIFEST).is_file() else "give --force to replace the bundle"
        raise InputError(f"{target}: exists already; {hint}")
    temporary: Path | None = None
    try:
        if not target.parent.is_dir():
            raise InputError(f"{target.parent}: no such folder; make it first")
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
        writer = BundleWriter(temporary)
        yield writer
        if not (temporary / MANIFEST).is_file():
            raise InputError(f"{target}: nothing was finished, so nothing was written")
        _swap(temporary, target)
    except OSError as error:
        raise InputError(
            f"{target}: cannot be written ({error.strerror or error}); nothing was left behind. "
            "Make room or choose another folder, then build again"
        ) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


class BundleWriter:
    """Collects a bundle's files in a folder of its own; `finish` writes the manifest, last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: list[FileEntry] = []

    def add(self, name: str, role: str, data: bytes, licence: str, source: str) -> FileEntry:
        """Writes one file and flushes it to disk."""
        _check_name(name, str(self.folder))
        entry = FileEntry(name, role, len(data), hashlib.sha256(data).hexdigest(), licence, source)
        _write_flushed(self.folder / name, data)
        self.entries.append(entry)
        return entry

    def add_file(self, name: str, role: str, file: Path, licence: str, source: str) -> FileEntry:
        """Copies a file that is too large to hold in memory, and flushes the copy to disk."""
        _check_name(name, str(self.folder))
        digest, size = hashlib.sha256(), 0
        with file.open("rb") as stream, (self.folder / name).open("xb") as copy:
            while block := stream.read(_BLOCK):
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
        _write_flushed(self.folder / MANIFEST, _wrap(FORMAT_VERSION, body))
        _flush_folder(self.folder)
        return _manifest_digest(FORMAT_VERSION, body).hex()


def _wrap(version: int, body: bytes) -> bytes:
    return bytes(msgpack.packb([MAGIC, version, _manifest_digest(version, body), body], use_bin_type=True))


def _manifest_digest(version: int, body: bytes) -> bytes:
    return hashlib.sha256(f"{MAGIC}/{version}\n".encode() + body).digest()


def _entry(value: Any, where: str) -> FileEntry:
    if not isinstance(value, dict):
        raise BundleError(f"{where}: a file entry is not a map; {REBUILD}")
    texts = {k: get(value, k, str, where) for k in ("name", "role", "sha256", "licence", "source")}
    size = get(value, "size", int, where)
    _check_name(texts["name"], where)
    if not 0 <= size <= MAX_FILE_BYTES:
        raise BundleError(f"{where}: {texts['name']} is said to have {size} bytes; {REBUILD}")
    return FileEntry(size=size, **texts)


def _check_name(name: str, where: str) -> None:
    plain = name.isascii() and name.replace("-", "").replace("_", "").replace(".", "").isalnum()
    if not plain or name.startswith(".") or name == MANIFEST or len(name) > 100:
        raise BundleError(f"{where}: {name!r} is no file name that a bundle may hold; {REBUILD}")


def _read_regular(file: Path, limit: int) -> bytes:
    """The bytes of a regular file; links are refused, since they lead out of the bundle."""
    with _open_regular(file, limit) as stream:
        return stream.read(limit + 1)


@contextmanager
def _open_regular(file: Path, limit: int) -> Iterator[BinaryIO]:
    try:
        descriptor = os.open(file, os.O_RDONLY | sum(getattr(os, flag, 0) for flag in _OPEN_FLAGS))
    except FileNotFoundError:
        raise BundleError(f"{file}: missing; {REBUILD}") from None
    except OSError as error:
        reason = "a symbolic link" if file.is_symlink() else error.strerror
        raise BundleError(f"{file}: cannot be read ({reason}); {REBUILD}") from None
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise BundleError(f"{file}: not a regular file; {REBUILD}")
        if status.st_size > limit:
            raise BundleError(f"{file}: expected {limit} bytes at most, found {status.st_size}; {REBUILD}")
        yield stream


def _read_verified(folder: Path, entry: FileEntry) -> bytes:
    data = _read_regular(folder / entry.name, entry.size)
    _check(folder / entry.name, entry, len(data), hashlib.sha256(data).hexdigest())
    return data


def _verify_mapped(folder: Path, entry: FileEntry) -> None:
    with _open_regular(folder / entry.name, entry.size) as stream:
        digest, size = hashlib.sha256(), 0
        while block := stream.read(_BLOCK):
            digest.update(block)
            size += len(block)
    _check(folder / entry.name, entry, size, digest.hexdigest())


def _check(file: Path, entry: FileEntry, size: int, sha256: str) -> None:
    if size != entry.size:
        raise BundleError(f"{file}: expected {entry.size} bytes, found {size}; {REBUILD}")
    if sha256 != entry.sha256:
        raise BundleError(f"{file}: altered (expected sha256 {entry.sha256[:16]}…, found {sha256[:16]}…); {REBUILD}")


def _write_flushed(file: Path, data: bytes) -> None:
    with file.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _flush_folder(folder: Path) -> None:
    """Makes the names durable too; Windows has no such call and needs none."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _swap(temporary: Path, target: Path) -> None:
    """Puts the finished folder in place; an old one steps aside, since no folder can be renamed over a full one."""
    temporary.chmod(0o755)
    if not os.path.lexists(target):
        temporary.rename(target)
    else:
        aside = temporary.with_suffix(".old")
        target.rename(aside)
        try:
            temporary.rename(target)
        except OSError:
            aside.rename(target)
            raise
        shutil.rmtree(aside, ignore_errors=True)
    _flush_folder(target.parent)
