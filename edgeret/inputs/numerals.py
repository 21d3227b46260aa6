"""Numbers that a text says, in digits or in English words. Knows nothing of what they count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

_DIGITS = re.compile(r"(?:(?<![^\s(\[{:=])[-+−])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?")
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
NUMERALS = dict(zip(_NUMBER_WORDS.split(), (*range(20), *range(20, 100, 10)), strict=True))


def find_numbers(query: str) -> list[Decimal]:
    """The numbers that stand in a query, without repeats: digits (12, -3.5, 1,200), then English words up to 999
    (forty-five, two hundred and ten), `half` being 0.5."""
    digits = (text.replace(",", "").replace("−", "-") for text in _DIGITS.findall(query))
    found = [Decimal(text) + 0 for text in digits if len(text) <= 18]
    words = re.findall(r"[^\W\d_]+|\d+|[^\w\s-]", query.lower())
    i = 0
    while i < len(words):
        value, end = hundreds(words, i)
        if value is not None:
            found.append(Decimal(value))
        elif words[i] == "half":
            found.append(Decimal("0.5"))
        i = max(end, i + 1)
    return list(dict.fromkeys(found))


def hundreds(words: Sequence[str], start: int) -> tuple[int | None, int]:
    """The number below 1,000 that begins at a word, and where it ends."""
    value, end = _tens(words, start)
    if value is not None and words[end : end + 1] == ["hundred"]:
        start = end + 1 + (words[end + 1 : end + 2] == ["and"])
        rest, behind = _tens(words, start)
        return (100 * value, end + 1) if rest is None else (100 * value + rest, behind)
    return value, end


def _tens(words: Sequence[str], start: int) -> tuple[int | None, int]:
    """The number below 100 (or the "a" of "a hundred") that begins at a word, and where it ends."""
    word, following = (*words[start : start + 2], "", "")[:2]
    if word in ("a", "an") and following in _AFTER_A:
        return 1, start + 1
    value = NUMERALS.get(word)
    behind = start + 2
    if following == "-":
        following, behind = (*words[start + 2 : start + 3], "")[0], start + 3
    if value is not None and value >= 20 and 0 < NUMERALS.get(following, 0) < 10:
        return value + NUMERALS[following], behind
    return value, start + (value is not None)


_AFTER_A = ("hundred",)
