"""A request of another language with its numbers, days, times, units and small words in English, so that one grammar
reads them all. One file a language, in `glosses/`, is all that is known of it. Knows nothing of tools and values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from edgeret.errors import BundleError

FOLDER = Path(__file__).with_name("glosses")
GLOSSED = ("de", "fr", "es", "zh")
"""Languages with a file."""
_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTHS = _MONTH_NAMES.split(" ")
_MOST_WORDS = 9
"""Of a number."""
_NOON = re.compile("中午|mittag|tarde")
"""Parts of a day of which twelve o'clock is the noon."""
_SCALE_NAMES = {100: "hundred", 1000: "thousand"}


class Glossary(NamedTuple):
    """What a language's file says: English for single words, number words with their values, and `phrases`, `clocks`
    and `dates` as expressions with what they become; and the expressions of a number and of one of its words."""

    words: Mapping[str, str]
    numbers: Mapping[str, int]
    scales: Mapping[str, int]
    joined: str
    part: re.Pattern[str] | None
    parts: Mapping[str, re.Pattern[str]]
    months: Sequence[str]
    hour: str
    phrases: Sequence[tuple[str, re.Pattern[str]]]
    number: tuple[str, str]


def gloss(text: str, places: Sequence[tuple[int, int]], language: str) -> list[str]:
    """English for each unit of a text, where they stand: itself where there is none, and "" for one that belongs to
    the unit before it. Raises BundleError for a damaged file."""
    known = glossary(language)
    said = [text[start:end] for start, end in places]
    found = [known.words.get(word.lower().rstrip("'’"), word) for word in said]
    _number_words(known, [word.lower() for word in said], found)
    first = {start: i for i, (start, _) in enumerate(places)}
    last = {end: i + 1 for i, (_, end) in enumerate(places)}
    taken = [False] * len(places)
    for told, pattern in known.phrases:
        for match in pattern.finditer(text):
            begin, end = first.get(match.start()), last.get(match.end())
            if begin is None or end is None or begin >= end or True in taken[begin:end]:
                continue
            english = _phrase(known, told, match)
            if english is not None:
                found[begin:end] = [english, *[""] * (end - begin - 1)]
                taken[begin:end] = [True] * (end - begin)
    return found


def _number_words(known: Glossary, said: Sequence[str], found: list[str]) -> None:
    """Number words, as digits; one that is an article too only beside others."""
    at = 0
    while at < len(said):
        tokens: list[str] = []
        value, behind, end = None, at, at
        while end < min(len(said), at + _MOST_WORDS):
            parts = _tokens(known, said[end])
            if parts is None:
                if not tokens or said[end] not in ("-", known.joined):
                    break
                parts = []
            tokens += parts
            end += 1
            if parts and (told := _value(known, tokens)) is not None:
                value, behind = told, end
            elif parts:
                break
        single = behind == at + 1
        if single and said[at] in known.scales:
            is_counted = at > 0 and said[at - 1].isdecimal()
            value = None if is_counted else value
            found[at] = _SCALE_NAMES.get(known.scales[said[at]], found[at]) if is_counted else found[at]
        if value is not None and not (single and known.words.get(said[at]) == "a"):
            found[at:behind] = [str(value), *[""] * (behind - at - 1)]
        at = max(behind, at + 1)


def _tokens(known: Glossary, word: str) -> list[str] | None:
    """A word's number words, None where it has others."""
    if word in known.numbers or word in known.scales:
        return [word]
    if known.part is None or known.part.fullmatch(word) is None:
        return None
    return [token for token in _longest(known).findall(word) if token != known.joined]


def _longest(known: Glossary) -> re.Pattern[str]:
    return _any_of((*known.numbers, *known.scales, *([known.joined] if known.joined else [])))


@cache
def _any_of(listed: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(listed, key=lambda word: (-len(word), word)))))


def _value(known: Glossary, tokens: Sequence[str]) -> int | None:
    """The number that number words make; None where they are several, as in "two three"."""
    total = section = pending = 0
    seen = False
    for token in tokens:
        scale = known.scales.get(token)
        if scale is not None:
            if scale < 1000:
                section, pending = section + max(pending, 1) * scale, 0
            else:
                total, section, pending = total + max(section + pending, 1) * scale, 0, 0
        else:
            value = known.numbers[token]
            if not pending:
                pending = value if not seen or section or total else -1
            elif pending == 4 and value == 20:  # quatre-vingts
                pending = 80
            elif _adds(pending, value, known.part is not None):
                pending += value
            else:
                return None
            if pending < 0:
                return None
        seen = True
    return total + section + pending if seen and total + section + pending < 10**12 else None


def _adds(pending: int, value: int, compounds: bool) -> bool:
    """Whether a number word goes on with a number: "sixty" with "five" or, in French, with "fifteen"; "hundred" with
    both; and, in one German word, "five" with "sixty"."""
    if pending % 100 == 0:
        return value < 100
    if pending % 10 == 0:
        return value < (20 if pending in (60, 80) else 10)
    return compounds and pending < 10 and value >= 20 and value % 10 == 0


def _number(known: Glossary, said: str | None) -> int | None:
    if said is None:
        return None
    if said.isdecimal():
        return int(said)
    tokens: list[str] = []
    for word in re.findall(r"\w+", said.lower()):
        if word != known.joined:
            tokens += _tokens(known, word) or ["?"]
    return None if "?" in tokens or not tokens else _value(known, tokens)


def _phrase(known: Glossary, told: str, match: re.Match[str]) -> str | None:
    groups = match.groupdict()
    if told == "clock":
        return _clock(known, groups)
    if told == "date":
        return _date(known, groups)
    if "n" not in groups:
        return told
    number = groups["n"] if re.fullmatch(r"\d+\.\d+", groups["n"]) else _number(known, groups["n"])
    return None if number is None else told.format(n=number)


def _clock(known: Glossary, groups: Mapping[str, str | None]) -> str | None:
    """A time: with the part of the day, or as the language's hours are counted."""
    half = groups.get("half") is not None or groups.get("to") is not None
    hour = _number(known, groups.get("to") or groups.get("h"))
    minute = 30 if half else _number(known, groups.get("m"))
    if hour is None or not 0 <= hour < 25 or (minute or 0) > 59:
        return None
    if groups.get("to") is not None:
        hour = hour - 1 or 12
    part = groups.get("part")
    if part is not None:
        half_day = next((name for name, words in known.parts.items() if words.search(part.lower())), "am")
        if hour == 12 and half_day == "pm" and _NOON.search(part.lower()) is None:
            return None
        return f"{hour}:{minute or 0:02} {half_day}" if 0 < hour <= 12 else f"{hour}:{minute or 0:02}"
    if groups.get("to") is not None and hour <= 12:
        return f"half past {hour}"
    if minute is not None or hour > 12:
        return f"{hour}:{minute or 0:02}" if hour < 24 else None
    return f"{hour} {known.hour}"


def _date(known: Glossary, groups: Mapping[str, str | None]) -> str | None:
    day = _number(known, groups["d"])
    month = groups.get("month")
    number = _number(known, groups.get("mm")) if month is None else known.months.index(month.lower()) + 1
    if day is None or number is None or not 1 <= day <= 31 or not 1 <= number <= 12:
        return None
    year = groups.get("y")
    return f"{day} {_MONTHS[number - 1]}" + (f" {year}" if year else "")


@cache
def glossary(language: str) -> Glossary:
    """The file of one of GLOSSED. Raises BundleError for one that is missing or damaged."""
    path = FOLDER / f"{language}.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return _compiled(told)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, re.error) as error:
        raise BundleError(f"{path}: cannot be read ({error}); install edgeret again") from error


def _compiled(told: Mapping[str, Any]) -> Glossary:
    words = {word: english for english, listed in told["words"].items() for word in listed.split()}
    numbers = {word: i for i, word in enumerate(told["numbers"].split())} | told["more_numbers"]
    numbers |= {word: 10 * i for i, word in enumerate(told.get("tens", "").split(), 2)}
    scales, joined, months = told["scales"], told["joined"], told["months"].split()
    spaced = told["language"] != "zh"
    every = "|".join(map(re.escape, sorted((*numbers, *scales), key=len, reverse=True)))
    within = f"(?:{joined})?" if joined else ""
    part = re.compile(f"(?:{every})(?:{within}(?:{every})){{0,9}}") if told["compounds"] else None
    alone = f"(?:{every})" if part is None else part.pattern
    between = f"[ -](?:{joined}[ -])?" if joined else "[ -]"
    number = rf"(?:\d+(?:\.\d+)?|{alone}(?:{between}{alone}){{0,8}})" if spaced else rf"(?:\d+(?:\.\d+)?|{alone})"
    parts = told["parts"] if not spaced or told["language"] != "de" else {}
    parts = parts or {name: listed.replace(" ", "|") for name, listed in told["parts"].items()}
    by_name = {"N": number, "PART": "|".join(parts.values()), "MONTH": "|".join(map(re.escape, months)) or "(?!)"}

    def made(pattern: str) -> re.Pattern[str]:
        filled = re.sub(r"(?<![A-Za-z])(N\{2,\}|N|PART|MONTH)(?![A-Za-z])", _filled, pattern)
        return re.compile(rf"(?<!\w)(?:{filled})(?!\w)" if spaced else filled, re.IGNORECASE)

    def _filled(match: re.Match[str]) -> str:
        return f"(?:{every}){{2,9}}" if match[1] == "N{2,}" else by_name[match[1]]

    phrases = [("clock", made(pattern)) for pattern in told["clocks"]]
    phrases += [("date", made(pattern)) for pattern in told["dates"]]
    phrases += [(english, made(pattern)) for pattern, english in told["phrases"]]
    halves = {name: re.compile(listed) for name, listed in parts.items()}
    if told["language"] == "de":
        halves["pm"] = re.compile(f"{parts['pm']}|abend|(?<!vor)mittag|nachmittag")
    numbered = number, f"(?:{every})"
    return Glossary(words, numbers, scales, joined, part, halves, months, told["hour"], phrases, numbered)
