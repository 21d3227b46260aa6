"""THE on-disk format: names, version, checks, reading. docs/FORMAT.md is its specification, `edgeret_export.writer`
its other half.

A bundle is a folder. Its `manifest` lists every other file with size and sha256, and is itself hashed; nothing is
given to a parser before its bytes are proved to be the ones that were written. What the files mean is the business of
the rooms that read them.
"""

from __future__ import annotations

import hashlib
import re
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from io import BufferedReader
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO

import msgpack

from edgeret.bundle import roles
from edgeret.bundle.codec import unpack
from edgeret.bundle.folder import Folder, in_folder
from edgeret.bundle.layout import (
    BLOCK,
    FORMAT_VERSION,
    LARGE_ROLES,
    MAGIC,
    MANIFEST,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_MANIFEST_BYTES,
    MAX_ROLE_BYTES,
    MAX_TEXT,
    PRIVATE_ROLES,
    REBUILD,
    FileEntry,
    Manifest,
    check_name,
    manifest_digest,
    wrap,
)
from edgeret.bundle.private_copy import PrivateBytes, private_copy
from edgeret.errors import BundleError, InputError
from edgeret.fields import get
from edgeret.host import available_cpus
from edgeret.quoting import quoted
from edgeret.records import dataclass

if TYPE_CHECKING:
    from edgeret.bundle.signature_trust import Trusted

WORTH_A_THREAD = 4 << 20
"""Bytes beside the largest file from which on a second thread proves files; it takes some 0.1 ms to begin."""


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
    """A bundle whose every known file has been verified; `contents` and, for PRIVATE_ROLES, `private` map a file's name
    to those very bytes, `large` has the files of LARGE_ROLES by role."""

    path: Path
    manifest: Manifest
    contents: dict[str, bytes] = field(repr=False)
    large: dict[str, LargeFile] = field(repr=False)
    private: dict[str, PrivateBytes] = field(repr=False)

    @property
    def size(self) -> int:
        """Bytes of all files together, without the manifest."""
        return sum(f.size for f in self.manifest.files)

    def read(self, role: str) -> bytes:
        """The verified bytes of the file that plays `role`. Raises BundleError if the bundle has none."""
        return self.contents[self._entry(role).name]

    def large_file(self, role: str) -> LargeFile:
        """The file that plays one of LARGE_ROLES. Raises BundleError if the bundle has none."""
        return self.large[self._entry(role).role]

    def private_file(self, role: str) -> PrivateBytes:
        """The verified bytes of the file that plays one of PRIVATE_ROLES. Raises BundleError if the bundle has none."""
        return self.private[self._entry(role).name]

    def _entry(self, role: str) -> FileEntry:
        entry = self.manifest.file(role)
        if entry is None:
            raise BundleError(f'{self.path}: no file with the role "{role}"; {REBUILD}')
        return entry

    def map(self, role: str) -> dict[str, Any]:
        """The msgpack map of the file that plays `role`."""
        return unpack(self.read(role), f"{self.path} ({role})")

    def part(self, name: str) -> Bundle | None:
        """A part as a bundle of its own: its own files and `info`, and what all share. None if there is no such part.
        Raises BundleError for one whose `info` is no map."""
        if name not in self.manifest.info:
            return None
        own = get(self.manifest.info, name, dict, str(self.path))
        playing = {role: roles.of_part(name, role) for role in roles.PART_ROLES} | {r: r for r in roles.SHARED_ROLES}
        files = [replace(f, role=role) for role, played in playing.items() if (f := self.manifest.file(played))]
        info = MappingProxyType({**self.manifest.info, **own})
        return replace(self, manifest=replace(self.manifest, files=tuple(files), info=info))

    def fingerprint(self) -> str:
        """The encoder's fingerprint, which index, graph and head must repeat."""
        where, info = str(self.path), self.manifest.info
        return str(get(get(info, roles.INFO_ENCODER, dict, where), "fingerprint", str, where))


Wanted = Collection[str] | Callable[[Manifest], Collection[str]]
"""Roles, or what tells them by the manifest."""
Signed = Callable[[str], object]
"""Is told a content hash, and raises BundleError unless those whom somebody trusts have signed it."""


def open_bundle(
    path: str | Path,
    *,
    content_hash: str | None = None,
    only: Wanted = MAX_ROLE_BYTES,
    trust: Trusted | Sequence[Trusted] | None = None,
) -> Bundle:
    """Reads and verifies a bundle. Raises BundleError at the first thing that is not as it was written.

    With `content_hash` (hex) it must be that very bundle, and with `trust` (as of `trust_of`) one that those have
    signed; both are checked before its manifest is parsed and any other file opened. Should a writer put another bundle
    in its place meanwhile, that one is read. Of the known roles, `only` these are.
    """
    path, read = Path(path), reading_manifest(path, content_hash, trust)
    return in_folder(path, lambda folder: verified(folder, path, read(folder), only))


def verified(folder: Folder, path: Path, manifest: Manifest, only: Wanted) -> Bundle:
    """Reads and verifies the files that play these roles."""
    read_roles = MAX_ROLE_BYTES.keys() & (only(manifest) if callable(only) else only)
    contents: dict[str, bytes] = {}
    large: dict[str, LargeFile] = {}
    private: dict[str, PrivateBytes] = {}

    def take(entry: FileEntry) -> None:
        if entry.role in LARGE_ROLES:
            large[entry.role] = LargeFile(_open_verified(folder, entry), entry, f"{path / entry.name}")
        elif entry.role in PRIVATE_ROLES:
            private[entry.name] = _private_verified(folder, entry)
        else:
            contents[entry.name] = _read_verified(folder, entry)

    _side_by_side(take, [entry for entry in manifest.files if entry.role in read_roles])
    return Bundle(path, manifest, contents, large, private)


def reading_manifest(
    path: str | Path, content_hash: str | None, trust: Trusted | Sequence[Trusted] | None
) -> Callable[[Folder], Manifest]:
    """What gives the manifest of a folder at `path`, once open; the rest is read now. Raises as `open_bundle` does."""
    wanted, signed = wanted_hash(content_hash), signed_by(path, trust)
    return lambda folder: manifest_of(folder, wanted, signed=signed)


def verify_bundle(
    path: str | Path, *, content_hash: str | None = None, trust: Trusted | Sequence[Trusted] | None = None
) -> Manifest:
    """Proves every listed file, those of unknown roles too, without holding any in memory; `content_hash` and `trust`
    are those of `open_bundle`. Raises BundleError."""
    manifest_of = reading_manifest(path, content_hash, trust)

    def read(folder: Folder) -> Manifest:
        manifest = manifest_of(folder)
        for entry in manifest.files:
            _open_verified(folder, entry).close()
        return manifest

    return in_folder(Path(path), read)


def read_manifest(path: str | Path, *, older: bool = False, signed: Signed | None = None) -> Manifest:
    """The manifest alone, itself verified; the files it lists are not looked at. With `older`, that of an older format
    too, for whoever replaces it; `signed` is asked before it is parsed. Raises BundleError."""
    return in_folder(Path(path), lambda folder: manifest_of(folder, None, older, signed))


def unlisted(path: Path, manifest: Manifest) -> list[str]:
    """Names in the folder that the manifest does not list; loading ignores them, `verify` reports them."""
    listed = {MANIFEST, *(f.name for f in manifest.files)}
    return sorted(p.name for p in path.iterdir() if p.name not in listed)


def wanted_hash(content_hash: str | None) -> str | None:
    """The hash as it is compared. Raises InputError for what can be none."""
    if content_hash is None:
        return None
    wanted = content_hash.strip().lower()
    if not re.fullmatch("[0-9a-f]{64}", wanted):
        raise InputError(
            f"a content hash has 64 hexadecimal digits, found {quoted(content_hash)}; see: edgeret inspect"
        )
    return wanted


def signed_by(path: str | Path, trust: Trusted | Sequence[Trusted] | None) -> Signed | None:
    """Checks a content hash by the signatures beside `path`; None where nobody need have signed it. Raises InputError
    for what is no trust."""
    if trust is None:
        return None
    from edgeret.bundle.signature import read_signatures  # few trust by keys, and nobody else waits for this
    from edgeret.bundle.signature_trust import trust_of

    trusted = trust_of(trust)
    return lambda content_hash: trusted.check(content_hash, read_signatures(path), path)


def manifest_of(
    folder: Folder,
    content_hash: str | None = None,
    older: bool = False,
    signed: Signed | None = None,
    remedy: str = REBUILD,
) -> Manifest:
    """The manifest in an open folder, as `parse_manifest` gives it. Raises BundleError, with the `remedy` where there
    is none."""
    with folder.open_file(MANIFEST, MAX_MANIFEST_BYTES, f"it is not a bundle; {remedy}") as stream:
        data = stream.read(MAX_MANIFEST_BYTES + 1)
    return parse_manifest(data, str(folder.path / MANIFEST), content_hash, older, signed)


def parse_manifest(
    data: bytes, where: str, content_hash: str | None = None, older: bool = False, signed: Signed | None = None
) -> Manifest:
    """The manifest that these bytes are, wherever they lie; `where` is what messages call it. With `content_hash` it
    must be that very one, `signed` is asked before it is parsed, and with `older` one of an older format will do.
    Raises BundleError."""
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
    if version != FORMAT_VERSION and not (older and version < FORMAT_VERSION):
        remedy = (
            "install a newer edgeret" if version > FORMAT_VERSION else "it was built by an older one: build it again"
        )
        raise BundleError(f"{where}: format version {version}, this edgeret reads {FORMAT_VERSION}; {remedy}")
    if content_hash is not None and content_hash != digest.hex():
        raise BundleError(
            f"{where}: another bundle than the one asked for (expected content hash {content_hash}, "
            f"found {digest.hex()}); get it again from where the hash came from"
        )
    if signed is not None:
        signed(digest.hex())
    value = unpack(body, where)
    listed = get(value, "files", list, where)
    if len(listed) > MAX_FILES:
        raise BundleError(f"{where}: lists {len(listed)} files, at most {MAX_FILES} are allowed; {REBUILD}")
    files = tuple(_entry(f, where) for f in listed)
    names = {f.name.lower() for f in files}
    if len(names) != len(files) or len({f.role for f in files}) != len(files):
        raise BundleError(f"{where}: lists a file or a role twice; {REBUILD}")
    return Manifest(version, digest.hex(), files, MappingProxyType(get(value, "info", dict, where)))


def _entry(value: Any, where: str) -> FileEntry:
    if not isinstance(value, dict):
        raise BundleError(f"{where}: a file entry is not a map; {REBUILD}")
    texts = {key: get(value, key, str, where) for key in MAX_TEXT}
    size = get(value, "size", int, where)
    check_name(texts["name"], where)
    long = next((key for key, limit in MAX_TEXT.items() if len(texts[key]) > limit), None)
    if long is not None:
        raise BundleError(f'{where}: "{long}" of {texts["name"]} has {len(texts[long])} characters; {REBUILD}')
    if not 0 <= size <= MAX_ROLE_BYTES.get(texts["role"], MAX_FILE_BYTES):
        raise BundleError(f"{where}: {texts['name']} ({texts['role']}) is said to have {size} bytes; {REBUILD}")
    return FileEntry(size=size, **texts)


def _side_by_side(prove: Callable[[FileEntry], None], entries: Sequence[FileEntry]) -> None:
    """Proves all files, two at a time where they are large: reading and hashing leave other threads alone. Of several
    errors the one of the first file is raised."""
    waiting = sorted(entries, key=lambda entry: entry.size)  # the largest ones are taken first, from the end
    failures: dict[str, BaseException] = {}

    def work() -> None:
        while waiting and not failures:
            try:
                entry = waiting.pop()
            except IndexError:  # the other one took the last
                return
            try:
                prove(entry)
            except BaseException as error:
                failures[entry.name] = error

    second = sum(entry.size for entry in waiting[:-1]) >= WORTH_A_THREAD and available_cpus() > 1
    helper = threading.Thread(target=work, name="edgeret-proving") if second else None
    if helper is not None:
        try:
            helper.start()
        except RuntimeError:  # no thread to be had here
            helper = None
    work()
    if helper is not None:
        helper.join()
    for entry in entries:
        if entry.name in failures:
            raise failures[entry.name]


def _read_verified(folder: Folder, entry: FileEntry) -> bytes:
    with folder.open_file(entry.name, entry.size, REBUILD) as stream:
        data = stream.read(entry.size + 1)
    _check(folder, entry, len(data), hashlib.sha256(data).hexdigest())
    return data


def _private_verified(folder: Folder, entry: FileEntry) -> PrivateBytes:
    """A private copy of the file, proved while it is made."""

    def copy(target: BinaryIO) -> None:
        with folder.open_file(entry.name, entry.size, REBUILD) as stream:
            prove(folder, entry, stream, target)

    try:
        return PrivateBytes(copy)
    except OSError as error:
        where = folder.path / entry.name
        raise BundleError(f"{where}: cannot be copied into memory ({error.strerror or error})") from None


def _open_verified(folder: Folder, entry: FileEntry) -> BufferedReader:
    """The file, open and proved, without having held it in memory."""
    stream = folder.open_file(entry.name, entry.size, REBUILD)
    try:
        prove(folder, entry, stream)
    except BaseException:
        stream.close()
        raise
    return stream


def prove(folder: Folder, entry: FileEntry, stream: BufferedReader, target: BinaryIO | None = None) -> None:
    """Reads a file block by block, into `target` if there is one. Raises BundleError if it is not as it was written."""
    digest, size, buffer = hashlib.sha256(), 0, memoryview(bytearray(BLOCK))
    while size <= entry.size and (count := stream.readinto(buffer)):
        digest.update(buffer[:count])
        size += count
        if target is not None:
            target.write(buffer[:count])
    _check(folder, entry, size, digest.hexdigest())


def _check(folder: Folder, entry: FileEntry, size: int, sha256: str) -> None:
    file = folder.path / entry.name
    if size != entry.size:
        raise BundleError(f"{file}: expected {entry.size} bytes, found {size}; {REBUILD}")
    if sha256 != entry.sha256:
        raise BundleError(f"{file}: altered (expected sha256 {entry.sha256[:16]}…, found {sha256[:16]}…); {REBUILD}")
