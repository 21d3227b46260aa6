"""Writes programs, and what they share, as C: a book for src/pattern.c. Knows nothing of what they are for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arrays import array, structs
from dense import dense
from expressions import Programs

FEW = 256  # numbers of a byte


def bits(number: int) -> str:
    """128 bits as four numbers of 32."""
    return "{" + ",".join(f"0x{number >> 32 * part & 0xFFFFFFFF:x}" for part in range(4)) + "}"


def book(name: str, programs: Programs, entries: Sequence[tuple[int, ...]]) -> str:
    """All programs of a book, by their numbers, as `er_NAME_book`."""
    ranges: list[int] = []
    sets = []
    for each in programs.sets:
        sets.append((bits(each.ascii), len(ranges) // 2, each.categories, len(each.ranges)))
        ranges += [point for pair in each.ranges for point in pair]
    firsts = [(each & (1 << 128) - 1, each >> 128) for each in programs.firsts]
    ascii_, others = (sorted({pair[half] for pair in firsts}) for half in (0, 1))
    code, starts = dense(programs.code, [start for start, *_ in entries])
    if len(code) > 0xFFFF or max(len(ascii_), len(others), *(len(one.ranges) for one in programs.sets)) > FEW:
        raise SystemExit(f"{name}: too much for its numbers")
    parts = ("programs", "code", "sets", "ranges", "firsts", "ascii", "others")
    named = [*(f"{name}_{part}" for part in parts), f"{name}_begins" if programs.begins else "NULL"]
    return "\n".join(
        (
            structs("er_program", f"{name}_programs", ((starts[start], *told) for start, *told in entries)),
            array("uint8_t", f"{name}_code", code),
            structs("er_letters", f"{name}_sets", sets),
            array("uint32_t", f"{name}_ranges", ranges),
            _rows("uint8_t", f"{name}_firsts", 2, (f"{{{ascii_.index(a)},{others.index(b)}}}" for a, b in firsts)),
            _rows("uint32_t", f"{name}_ascii", 4, map(bits, ascii_)),
            _rows("uint32_t", f"{name}_others", 4, map(bits, others)),
            _rows("uint32_t", f"{name}_begins", 32, map(_numbers, programs.begins)) if programs.begins else "",
            f"const er_book er_{name}_book = {{{', '.join(named)}}};\n",
        )
    )


def _numbers(told: Iterable[int]) -> str:
    return "{" + ",".join(map(hex, told)) + "}"


def _rows(kind: str, name: str, columns: int, told: Iterable[str]) -> str:
    return f"static const {kind} {name}[][{columns}] = {{\n" + "".join(f"{one},\n" for one in told) + "};\n"
