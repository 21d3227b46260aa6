"""A planner of real weights that answers in a fifth of the time: the first layers of SmolLM2 135M with its whole
vocabulary. What it says makes little sense; how it is read, scored, cut off and kept is as of any other."""

from __future__ import annotations

import struct
from pathlib import Path

from shared import once

LAYERS = 4
"""Of 30."""
_WIDTH = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of GGUF's numbers by their type."""
_TEXT, _LIST = 8, 9


def few_layers() -> Path:
    """The file, made once a run."""
    from edgeret_export.sources.cards import find_card
    from edgeret_export.sources.fetch import fetch

    whole = next(fetch(find_card("smollm2-135m-instruct")).glob("*.gguf"))
    return once("planner-of-few-layers.gguf", lambda path: path.write_bytes(_cut(whole.read_bytes(), LAYERS)))


def _cut(data: bytes, layers: int) -> bytes:
    """A model of the first layers of another one."""
    tensors, entries = struct.unpack_from("<QQ", data, 8)
    at, count_at = 24, 0
    for _ in range(entries):
        key, at = _text(data, at)
        at += 4
        if key.endswith(b".block_count"):
            count_at = at
        at = _behind(data, at, *struct.unpack_from("<I", data, at - 4))
    head, named = bytearray(data[:at]), []
    for _ in range(tensors):
        begin = at
        name, at = _text(data, at)
        at += 8 + 8 * struct.unpack_from("<I", data, at)[0]
        named.append((name, data[begin:at], *struct.unpack_from("<Q", data, at)))
        at += 8
    start = -(-at // 32) * 32
    ordered = sorted(offset for _, _, offset in named)
    ends = dict(zip(ordered, [*ordered[1:], len(data) - start], strict=True))
    kept = [one for one in named if not one[0].startswith(b"blk.") or int(one[0].split(b".")[1]) < layers]
    struct.pack_into("<Q", head, 8, len(kept))
    struct.pack_into("<I", head, count_at, layers)
    told, weights = bytearray(), bytearray()
    for _, entry, offset in kept:
        told += entry + struct.pack("<Q", len(weights))
        part = data[start + offset : start + ends[offset]]
        weights += part + bytes(-len(part) % 32)
    front = bytes(head + told)
    return front + bytes(-len(front) % 32) + bytes(weights)


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    """A text, and where it ends."""
    (length,) = struct.unpack_from("<Q", data, at)
    return data[at + 8 : at + 8 + length], at + 8 + length


def _behind(data: bytes, at: int, kind: int) -> int:
    """Where a value ends."""
    if kind == _TEXT:
        return _text(data, at)[1]
    if kind != _LIST:
        return at + _WIDTH[kind]
    each, count = struct.unpack_from("<IQ", data, at)
    at += 12
    for _ in range(count if each in (_TEXT, _LIST) else 0):
        at = _behind(data, at, each)
    return at if each in (_TEXT, _LIST) else at + count * _WIDTH[each]
