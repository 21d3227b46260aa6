"""Classes of characters for src/pattern.c, as Python's `re` reads them: each is compared with what `re` takes for it,
over all code points. Knows nothing of programs."""

from __future__ import annotations

import re
import re._casefix
import re._constants as sre
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

EVERY = [*range(0xD800), *range(0xE000, 0x110000)]
ALL_TEXT = "".join(map(chr, EVERY))
MANY = 0xFFFF  # no letter: a program that may begin anywhere
NEAR, HAN = 0x2100, 0x4E00  # letters of two bytes are up to there, and from there on


def fold(point: int) -> int:
    """What stands for all code points that are the same where case is ignored, as er_caseless has it."""
    point = ord(chr(point).lower()[0])
    others = re._casefix._EXTRA_CASES.get(point)
    return min(point, *others) if others else point


FOLDED = {point: fold(point) for point in EVERY}
CASED = "".join(chr(point) for point in EVERY if FOLDED[point] != point or chr(point).upper() != chr(point))
POINTS = np.array(EVERY)
SEEN = {False: POINTS, True: np.array([*FOLDED.values()])}


def members_of(source: str, flags: int = 0) -> NDArray[np.bool_]:
    """Which of all code points one character's expression matches."""
    found = np.zeros(len(EVERY), bool)
    for run in re.finditer(f"(?:{source})+", ALL_TEXT, flags | re.DOTALL):
        found[run.start() : run.end()] = True
    return found


DECIMAL, WORD, SPACE = map(members_of, (r"\d", r"\w", r"\s"))
CATEGORY = np.where(DECIMAL, 0, np.where(WORD, 1, np.where(SPACE, 2, 3)))  # as in pattern.c


def key(point: Any) -> Any:
    """Of 256 numbers one for a code point, by which a table tells where an expression may begin."""
    return point if isinstance(point, int) and point < 128 else 128 | point & 127


class Set(NamedTuple):
    """A class of characters: a bit for each of ASCII, a bit for each category of others, and ranges of these that are
    the other way round; and the keys of all."""

    ascii: int
    categories: int
    ranges: tuple[tuple[int, int], ...]
    keys: int


@cache
def set_of(source: str, flags: int) -> Set:
    """The class that one character's expression means, proved over all code points."""
    members = members_of(source, flags)
    seen = SEEN[bool(flags & re.IGNORECASE)]
    far = seen >= 128
    kinds = [members[far & (kind == CATEGORY)] for kind in range(4)]
    categories = sum(1 << kind for kind, told in enumerate(kinds) if 2 * np.count_nonzero(told) > len(told))
    usual = (categories >> CATEGORY & 1).astype(bool)
    odd = np.zeros(0x110000, bool)
    odd[seen[far & (members != usual)]] = True
    ascii_ = members[:128]
    told = np.where(far, usual ^ odd[seen], ascii_[np.minimum(seen, 127)])
    if (wrong := POINTS[told != members]).size:
        raise SystemExit(f"{source}: U+{wrong[0]:04X} is not told rightly")
    keys = sum(1 << int(each) for each in np.unique(np.where(far, 128 | seen & 127, seen)[members]))
    ranges = tuple(ranges_of(np.flatnonzero(odd).tolist()))
    return Set(sum(1 << int(at) for at in np.flatnonzero(ascii_)), categories, ranges, keys)


@cache
def letter(point: int, flags: int) -> int:
    """What stands for a letter, proved over all that have case to be what alone the letter matches."""
    folded = FOLDED[point] if flags else point
    matched = {*map(ord, re.findall(re.escape(chr(point)), CASED, flags)), point}
    if folded >= MANY or matched != {p for p in (*map(ord, CASED), point) if (FOLDED[p] if flags else p) == folded}:
        raise SystemExit(f"U+{point:04X} is no plain letter")
    return folded


def letter_bytes(point: int) -> list[int]:
    """A letter as er_next_letter reads it: a byte of ASCII, two of which the first is 128 and more, or 255 and two."""
    if point < 128:
        return [point]
    number = point if point < NEAR else point - HAN + NEAR if point >= HAN else MANY
    return [128 | number >> 8, number & 255] if number < 127 << 8 else [255, point >> 8, point & 255]


def ranges_of(points: Sequence[int]) -> Iterable[tuple[int, int]]:
    """First and last ones of runs."""
    begin = None
    for at, point in enumerate(points):
        begin = point if begin is None else begin
        if at + 1 == len(points) or points[at + 1] != point + 1:
            yield begin, point
            begin = None


def source_of(node: tuple[Any, Any]) -> str | None:
    """A parsed item of one character as an expression again, None for any other item."""
    op, told = node
    if op is sre.LITERAL:
        return re.escape(chr(told))
    if op is sre.NOT_LITERAL:
        return f"[^{re.escape(chr(told))}]"
    if op is sre.ANY:
        return r"[^\n]"
    if op is not sre.IN:
        return None
    names = {
        sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_NOT_DIGIT: r"\D", sre.CATEGORY_SPACE: r"\s",
        sre.CATEGORY_NOT_SPACE: r"\S", sre.CATEGORY_WORD: r"\w", sre.CATEGORY_NOT_WORD: r"\W",
    }  # fmt: skip
    parts = []
    for kind, value in told:
        if kind is sre.NEGATE:
            parts.append("^")
        elif kind is sre.LITERAL:
            parts.append(re.escape(chr(value)))
        elif kind is sre.RANGE:
            parts.append(f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}")
        else:
            parts.append(names[value])
    return f"[{''.join(parts)}]"
