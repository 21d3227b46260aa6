"""Dates and times as people say them, as the day and the hour that are meant. English, and what is written in digits.
What may be either of two days or hours is neither. Knows nothing of parameters."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT_DAYS = "mon tue wed thu fri sat sun mon tues weds thurs fri sat sun mon tue wed thur fri sat sun"
_DAY_NAMES = (*_WEEKDAYS, *_SHORT_DAYS.split(" "))
"""Four weeks of them."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAMES = "january february march april may june july august september october november december"
_FULL_MONTHS = _MONTH_NAMES.split(" ")
_FROM_TODAY = {
    "today": 0,
    "tonight": 0,
    "this": 0,
    "tomorrow": 1,
    "tmrw": 1,
    "tmr": 1,
    "yesterday": -1,
    "day after tomorrow": 2,
}
_NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_PART = re.compile(r" (?:morning|noon|afternoon|evening|night)$")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.?(\d{4})?")
_MONTH_DAY = re.compile(r"([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?")
_DAY_MONTH = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)?(?: of)? ([a-z]{3,9})\.?(?: (\d{4}))?")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_AHEAD = re.compile(r"in (\d{1,3}|an?|[a-z]+) (day|week)s?")
_BEHIND = re.compile(r"(\d{1,3}|an?|[a-z]+) (day|week)s? from (today|now|tomorrow)")
_OF_DAY = re.compile(
    r"((?:[a-z0-9]+(?: minutes?)? (?:past|to) )?\w+(?:[:.]\d\d)?)(?: o['’]clock)? "
    r"(in the (?:morning|afternoon|evening)|at night|tonight|this (?:morning|afternoon|evening))"
)
_SPOKEN = re.compile(r"([a-z]+|\d{1,2})( minutes?)? (past|to) (\d{1,2}|[a-z]+)(?: ([ap])\.?m\.?)?")
_O_CLOCK = re.compile(" o['’]clock$")
_EVENING = 17
_MINUTES = {"five": 5, "ten": 10, "quarter": 15, "twenty": 20, "half": 30}
_CLOCK = re.compile(r"(\d{1,2})(?:[:.](\d\d)(?::(\d\d))?)?\s?([ap])?\.?(m)?\.?(?: ?uhr| ?h)?")


class Around(NamedTuple):
    """What a request says around a time: the `day`, in English, "" for none; and whether it looks `ahead`, so that an
    hour which is over today is tomorrow's."""

    day: str = ""
    ahead: bool = True


ALONE = Around()


def day_of(said: str, now: datetime | None, past: bool = False) -> date | None:
    """The day that some words name. Without a year, a month or more it is the next such day from `now` on, or the last
    one up to it where it lies in the `past`; without a clock only what is complete names a day."""
    text = " ".join(_PART.sub("", said.lower().strip(" .,")).removeprefix("the ").removeprefix("on ").split())
    if match := _ISO.fullmatch(text):
        return _day(int(match[1]), int(match[2]), int(match[3]))
    if match := _SLASHED.fullmatch(text):
        first, second = int(match[1]), int(match[2])
        # 3/4 is in March or in April; 3/14 and 14/3 can only be one day.
        if first > 12 or second > 12 or first == second:
            return _day(int(match[3]), min(first, second), max(first, second))
        return None
    if match := _DOTTED.fullmatch(text):
        return _in_year(int(match[2]), int(match[1]), match[3], now, past)
    for pattern, month, day in ((_MONTH_DAY, 1, 2), (_DAY_MONTH, 2, 1)):
        if (match := pattern.fullmatch(text)) and (number := _month(match[month])):
            return _in_year(number, int(match[day]), match[3], now, past)
    try:
        return None if now is None else _from(text, now.date(), past)
    except OverflowError:  # behind the last day that there is
        return None


def _from(text: str, today: date, past: bool) -> date | None:
    """The day that is named from today."""
    if text in _FROM_TODAY:
        return today + timedelta(_FROM_TODAY[text])
    name = text.removeprefix("last ").removeprefix("this ")
    if name in _DAY_NAMES:
        ahead = (_DAY_NAMES.index(name) - today.weekday()) % 7
        if past or text.startswith("last "):
            return today - timedelta((7 - ahead) % 7 or 7)
        return today + timedelta(ahead or 7) if ahead or not text.startswith("this") else today
    if match := _ORDINAL.fullmatch(text):
        return _nth(int(match[1]), today, past)
    if match := _AHEAD.fullmatch(text) or _BEHIND.fullmatch(text):
        count = _count(match[1])
        later = match.re is _BEHIND and match[3] == "tomorrow"
        return None if count is None else today + timedelta(count * (7 if match[2] == "week" else 1) + later)
    return None


def _count(word: str) -> int | None:
    if word.isdecimal():
        return int(word)
    return 1 if word in ("a", "an") else _NUMBERS.index(word) + 1 if word in _NUMBERS else None


def _nth(day: int, today: date, past: bool) -> date | None:
    """The next or the last day of a month with this number."""
    year, month = today.year, today.month
    for _ in range(12):
        found = _day(year, month, day)
        if found is not None and (found <= today if past else found >= today):
            return found
        month += -1 if past else 1
        year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return None


def _in_year(month: int, day: int, year: str | None, now: datetime | None, past: bool) -> date | None:
    if year is not None:
        return _day(int(year), month, day)
    if now is None:
        return None
    for ahead in (0, -1) if past else (0, 1):
        found = _day(now.year + ahead, month, day)
        if found is not None and (found <= now.date() if past else found >= now.date()):
            return found
    return None


def _month(name: str) -> int:
    """A month's number, 0 for what is none."""
    if name in _FULL_MONTHS:
        return _FULL_MONTHS.index(name) + 1
    return _MONTHS.index(name[:3]) + 1 if name in (*_MONTHS, "sept") else 0


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def time_of(said: str, half: str = "") -> time | None:
    """The time of a day that some words name. "at nine" is in the morning or in the evening, so it names none where
    nobody knows the `half` of the day, as `half_of` names it: "19:30" and "noon" need none."""
    text = " ".join(said.lower().strip(" ,").removeprefix("at ").split())
    if match := _OF_DAY.fullmatch(text):
        text, half = match[1], half_of(match[2])
    if half:
        known = time_of(f"{_O_CLOCK.sub('', text)} {'am' if half == 'am' else 'pm'}")
        if known is not None and half == "night":
            return known if known.hour >= _EVENING else None  # one at night is not in the afternoon
        if known is not None or match:
            return known
    if text in ("noon", "midday"):
        return time(12)
    if text == "midnight":
        return time(0)
    if match := _SPOKEN.fullmatch(text):
        return _spoken(match)
    first = text.partition(" ")[0]
    spoken = next((word for word in _NUMBERS if first.removesuffix("am").removesuffix("pm") == word), None)
    if spoken:
        text = str(_NUMBERS.index(spoken) + 1) + text[len(spoken) :]
    match = _CLOCK.fullmatch(text)
    if match is None or (match[4] is None) != (match[5] is None):
        return None
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    if match[4] is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match[4] == "p" else 0)
    elif match[2] is None and not text.endswith(("uhr", "h")):
        return None
    return time(hour, minute, second) if hour < 24 and minute < 60 and second < 60 else None


def day_of_time(said: str, clock: time | None, now: datetime, ahead: bool) -> date | None:
    """The day of a `clock` that was said without one: today, or the next that has it still `ahead`. "7:30" may be in
    the evening, so where only its morning is over it names none."""
    today, since = now.date(), now.time().replace(microsecond=0)
    if not ahead or clock is None or clock >= since:
        return today
    evening = time_of(said, "pm")
    if evening is not None and evening >= since:
        return None
    return today + timedelta(1) if today < date.max else None


def _spoken(match: re.Match[str]) -> time | None:
    """ "Quarter to nine pm": of twelve hours, so none without its half of the day."""
    minute = int(match[1]) if match[1].isdecimal() else _MINUTES.get(match[1], 0)
    hour = int(match[4]) if match[4].isdecimal() else _count(match[4])
    past = match[3] == "past"
    if not past and match[2] is None and match[1] != "quarter":
        return None  # "ten to twelve pm": from ten on
    if match[5] is None or hour is None or not 1 <= hour <= 12 or not 1 <= minute <= 30:
        return None
    at = (60 * hour + (minute if past else -minute)) % 720 + 720 * (match[5] == "p")
    return time(at // 60, at % 60)


def half_of(day: str) -> str:
    """Which half of it the last of some words for a day names: "am", "pm", "night", "" for none."""
    last = day.lower().rstrip(" .,").rpartition(" ")[2]
    if last in ("night", "tonight"):
        return "night"
    return "am" if last == "morning" else "pm" if last in ("afternoon", "evening") else ""
