"""The bytes of an overlay: a header and batches of records, each tied to what stands before it (docs/FORMAT.md,
section 15). Opens no file, and knows nothing of what a record means.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from edgeret.bundle.codec import Census, decode
from edgeret.errors import OverlayError
from edgeret.records import dataclass

MAGIC = b"edgeret-overlay\n"
FORMAT_VERSION, KEYED_VERSION = 1, 2
SALT_BYTES = 16
MAX_RECORD_BYTES = 16 << 20
"""Bytes of a batch's body, so of a record too."""
MAX_OVERLAY_BYTES = 64 << 20
"""Some fifty thousand plans with a float16 vector of 384 numbers each."""
MAX_CONTAINERS, MAX_ITEMS = 500_000, 2_000_000
"""Maps and arrays that all batches together may hold, and entries of all of them: 64 bytes and more each in memory."""
MOVE_AWAY = "nothing was changed; bring back a copy of the file, or move it away and begin a new one"
"""How every message about damage ends."""

_HEADER = struct.Struct("<16sI16s32s32s32s")
HEAD = struct.Struct("<4sIQ32s")
DIGEST_BYTES = 32
MARKER = b"\xffrec"  # FF occurs in no UTF-8, so that no text in a record can look like a batch
_KIND = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

HEADER_BYTES = _HEADER.size
_MOST_TORN = HEAD.size + MAX_RECORD_BYTES + DIGEST_BYTES


@dataclass(frozen=True, slots=True)
class Record:
    """One record: what it is called, what it holds, and its place in the file, counted from 0.

    Arrays in `value` are maps as in a bundle's files: `codec.get_array` checks and reads them.
    """

    kind: str
    value: Mapping[str, Any]
    number: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Records that are in a file together or not at all: their bytes, and what every reader finds in these."""

    data: bytes
    records: Sequence[Record]
    census: Census


@dataclasses.dataclass(slots=True)
class Contents:
    """What an overlay's valid bytes hold: `size_bytes` of them, the last batch's digest at their end, made with `key`
    where the file is bound to one."""

    fingerprint: str
    bundle_hash: str
    digest: bytes
    size_bytes: int = HEADER_BYTES
    records: list[Record] = field(default_factory=list)
    census: Census = field(default_factory=lambda: Census(MAX_CONTAINERS, MAX_ITEMS))
    key: bytes | None = field(default=None, repr=False)

    def add(self, batch: Batch) -> None:
        """Adds a batch that was read, or made, for these contents."""
        self.records.extend(batch.records)
        self.census = batch.census
        self.digest = batch.data[-DIGEST_BYTES:]
        self.size_bytes += len(batch.data)


def is_unborn(data: bytes) -> bool:
    """Whether this is a file whose writer died before its header was whole, so that nothing can be lost with it."""
    if len(data) >= HEADER_BYTES and _digest_is_right(data[:HEADER_BYTES]):
        keyed, rest = _HEADER.unpack_from(data)[1] == KEYED_VERSION, data[HEADER_BYTES:]
        return keyed and (len(rest) < DIGEST_BYTES or rest == bytes(DIGEST_BYTES))
    if len(data) > HEADER_BYTES:
        return False
    return MAGIC.startswith(data[: len(MAGIC)].rstrip(b"\0"))  # zeros: where the length came to the disk first


def senseless(error: Exception, where: str) -> OverlayError:
    """What to raise for a record that is refused as a bundle's would be."""
    told = str(error).removeprefix(f"{where}: ").removesuffix("; build the bundle again")
    return OverlayError(f"{where}: a record makes no sense: {told}; {MOVE_AWAY}")


def scan(data: bytes, fingerprint: str, where: str, key: bytes | None = None) -> Contents:
    """What a file's bytes hold, up to the end of its last whole batch.

    Bytes behind that are what a writer left that died while it appended. Raises OverlayError, naming `where`: for what
    is no overlay, a newer one, or another encoder's; where batches are damaged, missing, or another file's; and for a
    file that is not bound to `key`, or with None to any.
    """
    contents = _read_header(data, fingerprint, where, key)
    while batch := _whole_batch(data, contents.size_bytes, key):
        _, _, number, digest = HEAD.unpack_from(batch)
        if digest != contents.digest or number != len(contents.records):
            raise OverlayError(
                f"{where}: at byte {contents.size_bytes} expected record {len(contents.records)}, found {number}, or "
                f"one of another file: something was cut out or put in; {MOVE_AWAY}"
            )
        try:
            contents.add(read_batch(batch, contents))
        except ValueError as error:
            raise OverlayError(f"{where}: at byte {contents.size_bytes}: {error}; {MOVE_AWAY}") from None
    if _more_than_torn(data, contents.size_bytes, key):
        raise OverlayError(
            f"{where}: damaged at byte {contents.size_bytes}, behind {len(contents.records)} good records and before "
            f"others; {MOVE_AWAY}"
        )
    return contents


def _read_header(data: bytes, fingerprint: str, where: str, key: bytes | None) -> Contents:
    if not data.startswith(MAGIC):
        raise OverlayError(f"{where}: not an edgeret overlay; nothing was changed; name another file")
    if len(data) < HEADER_BYTES or not _digest_is_right(data[:HEADER_BYTES]):
        raise OverlayError(f"{where}: its header is damaged; {MOVE_AWAY}")
    _, version, _, encoder, bundle, digest = _HEADER.unpack_from(data)
    if version not in (FORMAT_VERSION, KEYED_VERSION):
        raise OverlayError(
            f"{where}: expected format version {FORMAT_VERSION if key is None else KEYED_VERSION}, found {version}; "
            "nothing was changed; use the release of edgeret that wrote it"
        )
    if version == KEYED_VERSION and key is None:
        raise OverlayError(f"{where}: bound to a device by a key; nothing was changed; give that key")
    if version == FORMAT_VERSION and key is not None:
        raise OverlayError(
            f"{where}: not bound to this device's key, so that anybody may have written it; nothing was changed; "
            "move it away and begin a new one, or give no key"
        )
    if key is not None:
        digest = data[HEADER_BYTES : HEADER_BYTES + DIGEST_BYTES]
        if not hmac.compare_digest(digest_of(data[:HEADER_BYTES], key), digest):
            raise OverlayError(f"{where}: of another device, or altered: its checksum is not by this key; {MOVE_AWAY}")
    if encoder.hex() != fingerprint:
        raise OverlayError(
            f"{where}: learned with another encoder (expected fingerprint {fingerprint[:12]}…, found "
            f"{encoder.hex()[:12]}…), so its vectors mean something else; nothing was changed; use the bundle that it "
            "was made with, or name another file"
        )
    size = HEADER_BYTES if key is None else HEADER_BYTES + DIGEST_BYTES
    return Contents(fingerprint, bundle.hex(), digest, size, key=key)


def read_batch(data: bytes, contents: Contents) -> Batch:
    """A whole batch behind `contents`, decoded. Raises ValueError for what is not a kind and a map for each record."""
    census = Census(MAX_CONTAINERS, MAX_ITEMS)
    census.containers, census.items = contents.census.containers, contents.census.items
    found = decode(data[HEAD.size : -DIGEST_BYTES], census).get("records")
    if not isinstance(found, list) or not all(map(_is_record, found)):
        raise ValueError("expected a map and a kind (1 to 64 characters out of a-z, 0-9 and -) for each record")
    first = len(contents.records)
    return Batch(data, [Record(kind, value, first + place) for place, (kind, value) in enumerate(found)], census)


def digest_of(data: bytes, key: bytes | None = None) -> bytes:
    return hashlib.sha256(data).digest() if key is None else hmac.digest(key, data, "sha256")


def _digest_is_right(data: bytes, key: bytes | None = None) -> bool:
    """Whether these bytes end with the digest of those before it."""
    return hmac.compare_digest(digest_of(data[:-DIGEST_BYTES], key), data[-DIGEST_BYTES:])


def _batch_end(data: bytes, offset: int) -> int:
    """Where the batch that may begin at `offset` ends; 0 if none can."""
    if offset + HEAD.size > len(data):
        return 0
    marker, length, _, _ = HEAD.unpack_from(data, offset)
    end = int(offset + HEAD.size + length + DIGEST_BYTES)
    return end if marker == MARKER and length <= MAX_RECORD_BYTES and end <= len(data) else 0


def _whole_batch(data: bytes, offset: int, key: bytes | None) -> bytes:
    """The batch at `offset`, nothing if it is not there or not whole."""
    batch = data[offset : _batch_end(data, offset)]
    return batch if _digest_is_right(batch, key) else b""


def _more_than_torn(data: bytes, offset: int, key: bytes | None) -> bool:
    """Whether the bytes from `offset` on cannot all be one batch that was cut off: too many, or a whole one follows.

    The search may hash twice as many bytes as there are. Only a forger's markers need more, and are called damage.
    """
    if len(data) - offset > _MOST_TORN:
        return True
    budget = 2 * (len(data) - offset)
    while (offset := data.find(MARKER, offset + 1)) != -1:
        budget -= max(0, _batch_end(data, offset) - offset)
        if budget < 0 or _whole_batch(data, offset, key):
            return True
    return False


def _is_record(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    kind, content = value
    return isinstance(kind, str) and bool(_KIND.fullmatch(kind)) and isinstance(content, dict)
