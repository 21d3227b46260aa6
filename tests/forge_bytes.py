"""Families of forgeries of any file's bytes, and of what the encoder's spec claims.

As in forge_fields.py, a family makes the same forgery of the same number and says what it did.
"""

from __future__ import annotations

import random

from forge import Forgery
from forge_fields import Family, cell

FRONT = 16_384
"""Bytes at a file's beginning that are spoilt; what comes behind, in a language model, is nothing but weights."""
VALUES = (0, 1, -1, 2, 3, 25, 36, 63, 64, 1000, 2**16, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63))


def spoil_bytes(data: bytes, number: int) -> tuple[bytes, str]:
    """Flips, cuts, doubles or exchanges a few bytes, or writes a large number over some."""
    chance = random.Random(number)
    where = chance.randrange(len(data))
    match number % 8:
        case 0 | 1:
            changed = bytearray(data)
            for _ in range(chance.choice((1, 1, 2, 8))):
                changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            return bytes(changed), "bits flipped"
        case 2:
            return data[:where], f"cut at {where}"
        case 3:
            length = chance.choice((1, 2, 4, 8, 100))
            return data[:where] + data[where + length :], f"{length} bytes less at {where}"
        case 4:
            return data[:where] + chance.randbytes(chance.choice((1, 4, 100))) + data[where:], f"bytes more at {where}"
        case 5:
            size = chance.choice((1, 4, 8))
            value = chance.choice(VALUES) % (1 << 8 * size)
            return data[:where] + value.to_bytes(size, "little") + data[where + size :], f"{value} at {where}"
        case 6:
            other = chance.randrange(len(data))
            piece = data[other : other + chance.choice((4, 16, 200))]
            return data[:where] + piece + data[where + len(piece) :], f"bytes of {other} at {where}"
        case _:
            return data[:where] + data[where:] * 2, f"all from {where} twice"


def bytes_of(role: str) -> Family:
    """A family over a file's bytes."""

    def family(forgery: Forgery, number: int) -> str:
        data = forgery.files[role]
        spoilt, what = spoil_bytes(data[:FRONT], number)
        forgery.files[role] = spoilt + data[FRONT:]
        return f"{role}: {what}"

    return family


def spec(forgery: Forgery, number: int) -> str:
    """Sizes and prefixes that the encoder's spec claims."""
    sizes = (1, 2, 3, 23, 25, 63, 65, 128, 65_535, 65_536, 65_537, 0, -1)
    prefixes = ("x", "query: ", "a " * 5_000, "\0", "\ud800", "\x1b[31m", "é" * 300_000, "", " ")
    key, size, prefix = cell(number, 3, len(sizes), len(prefixes))
    stored = forgery.info["encoder"]["spec"]
    if key == 2:
        stored["query_prefix"] = prefixes[prefix]
        return f"spec: query_prefix {prefixes[prefix][:20]!r}"
    stored[("dimension", "max_tokens")[key]] = sizes[size]
    return f"spec: {('dimension', 'max_tokens')[key]} {sizes[size]}"


BYTES: dict[str, Family] = {
    "encoder-bytes": bytes_of("encoder"),
    "tokenizer-bytes": bytes_of("tokenizer"),
    "spec": spec,
}
