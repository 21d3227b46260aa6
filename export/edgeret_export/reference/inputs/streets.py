"""Where a street stands with its number: "12 Baker Street", "10 downing st", "12 rue de la paix". Knows nothing of
tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edgeret_export.reference.inputs.units import Reading, Unit
from edgeret_export.reference.inputs.when_patterns import STREET_ENDS, STREETS

_COUNTED = ("phone", "date", "time", "duration", "percent", "money", "measure", "serial")
_OF = frozenset(("of", "the", "some", "l", "d", "'", "’", ""))
"""What may stand between a street's words, as other languages have it in English."""
_WORD_ENDS = ("straße", "strasse", "str", "gasse", "allee", "weg")
_LEAST_NAMED = 3
"""Letters in front of these."""
_BREAK_WORDS = (
    "about after and around as at before behind between by for from in into is are it my near next or over past per "
    "please than that the this till to toward towards under until up us via with within a an of"
)
_BREAKS = frozenset(_BREAK_WORDS.split(" "))
"""Words that are no part of a street's name."""
_MOST_WORDS, _MOST_BEHIND = 3, 6


def streets(reading: Reading) -> Iterator[tuple[str, int, int]]:
    """Runs with a number that is no day's, no time's and no amount's: of capitals behind it, or of words
    of which one says that it is a street."""
    units = reading.units
    counted = [match for kind in _COUNTED for match in reading.matches.get(kind, ())]

    def is_house(at: int) -> bool:
        return units[at].text[0].isdecimal() and not any(one.first <= at < one.last for one in counted)

    for name in reading.matches.get("name", ()):
        if name.first and is_house(name.first - 1):
            yield "name", name.first - 1, name.last
    for at, unit in enumerate(units):
        if is_house(at):
            last = _behind_number(units, at)
            if last > at:
                yield "name", at, last
        elif unit.lower in STREETS and (at == 0 or not units[at - 1].text[0].isdecimal()):
            last = _run(units, at + 1)
            if at + 1 < last < len(units) and is_house(last):
                yield "name", at, last + 1
        elif _names_street(unit):
            last = at + 1 + (at + 1 < len(units) and units[at + 1].text == ".")
            if last < len(units) and is_house(last):
                yield "name", at, last + 1


def _behind_number(units: Sequence[Unit], at: int) -> int:
    """Where the street behind a number ends; `at` if there is none."""
    if at + 1 < len(units) and units[at + 1].lower in STREETS:
        last = _run(units, at + 2)
        if last > at + 2:
            return last
    found = at
    for end in range(at + 1, min(len(units), at + 2 + _MOST_WORDS)):
        if not _is_plain(units[end]) or units[end].lower in _BREAKS:
            break
        if end > at + 1 and units[end].lower in STREET_ENDS:
            found = end + 1
    return found


def _run(units: Sequence[Unit], first: int) -> int:
    """Where the words of a street's name end, those that join them not the last."""
    last = first
    for end in range(first, min(len(units), first + _MOST_BEHIND)):
        unit = units[end]
        if unit.lower in _OF:
            continue
        if not _is_plain(unit) or unit.lower != unit.text.lower() or unit.lower in _BREAKS:
            break
        last = end + 1
    return last


def _is_plain(unit: Unit) -> bool:
    """Whether it is a word without digits."""
    return unit.is_word and not any(char.isdecimal() for char in unit.text)


def is_street(units: Sequence[Unit]) -> bool:
    """Whether one of the words says that it is a street."""
    return any(unit.lower in STREET_ENDS or unit.lower in STREETS or _names_street(unit) for unit in units)


def _names_street(unit: Unit) -> bool:
    """Whether it is a street's whole name: "gartenstraße"."""
    return any(unit.lower.endswith(end) and len(unit.lower) >= len(end) + _LEAST_NAMED for end in _WORD_ENDS)


def has_house(units: Sequence[Unit]) -> bool:
    """Whether they are a street with its number."""
    return any(char.isdecimal() for char in units[0].text + units[-1].text) and is_street(units)
