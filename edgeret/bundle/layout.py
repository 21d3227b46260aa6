"""THE on-disk format: names, roles, limits, the manifest's bytes. docs/FORMAT.md specifies it. Opens no file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgpack

from edgeret.bundle import roles
from edgeret.bundle.codec import pack
from edgeret.errors import BundleError
from edgeret.fields import get
from edgeret.records import dataclass

MAGIC = "edgeret-bundle"

FORMAT_VERSION = 11

MANIFEST = "manifest"

MAX_MANIFEST_BYTES = 16 << 20

MAX_FILES = 256

MAX_FILE_BYTES = 16 << 30

_MAX_BYTES = {
    roles.ENCODER: 2 << 30,
    roles.ENCODER_ARRAYS: 64 << 20,
    roles.TOKENIZER: 64 << 20,
    roles.WORD_VECTORS: 64 << 20,
    roles.TOOLS: 64 << 20,
    roles.WORDS: 256 << 20,
    roles.INDEX: 256 << 20,
    roles.HNSW: 512 << 20,
    roles.GRAPH: 256 << 20,
    roles.HEAD: 256 << 20,
    roles.MEMORY: 64 << 20,
    roles.FAMILIARITY: 64 << 20,
    roles.ARGUMENTS: 64 << 20,
    roles.EXEMPLARS: 4 << 20,
    roles.PLANNER: MAX_FILE_BYTES,
    roles.TABLE: 512 << 20,
    **dict.fromkeys(roles.VARIANT_ROLES, 2 << 30),
}
MAX_ROLE_BYTES: Mapping[str, int] = _MAX_BYTES | {
    roles.of_part(roles.STATIC, role): _MAX_BYTES[role] for role in roles.PART_ROLES
}
"""The roles that readers know, and how large their files may be; judged by the manifest before anything is read."""

LARGE_ROLES = frozenset({roles.PLANNER})
"""Files that stay on disk until they are needed, since they would fill the memory; they are verified all the same."""

PRIVATE_ROLES = frozenset({roles.ENCODER, *roles.VARIANT_ROLES})
"""Files that a native library reads by itself, from a copy that nobody can change."""


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

    @property
    def encoder(self) -> FileEntry | None:
        """The file with the encoder's weights, a graph or codes; None where a table or graphs for other hardware are in
        its place."""
        return self.file(roles.ENCODER) or self.file(roles.ENCODER_ARRAYS)

    @property
    def fingerprint(self) -> str:
        """The encoder's, which what was learned with it repeats. Raises BundleError where there is none."""
        return str(get(get(self.info, roles.INFO_ENCODER, dict, "manifest"), "fingerprint", str, "manifest"))


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


MAX_TEXT: Mapping[str, int] = {"name": 100, "role": 100, "sha256": 64, "licence": 500, "source": 2_000}
"""Characters of an entry's texts at most."""
