"""Writes src/unicode_tables.h: what the core knows of Unicode, as Python's str and unicodedata have it, and letters as
the tokenizers library has them (make_letters.py, which asks it for a minute).

    python core/make_tables.py            writes the file
    python core/make_tables.py --check    fails where the file is another one

The tables are of one Unicode version, the one that docs/FORMAT.md names; only a Python with that one can make them.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import tokenizers
from make_letters import letters

VERSION = "14.0.0"
TARGET = Path(__file__).parent / "src" / "unicode_tables.h"
POINTS = 0x110000
_CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn"
CATEGORIES = _CATEGORIES.split(" ")
ALNUM, SPACE, CASED, PASSED_OVER, CANONICAL, COMPATIBLE = (1 << bit for bit in range(6))
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


def array(kind: str, name: str, values: Iterable[int], shared: bool = False) -> str:
    """One array in C, of one file or shared by all."""
    lines, line = [], ""
    for value in values:
        word = f"{value},"
        if len(line) + len(word) > 118:
            lines.append(line)
            line = ""
        line += word
    lines.append(line)
    return f"{'' if shared else 'static '}const {kind} {name}[] = {{\n" + "\n".join(lines) + "\n};\n"


def utf16(text: str) -> list[int]:
    """Units of UTF-16."""
    data = text.encode("utf-16-le")
    return [data[i] | data[i + 1] << 8 for i in range(0, len(data), 2)]


class Decompositions:
    """Those of one kind: runs of code points, and of each where its units begin in a pool that all share."""

    BITS, LONGEST = 13, 7

    def __init__(self, pool: list[int], texts: dict[int, str]) -> None:
        self.keys, self.places = sorted(texts), []
        for key in self.keys:
            units = utf16(texts[key])
            if len(units) > self.LONGEST:
                units = [len(units), *units]
            at = next((i for i in range(len(pool)) if pool[i : i + len(units)] == units), len(pool))
            if at == len(pool):
                pool += units
            assert at < 1 << self.BITS
            self.places.append(at | (len(units) if len(units) <= self.LONGEST else 0) << self.BITS)

    def write(self, name: str) -> str:
        """Runs by their first code points of 16 bits, those of higher planes behind those of the first one."""
        runs = [i for i, key in enumerate(self.keys) if not i or key != self.keys[i - 1] + 1 or not key & 0xFFFF]
        planes = [sum(self.keys[i] < plane << 16 for i in runs) for plane in range(4)]
        assert all(key < 3 << 16 for key in self.keys)
        return (
            array("uint16_t", f"{name}_planes", planes)
            + array("uint16_t", f"{name}_runs", (part for i in runs for part in (self.keys[i] & 0xFFFF, i)))
            + array("uint16_t", f"{name}_places", self.places)
        )


def compositions() -> list[tuple[int, int, int]]:
    """First, second, and what both make, rising; Hangul apart."""
    found = []
    for point in range(POINTS):
        parts = unicodedata.decomposition(chr(point))
        if not parts or parts.startswith("<") or " " not in parts:
            continue
        one, other = (int(part, 16) for part in parts.split())
        if unicodedata.normalize("NFC", chr(one) + chr(other)) == chr(point):
            found.append((one, other, point))
    return sorted(found)


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
    normal = [unicodedata.normalize(form, chr(point)) for form in ("NFD", "NFKD") for point in range(POINTS)]
    canonical = {p: normal[p] for p in range(POINTS) if p not in HANGUL and normal[p] != chr(p)}
    compatible = {p: normal[POINTS + p] for p in range(POINTS) if p not in HANGUL and normal[POINTS + p] != normal[p]}
    pool: list[int] = []
    kinds = [Decompositions(pool, texts) for texts in (compatible, canonical)]
    pairs = compositions()
    near = [pair for pair in pairs if max(pair) < 1 << 16]
    far = [pair for pair in pairs if max(pair) >= 1 << 16]
    same = caseless()
    return "\n".join(
        (
            f"/* Made by core/make_tables.py from Unicode {VERSION} and tokenizers {tokenizers.__version__}; "
            "not to be edited. */\n",
            f'#define ER_UNICODE "{VERSION}"\n',
            "/* What letters.h tells, category, combining class, flags, by the number that the stages below give. */",
            "static const struct { uint32_t letter; uint8_t category, combining, flags; } records[] = {",
            "\n".join(f"{{{a},{b},{c},{d}}}," for a, b, c, d in different) + "\n};\n",
            staged("record", [number[one] for one in records]),
            "/* What is added for the lower case. */",
            array("int32_t", "lower_steps", steps),
            staged("lower", [step[delta] for delta in deltas]),
            "/* Beside the lower case, where case is ignored: pairs of a code point and the one that stands for it. */",
            array("uint16_t", "caseless", (value for pair in same for value in pair)),
            array("uint32_t", "er_ascii_letters", kinds_of_letters[:128], shared=True),
            "/* Letters and their lower case, where that is another one to tokenizers. */",
            array("uint32_t", "newer", (point for pair in newer for point in pair)),
            "/* Decompositions, all steps at once, in units of UTF-16: where they begin, and above 13 bits how many "
            "there\n   are; 0 where the first unit tells. */",
            array("uint16_t", "units", pool),
            kinds[1].write("canonical"),
            kinds[0].write("compatible"),
            "/* Compositions: first, second, both; rising. Those of higher planes apart. */",
            array("uint16_t", "near_pairs", (value for pair in near for value in pair)),
            array("uint32_t", "far_pairs", (value for pair in far for value in pair)),
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
