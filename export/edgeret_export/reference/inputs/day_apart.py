"""What stands around a time: the day that it is on, "on Friday … at 5 pm". Knows nothing of tools and of forms."""

from __future__ import annotations

from edgeret_export.reference.inputs.chunks import Chunk, Chunks
from edgeret_export.reference.inputs.dates import Around
from edgeret_export.reference.inputs.ranges import hours_of

_OTHERS_WORDS = "for of from until till by since before after about to"
_OTHERS = frozenset(_OTHERS_WORDS.split(" "))
"""In front of a day that is another thing's: "the report for Friday"."""
_SAID = ("told", "quoted", "command", "sentence")
_IDLE = frozenset(("on", "at", "the", "and"))
_PAST_WORDS = (
    "was were had did took ate ran slept woke began left got gave went came saw fell felt drank log record note "
    "habe hat hatte war wurde ai étais était pris fue era tomé"
)
_PAST = frozenset(_PAST_WORDS.split(" "))
"""Of what has been: "I took it at 7 am". A word too many only keeps an hour that is over on today."""
_LONGEST_BED = 4
_BESIDE = _IDLE - {"and"} | {","}


def around(found: Chunks, chunk: Chunk) -> Around:
    """What a request says around a time."""
    reading = found.reading
    ahead = len(reading.matches.get("time", ())) <= 1 and not any(_is_of_past(unit.lower) for unit in reading.units)
    return Around(_day(found, chunk), ahead)


def _is_of_past(word: str) -> bool:
    return word in _PAST or (len(word) > _LONGEST_BED and word.endswith("ed"))


def _day(found: Chunks, chunk: Chunk) -> str:
    """The words, in English, of the only day of a request, for a time that names none; "" where that day is another
    thing's, is told to somebody, or belongs to another clause that says more."""
    reading, units = found.reading, found.reading.units
    days = reading.matches.get("date", ())
    if chunk.kind != "time" or len(days) != 1:
        return ""
    day = days[0]
    first, last = hours_of(found, chunk)
    between = units[day.last : first] if day.last <= first else units[last : day.first]
    if all(unit.lower in _BESIDE for unit in between):
        return reading.glossed(day.first, day.last)  # "for next Friday, 10:30" is not 10:30 of another day
    behind = units[day.last].lower if day.last < len(units) else ""
    if behind in ("'s", "’s") or (day.first and units[day.first - 1].lower in _OTHERS):
        return ""
    for one in found.chunks:
        holds = one.first <= day.first and day.last <= one.last
        # "Remind me on Friday about the tax": what begins with the day is told by mistake.
        begins = all(unit.lower in _IDLE for unit in units[one.first : day.first])
        if holds and not begins and one.kind in _SAID and not (one.first < chunk.last and chunk.first < one.last):
            return ""
    if found.clause_of[day.first] != chunk.clause and not any(
        _is_alone(found, one.first, one.last) for one in (day, chunk)
    ):
        return ""
    return reading.glossed(day.first, day.last)


def _is_alone(found: Chunks, first: int, last: int) -> bool:
    """Whether a clause has no other words: "On Friday, remind me …"."""
    clause = found.clause_of[first]
    return all(
        first <= i < last or of != clause or not unit.is_word or unit.lower in _IDLE
        for i, (unit, of) in enumerate(zip(found.reading.units, found.clause_of, strict=True))
    )
