"""Writes src/unicode_tables.h: what the core knows of Unicode, as Python's str and unicodedata have it, and letters as
the tokenizers library has them (make_letters.py, which asks it for a minute).

    python core/make_tables.py            writes the file
    python core/make_tables.py --check    fails where the file is another one

The tables are of one Unicode version, the one that docs/FORMAT.md names; only a Python with that one can make them.
"""

from __future__ import annotations

import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import tokenizers
from arrays import array
from make_letters import letters

VERSION = "14.0.0"
TARGET = Path(__file__).parent / "src" / "unicode_tables.h"
POINTS = 0x110000
_CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn"
CATEGORIES = _CATEGORIES.split(" ")
ALNUM, SPACE, CASED, PASSED_OVER, CANONICAL, COMPATIBLE = (1 << bit for bit in range(6))
MANY = 1 << 16
FAR_PAIRS, MOVED = 0x11000, 0xD000  # compositions from there on are numbers of 16 bits from here on, which none has
NEAR = 0x600  # code points whose records are found at once: Latin, Greek, Cyrillic
HANGUL = range(0xAC00, 0xD7A4)  # taken apart and put together by rule


def is_cased(point: int) -> bool:
    """Whether a capital sigma behind this one alone may be a final one."""
    return f"1{chr(point)}Σ".lower()[-1] == "ς"


def is_passed_over(point: int) -> bool:
    """Whether this one is looked past (Case_Ignorable) where a sigma's neighbours are asked for."""
    return f"A{chr(point)}Σ".lower()[-1] == "ς" and not is_cased(point)


def record(point: int) -> tuple[int, int, int]:
    """Category, combining class and flags."""
    char = chr(point)
    flags = ALNUM * char.isalnum() + SPACE * char.isspace()
    flags += CASED * is_cased(point) + PASSED_OVER * is_passed_over(point)
    if point not in HANGUL:
        flags += CANONICAL * (unicodedata.normalize("NFD", char) != char)
        flags += COMPATIBLE * (unicodedata.normalize("NFKD", char) != unicodedata.normalize("NFD", char))
    return CATEGORIES.index(unicodedata.category(char)), unicodedata.combining(char), flags


def lower(point: int) -> int:
    """What is added to a code point for its lower case, that one alone; of U+0130, which has two, the first."""
    return ord(chr(point).lower()[0]) - point


def caseless() -> list[tuple[int, int]]:
    """What expressions that ignore case take for the same beside what has the same lower case: a code point and the one
    that stands for it. That is simple case folding, and what Python's `re` adds to that of this Unicode version."""
    found = {0x131: ord("i"), 0x1FD3: 0x390, 0x1FE3: 0x3B0, 0xFB06: 0xFB05}
    for point in range(POINTS):
        folded = chr(point).casefold()
        # Of Cherokee the capital letters are those that stand for others.
        if lower(point) == 0 and len(folded) == 1 and folded != chr(point) and folded.lower() != chr(point):
            found[point] = ord(folded)
    return sorted(found.items())


def in_runs(name: str, values: Sequence[int]) -> str:
    """Values of all code points: the first NEAR by themselves; of others blocks of 128, in two stages where their runs
    begin, of each its length less one and the value."""
    runs: list[int] = []
    begins: dict[tuple[int, ...], int] = {}
    numbers = []
    for at in range(0, len(values), 128):
        block = tuple(values[at : at + 128])
        if block not in begins:
            begins[block] = len(runs)
            for value, same in groupby(block):
                runs += [sum(1 for _ in same) - 1, value]
        numbers.append(begins[block])
    first, second = _blocks(numbers, 16)
    assert max(runs) < 256 and len(runs) < MANY
    return (
        f"enum {{ {name.upper()}_NEAR = {NEAR} }};\n"
        + array("uint8_t", f"{name}_near", values[:NEAR])
        + array("uint8_t", f"{name}_blocks", first)
        + array("uint16_t", f"{name}_numbers", second)
        + array("uint8_t", f"{name}_runs", runs)
    )


def staged(name: str, values: Sequence[int]) -> str:
    """Values of all code points in three stages, the smallest: the bits of a block of values and of a block of numbers
    of these, the numbers of such blocks, the numbers, the values."""
    best: tuple[list[int], list[list[int]]] | None = None
    for low in range(3, 7):
        numbers, blocks = _blocks(values, 1 << low)
        for middle in range(3, 8):
            first, second = _blocks(numbers, 1 << middle)
            parts = [first, second, blocks]
            if best is None or sum(map(_bytes, parts)) < sum(map(_bytes, best[1])):
                best = [low, middle], parts
    assert best is not None
    (low, middle), parts = best
    return f"enum {{ {name.upper()}_LOW = {low}, {name.upper()}_MIDDLE = {middle} }};\n" + "".join(
        array("uint8_t" if max(part) < 256 else "uint16_t", f"{name}_{kind}", part)
        for kind, part in zip(("blocks", "numbers", "values"), parts, strict=True)
    )


def _blocks(values: Sequence[int], size: int) -> tuple[list[int], list[int]]:
    """The number of each block of values, and the different ones behind each other."""
    number: dict[tuple[int, ...], int] = {}
    blocks = [(*values[at : at + size], *[0] * (at + size - len(values))) for at in range(0, len(values), size)]
    return [number.setdefault(block, len(number)) for block in blocks], [value for block in number for value in block]


def _bytes(values: Sequence[int]) -> int:
    return len(values) * (1 if max(values) < 256 else 2)


class Decompositions:
    """Unicode's own steps, each code point's into two parts or more, or into another one, as bytes for src/unicode.c.

    Code points that follow one another are a chunk, of CHUNK at most; chunks are found by their first ones. A step is
    told by an operation, its lower three bits, and a number above these:

    0: so many steps into one part, each the next of the one before (of 0 in the beginning of a chunk)
    1: so many steps into one part, each of two bytes
    2 to 6: a step into so many parts. The first is the one before plus the number less 15, or where that is 31 a part
       that follows, as the others do.
    7: the same, into as many parts as the next byte says, and the first follows, too.

    A part is a byte that numbers one of the most frequent, or 192 and more: its bits from 16 on, and two bytes."""

    CHUNK, PARTS, FOLLOWS, MIDDLE = 32, 192, 31, 15

    def __init__(self) -> None:
        steps = {point: found for point in range(POINTS) if (found := step(point))}
        often = Counter(part for parts in steps.values() for part in parts[1:] if part < MANY)
        self.parts = [part for part, _ in sorted(often.most_common(self.PARTS), key=lambda pair: (-pair[1], pair[0]))]
        self.starts: list[tuple[int, int]] = []
        self.data: list[int] = []
        keys = sorted(steps)
        at = 0
        while at < len(keys):
            end = at + 1
            while end < len(keys) and keys[end] == keys[at] + end - at and end - at < self.CHUNK and keys[end] & 0xFFFF:
                end += 1
            self.starts.append((keys[at], len(self.data)))
            self.chunk([steps[key] for key in keys[at:end]])
            at = end
        assert len(self.data) < MANY and max(keys) < 3 << 16

    def part(self, part: int) -> list[int]:
        if part in self.parts:
            return [self.parts.index(part)]
        return [self.PARTS | part >> 16, part >> 8 & 255, part & 255]

    def chunk(self, steps: Sequence[tuple[int, ...]]) -> None:
        """Adds the bytes of one chunk."""
        before, at = 0, 0
        while at < len(steps):
            parts = steps[at]
            rising = lone = 0
            while at + rising < len(steps) and steps[at + rising] == (before + 1 + rising,):
                rising += 1
            while at + lone < len(steps) and len(steps[at + lone]) == 1 and steps[at + lone][0] < MANY:
                if (
                    lone
                    and at + lone + 2 < len(steps)
                    and all(steps[at + lone + k] == (steps[at + lone - 1][0] + 1 + k,) for k in range(3))
                ):
                    break  # rising ones are told by a byte
                lone += 1
            if rising:
                told = min(rising, 31)
                self.data.append(told << 3)
            elif lone:
                told = min(lone, 31)
                self.data.append(told << 3 | 1)
                self.data += [byte for one in steps[at : at + told] for byte in (one[0] >> 8, one[0] & 255)]
            else:
                told, count = 1, len(parts)
                number = parts[0] - before + self.MIDDLE
                if not 0 <= number < self.FOLLOWS or not 2 <= count <= 6:
                    number = self.FOLLOWS
                self.data += [number << 3 | count] if 2 <= count <= 6 else [number << 3 | 7, count]
                for part in parts[number != self.FOLLOWS :]:
                    self.data += self.part(part)
            at += told
            before = steps[at - 1][0]

    def write(self) -> str:
        """Chunks by their first code points of 16 bits, those of higher planes behind those of the first one."""
        planes = [sum(key < plane << 16 for key, _ in self.starts) for plane in range(4)]
        return (
            array("uint16_t", "step_parts", self.parts)
            + array("uint16_t", "step_planes", planes)
            + array("uint16_t", "step_chunks", (part for key, at in self.starts for part in (key & 0xFFFF, at)))
            + array("uint8_t", "steps", self.data)
        )


def step(point: int) -> tuple[int, ...]:
    """What Unicode takes a code point apart to in one step, canonical or not; Hangul has no entries."""
    told = [part for part in unicodedata.decomposition(chr(point)).split() if not part.startswith("<")]
    return tuple(int(part, 16) for part in told) if point not in HANGUL else ()


def compositions() -> list[int]:
    """What two are put together to, by the second and the first one, rising; Hangul apart."""
    found = []
    for point in range(POINTS):
        parts = step(point)
        if len(parts) == 2 and unicodedata.normalize("NFC", "".join(map(chr, parts))) == chr(point):
            found.append((parts[1], parts[0], point))
    points = [point for _, _, point in sorted(found)]
    assert not any(MOVED <= point < FAR_PAIRS for point in points) and max(points) < FAR_PAIRS - MOVED + MANY
    return [point if point < MOVED else point - FAR_PAIRS + MOVED for point in points]


def tables() -> str:
    """The whole file."""
    kinds_of_letters, newer = letters()
    records = [(kind, *record(point)) for point, kind in enumerate(kinds_of_letters)]
    different = sorted(set(records))
    assert len(different) <= 256
    number = {one: i for i, one in enumerate(different)}
    deltas = [lower(point) for point in range(POINTS)]
    steps = [0, *sorted(set(deltas) - {0})]
    assert len(steps) <= 256
    step = {delta: i for i, delta in enumerate(steps)}
    same = caseless()
    return "\n".join(
        (
            f"/* Made by core/make_tables.py from Unicode {VERSION} and tokenizers {tokenizers.__version__}; "
            "not to be edited. */\n",
            f'#define ER_UNICODE "{VERSION}"\n',
            "/* What letters.h tells, category, combining class, flags, by the number that the stages below give. */",
            "static const struct { uint32_t letter; uint8_t category, combining, flags; } records[] = {",
            "\n".join(f"{{{a},{b},{c},{d}}}," for a, b, c, d in different) + "\n};\n",
            in_runs("record", [number[one] for one in records]),
            "/* What is added for the lower case. */",
            array("int32_t", "lower_steps", steps),
            staged("lower", [step[delta] for delta in deltas]),
            "/* Beside the lower case, where case is ignored: pairs of a code point and the one that stands for it. */",
            array("uint16_t", "caseless", (value for pair in same for value in pair)),
            array("uint32_t", "er_ascii_letters", kinds_of_letters[:128], shared=True),
            "/* Letters and their lower case, where that is another one to tokenizers. */",
            array("uint32_t", "newer", (point for pair in newer for point in pair)),
            "/* Decompositions, step by step, and what two parts are put together to (make_tables.py). */",
            Decompositions().write(),
            array("uint16_t", "pairs", compositions()),
        )
    )


def main() -> None:
    """Writes, or checks."""
    if unicodedata.unidata_version != VERSION:
        sys.exit(f"this Python knows Unicode {unicodedata.unidata_version}; one with {VERSION} (3.11) makes the tables")
    text = tables()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != text:
        sys.exit(f"{TARGET} is not what core/make_tables.py makes; run it")


if __name__ == "__main__":
    main()
