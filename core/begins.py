"""How what an expression matches may begin: a bit for each three characters that may be its first ones, so that
src/pattern.c leaves most words of a text aside at a glance. Knows nothing of programs."""

from __future__ import annotations

import re._constants as sre
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

LENGTH = 3
SPACE, OTHER = 26, 27  # behind the letters of ASCII in lower case: characters are told apart no further
BITS, FACTOR = 10, 0x9E3779B1  # as in pattern.c
Begins = frozenset[tuple[int, ...]]
"""What a part may begin with: so many characters, or fewer where it ends before; more than it matches, never less."""
NOTHING: Begins = frozenset([()])
Keys = Callable[[Any, Any], int]
"""Of an item of one character the keys of all that it takes; 0 of any other."""
Words = Callable[[int], Iterable[str]]
"""The words that a code point stands for; none where it stands for itself."""


def told_of(items: Sequence[Any], keys: Keys, words: Words) -> tuple[int, ...] | None:
    """The bits for an expression, 32 in each number, in order; None for what begins with no letter, or may be empty."""
    found = _sequence(items, keys, words)
    if () in found or not any(one[0] < SPACE for one in found):
        return None
    bits = 0
    for one in found:
        if one[0] < SPACE:  # others are looked at no further
            for rest in product(range(OTHER + 1), repeat=LENGTH - len(one)):
                bits |= 1 << _place(*one, *rest)
    return tuple(bits >> 32 * part & 0xFFFFFFFF for part in range((1 << BITS) // 32))


def _place(a: int, b: int, c: int) -> int:
    many = OTHER + 1
    return ((a * many + b) * many + c) * FACTOR % (1 << 32) >> 32 - BITS


def _sequence(items: Sequence[Any], keys: Keys, words: Words) -> Begins:
    found = NOTHING
    for op, told in items:
        found = _joined(found, _item(op, told, keys, words))
    return found


def _item(op: Any, told: Any, keys: Keys, words: Words) -> Begins:
    if op is sre.LITERAL and (listed := [*words(told)]):
        return frozenset(tuple(_number(ord(letter)) for letter in word[:LENGTH]) for word in listed)
    if op is sre.BRANCH:
        return frozenset().union(*(_sequence(branch, keys, words) for branch in told[1]))
    if op is sre.SUBPATTERN:
        return _sequence(told[3], keys, words)
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        least, most, items = told
        once = _sequence(items, keys, words)
        found = once if least else NOTHING | once
        for _ in range(min(int(most), LENGTH) - 1):
            found |= _joined(found, once)
        return found
    one = keys(op, told)  # what has no width is looked past
    return frozenset((_number(key),) for key in range(256) if one >> key & 1) if one else NOTHING


def _joined(a: Begins, b: Begins) -> Begins:
    whole = frozenset(one for one in a if len(one) == LENGTH)
    return whole | frozenset((*one, *other)[:LENGTH] for one in a - whole for other in b)


def _number(key: int) -> int:
    letter = key - ord("a")
    return letter if 0 <= letter < SPACE else SPACE if key == ord(" ") else OTHER
