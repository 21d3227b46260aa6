"""The bytes of an overlay, made as the library makes them (docs/FORMAT.md, section 15). Opens no file."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from edgeret.bundle.codec import pack
from edgeret.bundle.overlay import (
    FORMAT_VERSION,
    HEAD,
    KEYED_VERSION,
    MAGIC,
    MARKER,
    MAX_OVERLAY_BYTES,
    MAX_RECORD_BYTES,
    Batch,
    Contents,
    digest_of,
    read_batch,
)
from edgeret.errors import OverlayError
from edgeret.fields import short
from edgeret.quoting import said

_HEX = re.compile(r"[0-9a-f]{64}")


def pack_header(fingerprint: str, bundle_hash: str, salt: bytes, key: bytes | None = None) -> bytes:
    """The first bytes: HEADER_BYTES, and a digest more with a `key` that the file is bound to. `salt`: SALT_BYTES
    random ones, so that no two files have batches in common.

    Raises OverlayError if fingerprint or hash is not 64 lower-case hex digits.
    """
    for name, value in (("fingerprint", fingerprint), ("content hash", bundle_hash)):
        if not _HEX.fullmatch(value):
            raise OverlayError(f"expected a bundle's {name}, 64 lower-case hex digits; found {short(value)}")
    version = struct.pack("<I", FORMAT_VERSION if key is None else KEYED_VERSION)
    start = MAGIC + version + salt + bytes.fromhex(fingerprint) + bytes.fromhex(bundle_hash)
    start += digest_of(start)
    return start if key is None else start + digest_of(start, key)


def pack_batch(records: Sequence[tuple[str, Mapping[str, Any]]], contents: Contents, where: str) -> Batch:
    """The batch that adds these records behind `contents`, which it does not change.

    Raises OverlayError, naming `where`: for a kind that is not 1 to 64 of a-z, 0-9 and -, for a value that is not plain
    data and arrays of `codec.DTYPES`, and for more than a batch or an overlay may hold.
    """
    try:
        body = pack({"records": [list(record) for record in records]})
        head = HEAD.pack(MARKER, len(body), len(contents.records), contents.digest)
        batch = read_batch(head + body + digest_of(head + body, contents.key), contents)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise OverlayError(
            f"{where}: a record that cannot be kept ({said(error)}); nothing was changed; give plain data and arrays"
        ) from None
    size = contents.size_bytes + len(batch.data)
    if len(body) > MAX_RECORD_BYTES or size > MAX_OVERLAY_BYTES:
        raise OverlayError(
            f"{where}: expected at most {MAX_RECORD_BYTES} bytes of records at once and {MAX_OVERLAY_BYTES} in all, "
            f"found {len(body)} and {size}; nothing was changed; give fewer at once, or compact the file"
        )
    return batch
