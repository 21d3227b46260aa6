"""Whose a day or an hour is where there are several: of one to another which of the two a parameter may take, what "3"
says of "3 to 10 August", and "check in" in front of one. Knows nothing of forms."""

from __future__ import annotations

from collections.abc import Sequence

from edgeret.inputs.tool_text import name_in_words
from edgeret_export.reference.inputs.chunks import Chunk, Chunks
from edgeret_export.reference.inputs.parameters import Parameter
from edgeret_export.reference.inputs.units import Unit

_PAST_ASKED = frozenset(("since", "last", "past", "received", "ago", "seit", "after"))
_STAY = frozenset(("day", "night"))
_ENDS = frozenset(("end", "until", "till", "to", "finish", "finished", "finishes", "close", "closes", "stop", "stops"))
_LASTS = _ENDS | {"last", "return", "back", "out", "checkout"}
_FIRSTS = frozenset(
    ("first", "start", "starts", "starting", "begin", "begins", "beginning", "from", "arrival", "checkin")
)
_TO = frozenset(("to", "-", "–", "until", "till", "bis"))
_UNTIL = frozenset(("until", "till"))
_TO_A_DAY = _TO | {"through", "thru"}
_NTH = frozenset(("st", "nd", "rd", "th"))
_HOURS = frozenset(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"))
_BESIDE_NAMES = frozenset((":", "=", "on", "at", "is", "the"))
_TO_AND_HOUR, _DIGITS = 2, 2


def is_past(parameter: Parameter, chunk: Chunk) -> bool:
    """Whether a day is one that was: so says the word in front, or what the parameter is called."""
    # The last day of a stay is ahead, the last visit is not.
    words = parameter.stems if _STAY.isdisjoint(parameter.stems) else parameter.stems - {"last"}
    return not _PAST_ASKED.isdisjoint({*chunk.leads[:1], *words, parameter.name.lower()})


def said_of(found: Chunks, first: int, last: int) -> tuple[str, str]:
    """What some units say, and the same in English. Of "3 to 10 August" the 3 says a day of that month."""
    reading, units = found.reading, found.reading.units
    said, english = reading.words(first, last), reading.glossed(first, last)
    if last != first + 1 + _dots(units, first + 1) or not _is_numbered(units[first]) or not _leads_on(units, last):
        return said, english
    then = last + 1 + _is_the(units, last + 1)
    for day in reading.matches.get("date", ()):
        month = day.first + 1 + _dots(units, day.first + 1)
        if day.first == then and month < day.last and units[month].is_word and _is_numbered(units[then]):
            more = reading.glossed(day.first, day.last).partition(" ")[2]
            return f"{said} {reading.words(month, day.last)}", f"{english} {more}"
    return said, english


def _is_numbered(unit: Unit) -> bool:
    """Whether it is the number of a day, 3 or 3rd."""
    return _is_short(unit.text) or (unit.text[-2:].lower() in _NTH and _is_short(unit.text[:-2]))


def _dots(units: Sequence[Unit], at: int) -> int:
    """How many there are, none or one: "3. bis 10. August"."""
    return int(at < len(units) and units[at].text == ".")


def _leads_on(units: Sequence[Unit], at: int) -> bool:
    """Whether a word leads from the first day to the last one; in English, as all languages are read."""
    if not 0 < at < len(units):
        return False
    word = units[at].lower
    if word == "and":
        return at > 1 and units[at - 2].lower == "between"
    return word in _TO_A_DAY or (word == "by" and units[at - 1].text == ".")  # German "bis"


def is_other_end(found: Chunks, parameter: Parameter, chunk: Chunk) -> bool:
    """Whether a time ends what began at an hour without its own half of the day, 11 am of "10 to 11 am", where no end
    is asked for; or one of two days where the other is asked for. 10 August of "3 to 10 August" is no day but for an
    end."""
    units, asked, first = found.reading.units, parameter.stems | {parameter.name.lower()}, chunk.first
    if chunk.kind != "date":
        if chunk.kind not in ("time", "moment") or first < _TO_AND_HOUR or not _ENDS.isdisjoint(asked):
            return False
        begin = units[first - 2]
        return units[first - 1].lower in _TO and (begin.lower in _HOURS or _is_short(begin.text))
    days = found.reading.matches.get("date", ())
    if not _LASTS.isdisjoint(asked):
        then = chunk.last + 1 + _is_the(units, chunk.last + 1)
        return _leads_on(units, chunk.last) and any(day.first == then for day in days)
    at = max(0, first - 1 - _is_the(units, first - 1)) if first else 0
    ends = _leads_on(units, at)
    if not _FIRSTS.isdisjoint(asked) and (units[at].lower in _UNTIL or (ends and any(day.last == at for day in days))):
        return True
    if not ends:
        return False
    number = units[at - 1 - (at > 1 and _dots(units, at - 1))]  # "3. bis 10. August"
    return _is_short(number.text) and _is_short(units[first].text)


def is_named_other(found: Chunks, parameter: Parameter, wanted: Sequence[Parameter], chunk: Chunk) -> bool:
    """Whether the name of another one of the parameters that are `wanted`, of some words, stands in front of a day or
    an hour: the twelfth of "check in 12 June" is no `check_out`."""
    units, at = found.reading.units, chunk.first
    if chunk.kind not in ("date", "time", "moment"):
        return False
    while at > 0 and units[at - 1].lower in _BESIDE_NAMES:
        at -= 1
    before = [unit.lower for unit in units[:at] if unit.lower != "-"]  # "check-in"
    for one in wanted:
        name = name_in_words(one.name).lower().split()
        if one.name != parameter.name and 1 < len(name) <= len(before) and before[-len(name) :] == name:
            return True
    return False


def _is_the(units: Sequence[Unit], at: int) -> bool:
    return at < len(units) and units[at].lower == "the"


def _is_short(word: str) -> bool:
    return word.isdecimal() and len(word) <= _DIGITS
