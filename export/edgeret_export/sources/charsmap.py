"""Writes SentencePiece's charsmap: a trie of bytes, and the texts that characters become. Knows nothing of tokenizers.

The trie is a double array in the layout of Darts-clone, which `reference.encoders.checks.unigram` checks unit by unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_BLOCK, _VALUE, _LEAF = 256, 0x8000_0000, 0x100
MOST_UNITS = 1 << 20


def pack_charsmap(changes: Mapping[str, str]) -> bytes:
    """A charsmap by which every key becomes its value: the trie's size in bytes, the trie, the texts with a zero byte
    behind each. The same changes give the same bytes. Raises ValueError for a key that is empty or holds U+0000."""
    texts, places = bytearray(), dict[str, int]()
    trie: dict[int, Any] = {}
    for key, becomes in sorted(changes.items()):
        if not key or "\0" in key + becomes:
            raise ValueError("a charsmap changes no empty text and no U+0000")
        if becomes not in places:
            places[becomes] = len(texts)
            texts += becomes.encode() + b"\0"
        node: dict[int, Any] = trie
        for code in key.encode():
            node = node.setdefault(code, {})
        node[0] = places[becomes]
    units = _double_array(trie)
    data = b"".join(unit.to_bytes(4, "little") for unit in units)
    return len(data).to_bytes(4, "little") + data + bytes(texts)


def _double_array(trie: dict[int, Any]) -> list[int]:
    """The trie's units, in whole blocks. A node's child with byte c lies at its base ^ c, its value at its base."""
    units: dict[int, int] = {0: 0}
    bases: set[int] = set()
    waiting: list[tuple[int, dict[int, Any]]] = [(0, trie)]
    free = 1
    while waiting:
        place, node = waiting.pop()
        while free in units:
            free += 1
        base = _base(free, list(node), units, bases)
        bases.add(base)
        units[place] |= (place ^ base) << 10 | (_LEAF if 0 in node else 0)
        for code, inner in node.items():
            # Taken at once, so that no other node is put there.
            units[base ^ code] = _VALUE | inner if code == 0 else code
        waiting += [(base ^ code, inner) for code, inner in node.items() if code]
    size = -(-(max(units) + 1) // _BLOCK) * _BLOCK
    return [units.get(i, 0) for i in range(size)]


def _base(free: int, codes: list[int], units: Mapping[int, int], bases: set[int]) -> int:
    """The first base that no other node has and whose places for these bytes are free. With two nodes of one base, a
    byte that only one of them has would lead on from the other."""
    for start in range(free, MOST_UNITS):
        base = start ^ codes[0]
        if base and base not in bases and not any(base ^ code in units for code in codes):
            return base
    raise ValueError(f"a charsmap's trie may have {MOST_UNITS} units at most")
