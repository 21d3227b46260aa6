"""Large numbers that a text says in English words. Knows nothing of what they count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from edgeret.inputs.numerals import hundreds

SCALES = {"thousand": Decimal(1000), "million": Decimal(1_000_000), "dozen": Decimal(12)}
_WHOLE: Mapping[tuple[str, ...], int] = {
    ("half", "a", "dozen"): 6,
    ("a", "dozen"): 12,
    ("a", "couple"): 2,
    ("once",): 1,
    ("twice",): 2,
}
"""Numbers that are no sum of others."""
_BEHIND = {**SCALES, "hundred": Decimal(100)}
"""What makes those more: "a couple of hundred"."""


def numeral(words: Sequence[str], start: int) -> tuple[Decimal | None, int]:
    """The number that begins at a word in lower case, up to millions, and where it ends; None where none does. A dash
    between its words may be one of the words."""
    for said, told in _WHOLE.items():
        end = start + len(said)
        if tuple(words[start:end]) == said:
            behind = end + (words[end : end + 1] == ["of"])
            scale = _BEHIND.get(words[behind]) if behind < len(words) else None
            return (Decimal(told), end) if scale is None else (told * scale, behind + 1)
    total: Decimal | None = None
    at = start
    while at < len(words):
        value, end = hundreds(words, at)
        if value is None:
            break
        scale = SCALES.get(words[end]) if end < len(words) else None
        total = (total or Decimal(0)) + value * (scale or 1)
        at = end
        if scale is None:
            break
        at += 1
    return (None, start) if total is None else (total, at)
