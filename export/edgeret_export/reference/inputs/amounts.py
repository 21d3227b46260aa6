"""Numbers and what they count, as people say them in English: "an hour and a half". Knows nothing of parameters."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from edgeret_export.reference.inputs.measures import MONEY, UNITS
from edgeret_export.reference.inputs.numerals import SCALES, numeral


def amount_of(said: str) -> tuple[Decimal, str | None] | None:
    """The number that some words say, and what it measures, in its smallest unit; None for no number or more than one
    unit's."""
    text = said.lower().strip()
    words = re.findall(r"[^\W\d_]+|\d+(?:[.,]\d+)*|[^\w\s]", text)
    if text.startswith("minus ") and (below := amount_of(text.removeprefix("minus "))) is not None:
        return -below[0], below[1]
    if len(words) == 3 and words[1] == ":" and words[0].isdecimal() and re.fullmatch(r"\d\d", words[2]):
        return Decimal(60 * int(words[0]) + int(words[2])), "s"  # "in 31:20"
    total, dimension, at, seen, counted = Decimal(0), None, 0, False, None
    while at < len(words):
        number, end = _read_number(words, at)
        if number is None:
            if words[at] in UNITS and not seen:  # "$5"
                dimension = UNITS[words[at]][0]
            elif words[at] not in _IDLE:
                return None
            at += 1
            continue
        if end < len(words) and words[end] == "-":
            end += 1
        number, end = _and_a_part(words, end, number)
        if words[end : end + 1] and words[end] in _THOUSANDS:  # "$350k", "3k euros"
            money = dimension if end + 1 == len(words) else UNITS.get(words[end + 1], (None,))[0]
            if money in MONEY:
                number, end = number * _THOUSANDS[words[end]], end + 1
        if words[end : end + 1] in (["°"], ["degrees"], ["degree"]) and _is_warmth(words, end + 1):
            end += 1
        if words[end : end + 1] == ["per"] and words[end + 1 : end + 2] == ["cent"]:
            words[end : end + 2] = ["percent"]
        unit = UNITS.get(words[end]) if end < len(words) else None
        if seen and dimension == "s" and words[end : end + 1] == ["m"]:
            unit = UNITS["min"]  # "1h 30m"
        elif seen and unit is None and end == len(words) == at + 1 and words[at].isdecimal() and counted is not None:
            unit = counted  # "1h30"
        if (dimension if unit is None else unit[0]) in MONEY and re.fullmatch(r"\d{1,3}\.\d{3}", words[at]):
            number *= 1000  # nobody counts a thousandth of a euro
        if unit is not None:
            end += 1
            number, end = _and_a_part(words, end, number)
            if seen and unit[0] != dimension:
                return None
            dimension, number = unit[0], number * Decimal(str(unit[1]))
            counted = ("s", unit[1] / 60) if unit[0] == "s" and unit[1] in (60, 3600) else None
        elif seen:
            return None
        total, at, seen = total + number, end, True
    return (total, dimension) if seen else None


def _is_warmth(words: list[str], at: int) -> bool:
    return at < len(words) and words[at] in UNITS and UNITS[words[at]][0] in "CF"


def _and_a_part(words: list[str], at: int, number: Decimal) -> tuple[Decimal, int]:
    """A number with the part of one more that stands behind it: "two and a half"."""
    part = _PARTS.get(" ".join(words[at + 1 : at + 3])) if words[at : at + 1] == ["and"] else None
    return (number, at) if part is None else (number + part, at + 3)


_THOUSANDS = {"k": Decimal(1000), "m": Decimal(1_000_000)}
"""What a letter behind a number says of money."""
_PARTS = {"a half": Decimal("0.5"), "a quarter": Decimal("0.25"), "three quarters": Decimal("0.75")}
_SHORT_PARTS = {"half": Decimal("0.5"), "quarter": Decimal("0.25")}
_IDLE = frozenset(("and", "of", "the", "°", "about", "around", "exactly", "degrees", "degree", ",", "."))


def _read_number(words: list[str], at: int) -> tuple[Decimal | None, int]:
    word = words[at]
    if word[0].isdecimal():
        number, scale = digits(word), SCALES.get((*words[at + 1 : at + 2], "")[0])
        return (number, at + 1) if number is None or scale is None else (number * scale, at + 2)
    if word in _SHORT_PARTS and words[at + 2 : at + 3] != ["dozen"]:
        return _SHORT_PARTS[word], _behind_part(words, at + 1)
    if (part := _PARTS.get(" ".join(words[at : at + 2]))) is not None:
        return part, _behind_part(words, at + 2)
    if word in ("a", "an") and words[at + 1 : at + 2] and words[at + 1] in UNITS:
        return Decimal(1), at + 1
    return numeral(words, at)


def _behind_part(words: list[str], at: int) -> int:
    """Where what a part is of begins: "half an hour", "a quarter of an hour"."""
    at += words[at : at + 2] in (["of", "a"], ["of", "an"])
    return at + (words[at : at + 1] in (["a"], ["an"]))


def digits(text: str) -> Decimal | None:
    """A number in digits: 1,200 and 1.200.000 are whole, 3,5, 3.5 and 1.200,5 are not; None for what may be two."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        text = text.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}", text):
        text = text.replace(".", "").replace(",", ".")
    elif text.count(",") == 1 and "." not in text:
        text = text.replace(",", ".")
    try:
        return Decimal(text) if len(text) <= 18 else None
    except InvalidOperation:
        return None
