"""Makes charsmaps as SentencePiece writes them: a double array of bytes, and texts. Small, for tests and tables."""

from __future__ import annotations

import struct
from collections.abc import Mapping

BLOCK = 256


def charsmap(replacements: Mapping[str, str]) -> bytes:
    """The charsmap that replaces each of these texts by another."""
    texts, places = bytearray(b"\0"), {}
    for text in replacements.values():
        if text not in places:
            places[text] = len(texts)
            texts += text.encode() + b"\0"
    tree: dict[int, object] = {}
    for key, text in replacements.items():
        node = tree
        for byte in key.encode():
            node = node.setdefault(byte, {})  # type: ignore[assignment]
        node[0] = places[text]
    units, used = [0] * BLOCK, [False] * BLOCK
    used[0] = True
    hint = [0]

    def grow(size: int) -> None:
        while len(units) < size:
            units.extend([0] * BLOCK)
            used.extend([False] * BLOCK)

    def place(node: Mapping[int, object], at: int) -> None:
        labels = sorted(node)
        base = hint[0]
        while True:
            grow(base + BLOCK)
            # An offset of more than 21 bits is kept in steps of 256.
            offset = base ^ at
            if (offset < 1 << 21 or offset % 256 == 0) and not any(used[base ^ label] for label in labels):
                break
            base += 1
        if len(labels) == 1 and labels[0] == 0:
            hint[0] = base
        for label in labels:
            used[base ^ label] = True
        units[at] |= offset << 10 if offset < 1 << 21 else (offset >> 8) << 10 | 0x200
        for label in labels:
            below = node[label]
            if label == 0:
                units[at] |= 0x100
                units[base] = 0x80000000 | below  # type: ignore[operator]
            else:
                units[base ^ label] = label
        for label in labels:
            if label:
                place(node[label], base ^ label)  # type: ignore[arg-type]

    place(tree, 0)
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + bytes(texts)
