"""Days and times in the form that a parameter wants: ISO 8601, or one that its description names or shows. Knows
nothing of schemas."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta

from edgeret_export.reference.inputs.amounts import amount_of
from edgeret_export.reference.inputs.dates import ALONE, Around, day_of, day_of_time, half_of, time_of
from edgeret_export.reference.inputs.parameters import Parameter
from edgeret_export.reference.inputs.units import read

TIME = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-][0-2]\d:[0-5]\d)?")
DATE_TIME = re.compile(rf"\d{{4}}-\d\d-\d\d[Tt ]{TIME.pattern}")


def moment(said: str, form: str, now: datetime | None, past: bool, on: Around = ALONE) -> str | None:
    """A day, a time or both in the form of ISO 8601; `on` is what stands around a time without a day."""
    if form == "time":
        clock = _clock(said, now)
        return None if clock is None else clock.isoformat()
    if form == "date":
        day = day_of(said, now, past)
        if day is None and len(said) <= _LONGEST and (match := read(said).matches.get("date")) and len(match) == 1:
            day = day_of(read(said).words(match[0].first, match[0].last), now, past)
        return None if day is None else day.isoformat()
    if DATE_TIME.fullmatch(said):
        return said
    if len(said) > _LONGEST:
        return None
    found = read(said)
    days, clocks = found.matches.get("date", ()), found.matches.get("time", ())
    if len(clocks) != 1 or len(days) > 1:
        return None
    clocked = found.words(clocks[0].first, clocks[0].last)
    told = found.words(days[0].first, days[0].last) if days else on.day
    if not told and (later := _later(clocked, now)) is not None:
        day, clock = later.date(), later.time()
    else:
        clock = time_of(clocked, half_of(told))
        if told or now is None:
            day = day_of(told, now, past) if told else None
        else:
            day = day_of_time(clocked, clock, now, on.ahead and not past)
    if clock is None or day is None:
        return None
    zone = now.strftime("%z") if now is not None else ""
    return f"{day.isoformat()}T{clock.isoformat()}" + (f"{zone[:3]}:{zone[3:5]}" if zone else "")


def _later(said: str, now: datetime | None) -> datetime | None:
    """ "In 20 minutes" and "two hours from now", with a clock."""
    text = said.lower()
    told = text.removeprefix("in ") if text.startswith("in ") else text.removesuffix(" from now")
    amount = amount_of(told) if told != text and now is not None else None
    if now is None or amount is None or amount[1] != "s" or not 0 <= int(amount[0]) <= _MOST_LATER:
        return None
    try:
        return now.replace(microsecond=0, tzinfo=None) + timedelta(seconds=int(amount[0]))
    except OverflowError:
        return None


def _clock(said: str, now: datetime | None) -> time | None:
    later = _later(said, now)
    return time_of(said) if later is None else later.time()


_MOST_LATER = 31 * 86400
_LONGEST = 200
"""Characters of words that name a moment; a text of more only holds one, and would be read for each of its runs."""
_NAMED = re.compile(
    r"YYYY[-/]MM[-/]DD(?:[T ]HH:MM(?::SS)?)?|MM[-/]DD[-/]YYYY|DD[-/.]MM[-/.]YYYY|HH:MM(?::SS)?", re.IGNORECASE
)
_SHOWN = re.compile(r"(?<![\w-])\d{4}-\d\d-\d\d(?:([T ])\d\d:\d\d(:\d\d)?)?(?![\w-])")


def named_form(described: str) -> str | None:
    """The form of a date or time that a description names."""
    match = _NAMED.search(described)
    return None if match is None else match[0].upper()


def shown_form(parameter: Parameter) -> str | None:
    """The form of a day that a description shows by an example, "2022-05-20": of days that are told as a whole. A
    description that shows no more may take "tomorrow" as it is."""
    match = _SHOWN.search(parameter.described) if parameter.kind == "when" else None
    if match is None:
        return None
    return "YYYY-MM-DD" + (f"{match[1]}HH:MM{':SS' if match[2] else ''}" if match[1] else "")


def as_named(said: str, named: str, now: datetime | None, past: bool, on: Around = ALONE) -> str | None:
    """What some words say of a day or a time, in a form as `named_form` gives it; None for nothing of that kind. See
    `moment` of what stands around it."""
    if named.startswith("HH"):
        clock = _clock(said, now)
        return None if clock is None else clock.strftime("%H:%M:%S" if named.endswith("SS") else "%H:%M")
    if "HH" in named:
        found = moment(said, "date-time", now, past, on)
        return None if found is None else found.replace("T", named[10])[: len(named)]
    day = day_of(said, now, past)
    if day is None:
        return None
    return day.strftime(named.replace("YYYY", "%Y").replace("MM", "%m").replace("DD", "%d"))
