"""A request cut into words, numbers and marks, and where values of some kinds stand in it. Knows nothing of tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from edgeret.inputs.numerals import NUMERALS
from edgeret.inputs.words import COMMON
from edgeret_export.reference.inputs.glosses import GLOSSED, gloss
from edgeret_export.reference.inputs.language import language_of
from edgeret_export.reference.inputs.measures import UNITS
from edgeret_export.reference.inputs.numerals import SCALES, numeral
from edgeret_export.reference.inputs.values import ENDINGS, MOST_CHARS, listed
from edgeret_export.reference.inputs.when_patterns import MORE, QUARTERS, SHORT_LENGTHS, days_and_times, number_pattern

PATTERNS = (
    *("email", "url", "path", "phone", "date", "time", "moment", "duration", "percent", "money"),
    *("number", "measure", "quoted", "name", "code"),
)
"""The kinds of matches; a "moment" is a date with a time, a "name" a run of capitals, a "code" letters with digits. A
"serial", such as an account's number with its spaces, is a code too, and no part of it is anything."""
MOST_UNITS = 1200
"""Of a request; behind them it tells a story."""
_GLUED = "|".join(sorted((word for word in UNITS if word.isalpha()), key=len, reverse=True))
"""What may stand right behind a number: "40g" is a number and its unit, and no code."""
_MINUTES = r"\d{1,2}(?:m(?:ins?)?)?(?!\w)"
_SPLIT = rf"\d+(?=h{_MINUTES})|(?<=\d)h(?={_MINUTES})"  # "1h30"
_TIMES = r"(?<!\w)[1-9]\d{0,4}(?=x(?:[1-9]\d{0,4})?(?!\w))|(?<=\d)x(?=(?:[1-9]\d{0,4})?(?!\w))"  # "3x8", "2x daily"
_CUT = (
    rf"{_SPLIT}|{_TIMES}|\d+(?:[.,]\d+)*(?=(?i:{_GLUED})?(?!\w))"
    rf"|['’][sS]\b|[^\W\d_]+(?:['’](?![sS]\b)[^\W\d_]+)*(?!\w)|\w+|[^\w\s]"
)
_UNIT = re.compile(_CUT)
_HAN = "\u3400-\u4dbf\u4e00-\u9fff〇"
_UNITS_OF = {
    "fr": re.compile(rf"\b(?:[ldjnscmt]|qu)['’](?=\w)|{_CUT}", re.IGNORECASE),
    # Chinese has no spaces: each sign is a unit.
    "zh": re.compile(rf"[{_HAN}]|\d+(?:[.,:]\d+)*|[A-Za-z]+|[^\W{_HAN}\d_A-Za-z]+|[^\w\s]|_"),
}


class Unit(NamedTuple):
    """A word, a number, a possessive 's or one mark, with its characters and its text in lower case: in English, where
    `glosses` has it, and "" for one that belongs to the unit before it."""

    text: str
    start: int
    end: int
    lower: str

    @property
    def is_word(self) -> bool:
        """Whether it is a word or a number."""
        return self.text[0].isalnum()

    @property
    def known(self) -> str:
        """Its text, or in English where that is another."""
        return self.text if self.lower == self.text.lower() else self.lower


class Match(NamedTuple):
    """Units of a kind, from the first up to the one behind the last."""

    kind: str
    first: int
    last: int

    def holds(self, other: Any) -> bool:
        """Whether it has all units of another run, by `first` and `last`."""
        return bool(self.first <= other.first and other.last <= self.last)

    def cuts(self, other: Any) -> bool:
        """Whether it has these and more."""
        return self.holds(other) and (self.first, self.last) != (other.first, other.last)


class Reading(NamedTuple):
    """A request's first characters, their units, the values found among them, by kind, and `english`: the text with
    what `glosses` has of it, and where in that each unit stands."""

    text: str
    units: tuple[Unit, ...]
    matches: Mapping[str, tuple[Match, ...]]
    english: str
    places: Sequence[tuple[int, int]]

    def words(self, first: int, last: int) -> str:
        """The text from one unit up to another."""
        return self.text[self.units[first].start : self.units[last - 1].end]

    def whole(self, at: int) -> str:
        """A unit's text, in English where that is known; of the first of "13x18" all of it."""
        units, last = self.units, at + 2
        if last >= len(units) or units[at + 1].lower != "x" or not units[at].text[0].isdecimal():
            return units[at].known
        glued = units[at].end == units[at + 1].start and units[at + 1].end == units[last].start
        return self.text[units[at].start : units[last].end] if glued else units[at].known

    def glossed(self, first: int, last: int) -> str:
        """The same in English, as far as it is known."""
        return self.english[self.places[first][0] : self.places[last - 1][1]]


@lru_cache(64)
def read(text: str, language: str | None = None) -> Reading:
    """The units and values of a text, in the language that it seems to be in or another one; the same is read once."""
    text = text[:MOST_CHARS]
    language = language or language_of(text)
    pattern = _UNITS_OF.get(language, _UNIT)
    places = [match.span() for match in pattern.finditer(text)][:MOST_UNITS]
    said = [text[start:end] for start, end in places]
    lower, english = [word.lower() for word in said], text
    spans: Sequence[tuple[int, int]] = places
    if language in GLOSSED:
        glossed = gloss(text, places, language)
        english, spans = _joined(text, places, glossed)
        lower = [word.lower() for word in glossed]
    units = tuple(Unit(word, *place, low) for word, place, low in zip(said, places, lower, strict=True))
    return Reading(text, units, _matches(english, spans, units), english, spans)


def _joined(text: str, places: Sequence[tuple[int, int]], glossed: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """The glosses as one text, with what stands between them, and their places."""
    found: list[str] = []
    spans: list[tuple[int, int]] = []
    at = before = 0
    changed = False  # what runs into another word in one language may be two words in the other
    for (start, end), word in zip(places, glossed, strict=True):
        between = text[before:start] if word else ""
        now = word != text[start:end]
        if word and not between and (now or changed) and spans and word[0].isalnum():
            between = " "
        found += [between, word]
        begin = at + len(between)
        at = begin + len(word)
        spans.append((begin, at))
        before, changed = end, now
    return "".join(found), spans


def _matches(text: str, places: Sequence[tuple[int, int]], units: Sequence[Unit]) -> dict[str, tuple[Match, ...]]:
    first = {start: i for i, (start, end) in reversed([*enumerate(places)]) if end > start}
    last = {end: i + 1 for i, (_, end) in enumerate(places)}
    found: dict[str, list[Match]] = {kind: [] for kind in (*PATTERNS, "serial")}
    for kind, pattern in _patterns():
        for match in pattern.finditer(text):
            group = next((name for name in pattern.groupindex if match[name] is not None), 0)
            begin, end = match.span(group)
            if begin in first and end in last and begin < end:
                found[kind].append(Match(kind, first[begin], last[end]))
    _whole_serials(found)
    measured = [one for one in found["code"] if _is_measure(units, one)]
    # "14C" may be a seat, and "40g" is none.
    found["code"] = [one for one in found["code"] if one not in measured or units[one.first + 1].text.isupper()]
    whole = [
        *found["date"],
        *found["time"],
        *(one for one in found["code"] if one not in measured and not _is_size(units, one)),
        *found["phone"],
    ]
    found["number"] = [
        match
        for match in _numbers(units)
        if not any(one.first <= match.first and match.last <= one.last and one[1:] != match[1:] for one in whole)
    ]
    found["measure"] = list(_measures(units, found["number"]))
    found["name"] = [
        name
        for name in _names(units)
        if not any(one.first < name.last < one.last or one.first < name.last == one.last for one in found["serial"])
        and not any(one.first < name.first and name.last <= one.last for one in found["measure"])
    ]
    found["moment"] = list(_moments(units, found["date"], found["time"]))
    return {kind: tuple(matches) for kind, matches in found.items() if matches}


def _whole_serials(found: dict[str, list[Match]]) -> None:
    """Makes numbers of accounts, cards and orders, with their spaces and dashes, codes; no part of one is a code or a
    phone number."""
    found["serial"] = [
        one
        for one in found["serial"]
        if not any(other.first <= one.first and one.last <= other.last and other != one for other in found["serial"])
    ]
    for kind in ("code", "phone"):
        found[kind] = [
            match
            for match in found[kind]
            if not any(one.first <= match.first and match.last <= one.last for one in found["serial"])
        ]
    whens = [*found["date"], *found["time"], *found["duration"]]
    found["code"] = [
        match
        for match in found["code"]
        if not any(one.first <= match.first and match.last <= one.last for one in whens)
    ]
    found["code"] += [Match("code", one.first, one.last) for one in found["serial"]]


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Kinds that are told by characters. A group `v` is the value, where that is not all of it."""
    date, time, unit, count, money = (listed(kind) for kind in ("date", "time", "unit", "count", "money"))
    count = rf"{count}|{'|'.join(NUMERALS)}"
    days, clock = days_and_times(date, time, unit, count)
    amount = r"\d{1,18}(?:[.,]\d{1,18}){0,6}"
    number, more, quarters = number_pattern(), MORE, QUARTERS
    single = r"(?<!\w)['‘](?P<v>[^'’\n]{2,200}(?:['’](?:s|t|m|re|ve|ll|d)\b[^'’\n]{0,200}){0,3})['’](?!\w)"
    patterns = (
        # Chinese has no spaces: "mail an@qq.com" may stand between its signs
        ("email", rf"(?:(?![{_HAN}])[\w.+-]){{1,64}}@[\w-]{{1,63}}(?:\.(?:(?![{_HAN}])[\w-]){{2,63}}){{1,4}}"),
        ("url", r"https?://[^\s<>\"“”]{0,400}[^\s<>\"“”'’`.,;:!?)\]]|\bwww\.[\w./?=&%#-]{1,300}[\w/]"),
        ("url", r"(?<![\w@./-])[\w-]{2,40}(?:\.[\w-]{2,40}){0,3}\.(?:com|org|net|io|dev|edu|gov|co\.uk)(?![\w@])"),
        ("path", r"(?<!\S)(?:~/|/)[\w./-]{0,200}[\w/]|(?<![\w@/:.])[\w-][\w.-]{0,60}(?:/[\w.-]{1,60}){1,8}(?<!\.)"),
        ("path", rf"(?<![\w/])[\w-]{{1,60}}(?:\.[\w-]{{1,20}})?\.(?:{ENDINGS})\b"),
        ("phone", r"(?<![\w:.-])(?!\d{4}-\d\d-\d\d)\+?\d(?:[ ()/-]{0,2}\d){6,14}(?![\w:])"),
        (
            "serial",
            r"(?<![\w.,/-])(?!\d{4}-\d\d-\d\d)\d{2,}(?:-\d{2,}){2,}(?![\w-])|(?<![\w.,])(?:\d{4} ){3}\d{1,4}(?!\w)",
        ),
        ("date", rf"(?<!\w)(?:{'|'.join(days)})(?!\w)"),
        ("time", rf"(?<![\w.])(?:{'|'.join(clock)})(?!\w)"),
        ("duration", rf"(?<!\w)(?:half an?|{quarters}|{number}{more})[ -]?(?:{unit}){more}\b"),
        ("duration", rf"(?<!\w){number} (?:{unit})(?: and)? {number} (?:{unit})\b"),
        *(("duration", pattern) for pattern in SHORT_LENGTHS),
        ("percent", r"(?<!\d)\d{1,18}(?:[.,]\d{1,18})? ?(?:%|percent\b|per cent\b|prozent\b)"),
        ("money", rf"[$€£¥] ?{amount}(?:[km](?!\w))?|(?<!\d){amount}(?: ?[km])? ?(?:€|£|元|块|(?:{money})\b)"),
        ("quoted", r"\"(?P<v>[^\"]{1,600})\"|“(?P<w>[^”]{1,600})”"),
        ("quoted", r"«\s?(?P<v>[^»]{1,600}?)\s?»|「(?P<w>[^」]{1,600})」"),
        ("quoted", r"`(?P<v>[^`]{1,600})`|''(?P<w>[^'\n]{2,200})''"),
        ("quoted", single),
    )
    code = (
        r"(?<![\w@.+#/-])(?!\d{1,2}-\d{1,2}[ap]m)(?![1-9]\d{0,4}x(?!\w))"
        r"(?=[\w-]{0,24}\d)(?=[\w-]{0,24}[A-Za-z_])[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*(?![\w@])",
        r"(?<![\w@])[A-Z]+(?:_[A-Z]+)+(?!\w)|(?<![\w@./-])(?!\d{1,2}-\d{1,2}[ap]m)[a-z0-9]+(?:-[a-z0-9]+)+(?![\w@.-])",
        r"#\d+|(?<![\w.])\d+(?:\.\d+){2,}(?![\w.])",
    )
    serial = (
        r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b",
        # "ID 456" is the number alone
        r"(?<![\w-])(?!ID |NO )[A-Z]{1,4}[ -]\d{3,}(?:[ -]\d{2,})*(?![\w-])",
    )
    found = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in patterns]
    exact = [("code", pattern) for pattern in code] + [("serial", pattern) for pattern in serial]
    return (*found, *((kind, re.compile(pattern)) for kind, pattern in exact))


def _numbers(units: Sequence[Unit]) -> Iterator[Match]:
    """Numbers in digits, and in English words."""
    words = [unit.lower for unit in units]
    at = 0
    while at < len(units):
        end = at + 1
        while end < len(words) and not words[end]:
            end += 1
        if words[at][:1].isdecimal():
            end += end < len(words) and words[end] in SCALES
            end += _has_part(words, end)
            if _DIGITS.fullmatch(words[at]):
                yield Match("number", at, end)
        else:
            value, behind = numeral(words, at)
            behind += _has_part(words, behind) if value is not None else 0
            # "the one of Tuesday" counts nothing.
            rare = words[at] in ("once", "twice") and words[at + 1 : at + 2] not in _EVERY
            if value is not None and words[at:behind] != ["one"] and not rare:
                yield Match("number", at, behind)
            end = max(end, behind)
        at = end


def _has_part(words: Sequence[str], at: int) -> int:
    """How many words a part of one more has, behind a number: "and a half"."""
    return 3 * (words[at : at + 3] in (["and", "a", "half"], ["and", "a", "quarter"]))


def _is_measure(units: Sequence[Unit], one: Match) -> bool:
    """Whether it is a number and its unit, written as one word."""
    return one.last - one.first == 2 and units[one.first].text[0].isdecimal() and units[one.first + 1].lower in UNITS


def _is_size(units: Sequence[Unit], one: Match) -> bool:
    """Whether it is two numbers with an x between them: "13x18"."""
    return one.last - one.first == 3 and units[one.first + 1].lower == "x"


def _measures(units: Sequence[Unit], numbers: Sequence[Match]) -> Iterator[Match]:
    """Numbers with a unit behind them, "5 kg 200 g", and "half a litre"."""
    before, larger = Match("measure", 0, 0), ("", 0.0)
    for number in numbers:
        at = number.last + (number.last < len(units) and units[number.last].text == "°")
        at += number.last == at < len(units) and units[at].lower in _DEGREES
        known = UNITS.get(units[at].lower) if at < len(units) else None
        if known is not None and (known[0] in "CF" or units[at - 1].lower not in _DEGREES):
            yield (one := Match("measure", number.first, at + 1))
            if known[0] == larger[0] and known[1] < larger[1] and before.last == number.first:
                yield (one := Match("measure", before.first, at + 1))
            before, larger = one, known
    for at, unit in enumerate(units):
        if " " in unit.lower and unit.lower[0].isdecimal() and unit.lower.rpartition(" ")[2] in UNITS:
            behind = next((i for i in range(at + 1, len(units)) if units[i].lower), len(units))
            yield Match("measure", at, behind)
    for at in range(len(units) - 2):
        if units[at].lower == "half" and units[at + 1].lower in ("a", "an") and units[at + 2].lower in UNITS:
            yield Match("measure", at, at + 3)


def _names(units: Sequence[Unit]) -> Iterator[Match]:
    """Runs of capitals; the first word of a sentence is one where another one follows, or where it is no plain word."""
    at = 0
    while at < len(units):
        end = at
        while end < len(units) and _is_capital(units, end, at):
            end += 1
        # A small word between two capitals belongs to a name: "Isle of Man".
        while at < end < len(units) - 1 and units[end].lower in _INSIDE and _is_capital(units, end + 1, at):
            end += 2
        if end > at and not (end == at + 1 and (_begins(units, at) or units[at].lower in COMMON)):
            begin = at + 1 if _begins(units, at) and end > at + 1 and units[at].lower in _OPENERS else at
            yield Match("name", begin, end)
            if end < len(units) and units[end].text.isdecimal():
                yield Match("name", begin, end + 1)
        at = max(end, at + 1)


def _is_capital(units: Sequence[Unit], at: int, first: int) -> bool:
    unit = units[at]
    if unit.lower != unit.text.lower():
        return False
    if unit.text[0].isupper() and unit.text != "I" and not unit.lower.startswith(("i'", "i’")):
        return True
    if at == first:
        return False
    before = units[at - 1]
    if unit.text == "." and len(before.text) > _INITIAL:
        return False
    joined = unit.text in "&-'’." and unit.start == before.end + (unit.text == "&") and at + 1 < len(units)
    return joined and units[at + 1].text[0].isupper() and units[at + 1].start <= unit.end + (unit.text in "&.")


def _begins(units: Sequence[Unit], at: int) -> bool:
    """Whether a sentence begins with a unit."""
    return at == 0 or units[at - 1].text in _ENDS


def _moments(units: Sequence[Unit], dates: Sequence[Match], times: Sequence[Match]) -> Iterator[Match]:
    """A date and a time beside each other, "at" or a comma between them or not."""
    pairs = [(a, b) for a in dates for b in times] + [(b, a) for a in dates for b in times]
    for a, b in pairs if len(pairs) < _MOST_PAIRS else ():
        between = [unit.lower for unit in units[a.last : b.first]]
        if b.first >= a.last and len(between) <= 2 and _JOINTS.issuperset(between):
            yield Match("moment", a.first, b.last)


_EVERY = (["a"], ["per"], ["daily"], ["every"], ["each"])
"""What makes "once" and "twice" numbers."""
_MOST_PAIRS, _INITIAL = 400, 3
_DEGREES = frozenset(("degrees", "degree"))
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_INSIDE = frozenset(("of", "the", "de", "la", "van", "von", "und", "and", "du", "der"))
_ENDS = frozenset('.!?:;•"“”')
_JOINTS = frozenset(("at", "on", "the", ",", "um", "à", "from", ""))
_OPENER_WORDS = (
    "add ask book buy call cancel change check close convert create delete dim do does did email find fix forward "
    "get give has have hello hey hi how i invite is join let list listen look mail make message move open order "
    "pause pay play please put read remind remove rename send set share show start stop tell text the then turn "
    "what when where which who write"
)
_OPENERS = frozenset(_OPENER_WORDS.split(" "))
"""First words of sentences that are no part of a name behind them."""
