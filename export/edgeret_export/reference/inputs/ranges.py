"""Whose a day or an hour is where there are several: of one to another which of the two a parameter may take, what "3"
says of "3 to 10 August", and "check in" in front of one. Knows nothing of forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import datetime

from edgeret.inputs.tool_text import name_in_words
from edgeret_export.reference.inputs.chunks import Chunk, Chunks, leads_of
from edgeret_export.reference.inputs.dates import day_of, time_of
from edgeret_export.reference.inputs.parameters import Parameter
from edgeret_export.reference.inputs.units import Match, Unit

_PAST_ASKED = frozenset(("since", "last", "past", "received", "ago", "seit", "after"))
_STAY = frozenset(("day", "night"))
_ENDS = frozenset(("end", "until", "till", "to", "finish", "finished", "finishes", "close", "closes", "stop", "stops"))
_LASTS = _ENDS | {"last", "return", "back", "out", "checkout", "befor"}
_FIRST_WORDS = "first start starts starting begin begins beginning from arrival checkin sinc after"
_FIRSTS = frozenset(_FIRST_WORDS.split(" "))
_SINCE = frozenset(("since", "after", "from"))
_FIXED = frozenset(("today", "tonight", "tomorrow", "tmrw", "tmr", "yesterday", "in", "from", "last", "this"))
"""In days that are counted from today, wherever they stand."""
_TO = frozenset(("to", "-", "–", "until", "till", "bis"))
_AHEAD = frozenset(("event", "calendar", "appoint", "meet", "schedul", "availabl", "flight", "slot", "book", "reserv"))
"""Stems of what is mostly ahead: events after Friday are no past ones."""
_UNTIL = frozenset(("until", "till", "before"))
_TO_A_DAY = _TO | {"through", "thru"}
_MOVES = frozenset(("move", "reschedule", "change", "push", "postpone", "delay"))
_NTH = frozenset(("st", "nd", "rd", "th"))
_HOURS = frozenset(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"))
_BESIDE_NAMES = frozenset((":", "=", "on", "at", "is", "the"))
_WHENS = ("date", "time", "moment")
_DIGITS, _HALF_DAY, _PAIR = 2, 720, 2
NOT_OF_PART: Mapping[str, tuple[str, ...]] = {
    "day": ("moment", "time", "duration"),
    "time": ("moment", "date", "duration"),
}
"""The kinds of chunks that a part of a moment is not."""


def is_past(parameter: Parameter, chunk: Chunk, own: Set[str] = frozenset()) -> bool:
    """Whether a day is one that was: so says the word in front, what the parameter is called, or the tool's `own` name,
    by its stems: what one logs has been."""
    # The last day of a stay is ahead, the last visit is not.
    words = parameter.stems if _STAY.isdisjoint(parameter.stems) else parameter.stems - {"last"}
    asked = {*chunk.leads[:1], *words, parameter.name.lower()}
    is_logged = "log" in own and _AHEAD.isdisjoint(own)
    return is_logged or not _PAST_ASKED.isdisjoint(asked if _AHEAD.isdisjoint(own) else asked - {"after"})


def said_of(found: Chunks, first: int, last: int) -> tuple[str, str]:
    """What some units say, and the same in English. Of "3 to 10 August" the 3 says a day of that month, of "9-10 am"
    the 9 an hour of that half of the day."""
    reading, units = found.reading, found.reading.units
    said, english = reading.words(first, last), reading.glossed(first, last)
    if half := _half_of(found, first, last, english):
        return f"{said}{half}", f"{english}{half}"
    if (
        last != first + 1 + _dots(units, first + 1)
        or not _is_numbered(units[first])
        or not _leads_on(units, first, last)
    ):
        return said, english
    then = last + 1 + _is_the(units, last + 1)
    for day in reading.matches.get("date", ()):
        month = day.first + 1 + _dots(units, day.first + 1)
        if day.first == then and month < day.last and units[month].is_word and _is_numbered(units[then]):
            more = reading.glossed(day.first, day.last).partition(" ")[2]
            return f"{said} {reading.words(month, day.last)}", f"{english} {more}"
    return said, english


def _half_of(found: Chunks, first: int, last: int, english: str) -> str:
    """Which half of the day an hour is in that another one, whose half is said, ends: the later of both that is before
    it, 11 am of "11-1 pm"; of "9 to 17:00" the 9 is whole, too. "" for what is no such hour."""
    reading, times = found.reading, found.reading.matches.get("time", ())
    end = next((time for time in times if time.first == last + 1), None)
    if (
        end is None
        or not any(time[1:] == (first, last) for time in times)
        or not _leads_on(reading.units, first, last, True)
    ):
        return ""
    if any(day.holds(Match("date", first, last)) for day in reading.matches.get("date", ())):
        return ""  # "June 9 - 10 am"
    told = reading.glossed(end.first, end.last).lower().replace(".", "")
    begin, until = time_of(f"{english} am"), time_of(reading.glossed(end.first, end.last))
    if begin is not None and until is not None and told[-2:] in ("am", "pm"):
        since, till = 60 * begin.hour + begin.minute, 60 * until.hour + until.minute
        return " am" if since < till <= since + _HALF_DAY else " pm"
    return ":00" if until is not None and english.isdecimal() and time_of(f"{english}:00") is not None else ""


def _is_numbered(unit: Unit) -> bool:
    """Whether it is the number of a day, 3 or 3rd."""
    return _is_short(unit.text) or (unit.text[-2:].lower() in _NTH and _is_short(unit.text[:-2]))


def _dots(units: Sequence[Unit], at: int) -> int:
    """How many there are, none or one: "3. bis 10. August"."""
    return int(at < len(units) and units[at].text == ".")


def _leads_on(units: Sequence[Unit], first: int, at: int, hours: bool = False) -> bool:
    """Whether a word leads from a day, or from one of the `hours`, whose first unit is told, to the last one; in
    English, as all languages are read."""
    if not 0 < at < len(units):
        return False
    word = units[at].lower
    if word == "and":
        return [unit.lower for unit in units[max(0, first - 2) : first] if unit.lower != "the"][-1:] == ["between"]
    if word == "by":
        return units[at - 1].text == "." or (hours and _is_hour(units[at - 1]))  # German "bis"
    return word in _TO_A_DAY and not (word == "to" and _is_moved(units, first))


def _is_moved(units: Sequence[Unit], first: int) -> bool:
    """Whether a day or an hour is one that something is moved from: "move my 3 pm to 5 pm"."""
    before = [unit.lower for unit in units[:first]]
    return not _MOVES.isdisjoint(before) and "to" not in before


def _is_hour(unit: Unit) -> bool:
    return unit.lower in _HOURS or _is_short(unit.text)


def is_other_end(found: Chunks, parameter: Parameter, wanted: Sequence[Parameter], chunk: Chunk) -> bool:
    """Whether a day or an hour is the other end of what a parameter asks for one end of: 10 August of "3 to 10 August"
    is no beginning, nor any day but for an end, and 11 am of "10 to 11 am" is an hour for an end alone, but where
    several hours are `wanted`. Whether "until" or "since" stands in front of one for the other end."""
    if chunk.kind not in _WHENS:
        return False
    units, is_day = found.reading.units, chunk.kind == "date"
    if chunk.kind == "time" and _is_bare(found, chunk):
        return True
    first, last = _whole(found, chunk)
    lead = units[first - 1].lower if first else ""
    if _asks(parameter, _LASTS if is_day else _ENDS):
        then = last + 1 + _is_the(units, last + 1)
        follows = any(one.first == then for kind in _WHENS for one in found.reading.matches.get(kind, ()))
        return lead in _SINCE or (follows and _leads_on(units, first, last, not is_day))
    at = max(0, first - 1 - _is_the(units, first - 1)) if first else 0
    begun = _begun(found, at)
    until = units[at].lower in _UNTIL and not (at > 0 and units[at - 1].lower == "not")  # "not before 10:00"
    if _asks(parameter, _FIRSTS) and (until or begun is not None):
        return True
    if not is_day:
        if sum(one.kind == "when" for one in wanted) > 1:
            return False  # bedtime and waking of "1 am to 5 am"
        bare = at > 0 and units[at].lower in _TO and _is_hour(units[at - 1])
        return begun is not None or (bare and not _is_moved(units, at - 1))
    number = at - 1 - (at > 1 and _dots(units, at - 1))  # "3. bis 10. August"
    return at > 0 and _leads_on(units, number, at) and _is_short(units[number].text) and _is_short(units[first].text)


def _is_bare(found: Chunks, chunk: Chunk) -> bool:
    """Whether an hour has no half of the day, since nobody knows whose it has: 9 of "move it from 9 to 10 am"."""
    units, first, last = found.reading.units, chunk.first, chunk.last
    then = any(time.first == last + 1 for time in found.reading.matches.get("time", ()))
    joined = last < len(units) and (units[last].lower in _TO_A_DAY or units[last].lower == "by")
    is_hour = then and joined and last == first + 1 and _is_hour(units[first])
    return is_hour and not _half_of(found, first, last, found.reading.glossed(first, last))


def _whole(found: Chunks, chunk: Chunk) -> tuple[int, int]:
    """From where to where a day goes with its hour."""
    for one in found.reading.matches.get("moment", ()):
        if one.holds(chunk):
            return one.first, one.last
    return chunk.first, chunk.last


def _begun(found: Chunks, at: int, kinds: Sequence[str] = ("moment", "date", "time")) -> Match | None:
    """The day or the hour, as whole as it is, from which a word at a place leads on."""
    for kind in kinds:
        for one in found.reading.matches.get(kind, ()):
            if one.last == at and _leads_on(found.reading.units, one.first, at, kind != "date"):
                return one
    return None


def _is_next_day(found: Chunks, chunk: Chunk) -> bool:
    """Whether an hour ends hours that run over midnight, 1 am of "8 pm - 1 am": of which day is not said."""
    times = found.reading.matches.get("time", ())
    end = next((one for one in times if chunk.first <= one.first and one.last <= chunk.last), None)
    begun = None if chunk.kind == "date" or end is None else _begun(found, end.first - 1, ("time",))
    if end is None or begun is None:
        return False
    since, until = (time_of(said_of(found, one.first, one.last)[1]) for one in (begun, end))
    return since is not None and until is not None and until <= since


def hours_of(found: Chunks, chunk: Chunk) -> tuple[int, int]:
    """From where to where the hours stand of which one is: "9-10 am"."""
    times = found.reading.matches.get("time", ())
    if (begun := _begun(found, chunk.first - 1, ("time",))) is not None:
        return begun.first, chunk.last
    end = next((one for one in times if one.first == chunk.last + 1), None)
    leads = end is not None and _leads_on(found.reading.units, chunk.first, chunk.last, True)
    return chunk.first, end.last if leads and end is not None else chunk.last


def counted_from(
    found: Chunks,
    parameter: Parameter,
    wanted: Sequence[Parameter],
    own: Set[str],
    chunk: Chunk,
    now: datetime | None,
) -> tuple[datetime | None, bool]:
    """The clock from which on a day is the next one, and whether it is one that was. What ends days from one to another
    comes behind their beginning, which may be asked for by another one of the parameters that are `wanted`."""
    past = is_past(parameter, chunk, own)
    units = found.reading.units
    if now is None or _is_next_day(found, chunk):
        return None, past
    if chunk.kind not in ("date", "moment"):
        return now, past
    every = found.reading.matches.get("date", ())
    begun = _begun(found, max(0, chunk.first - 1 - _is_the(units, chunk.first - 1)))
    if begun is None and len(every) == _PAIR and every[0].last <= chunk.first and _asks(parameter, _LASTS):
        begun = every[0]  # "on Friday, back on Monday"
    days = [day for day in every if begun is not None and begun.holds(day)]
    if begun is None or not days or any(unit.lower in _FIXED for unit in units[chunk.first : chunk.last]):
        return now, past
    day, first = days[0], chunk._replace(first=days[0].first, leads=leads_of(found.reading, days[0].first))
    asks = [one for one in wanted if one.kind == "when" and _asks(one, _FIRSTS)]
    since = day_of(said_of(found, day.first, day.last)[1], now, is_past(asks[0] if asks else parameter, first, own))
    return (now, past) if since is None else (now.replace(since.year, since.month, since.day), False)


def is_named_other(found: Chunks, parameter: Parameter, wanted: Sequence[Parameter], chunk: Chunk) -> bool:
    """Whether the name of another one of the parameters that are `wanted` stands in front of a day or an hour: all of
    it, of some words, or one that this one's lacks. The twelfth of "check in 12 June" is no `check_out`, and Sunday of
    "returning Sunday" no `date` where there is a `return_date`."""
    units, at = found.reading.units, chunk.first
    if chunk.kind not in _WHENS:
        return False
    while at > 0 and units[at - 1].lower in _BESIDE_NAMES:
        at -= 1
    before = [unit.lower for unit in units[:at] if unit.lower != "-"]  # "check-in"
    for one in wanted:
        name = name_in_words(one.name).lower().split()
        if one.name != parameter.name and 1 < len(name) <= len(before) and before[-len(name) :] == name:
            return True
        lead = found.stems[at - 1] if at else ""
        if chunk.kind in NOT_OF_PART.get(one.part, ()):
            continue
        if lead and one.kind == "when" and (lead in one.stems or (lead == "back" and "back" in one.told)):
            return lead not in parameter.stems | parameter.told
    return False


def _asks(parameter: Parameter, words: Set[str]) -> bool:
    return not words.isdisjoint(parameter.stems | {parameter.name.lower()})


def _is_the(units: Sequence[Unit], at: int) -> bool:
    return at < len(units) and units[at].lower == "the"


def _is_short(word: str) -> bool:
    return word.isdecimal() and len(word) <= _DIGITS
