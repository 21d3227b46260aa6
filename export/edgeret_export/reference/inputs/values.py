"""Kinds of values: which ones a text holds, by patterns, and which ones a tool takes, by its parameters' names and
formats. A path or an address says more of the tool that is meant than many words do. Words of five languages stand in
`value_words.json`, those of Chinese here; what holds anywhere is a pattern. Knows nothing of scores."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from edgeret.inputs.tool_text import name_in_words
from edgeret.types import Tool

TAKEN: Mapping[str, str] = {
    "url": "url uri link website webpage page domain site href",
    "email": "email mail recipient recipients to address sender attendee attendees cc from",
    "path": "path paths file filename folder directory dir source destination",
    "channel": "channel tag topic hashtag label",
    "iban": "iban account",
    "money": "amount price value cost budget total sum salary income",
    "time": "time at start end hour until when datetime clock",
    "date": "date day start end due deadline until when datetime month year birthday",
    "duration": "duration minutes hours seconds days length period timer interval",
    "phone": "phone number mobile tel telephone",
    "quoted": "message text title body content subject name query note comment caption",
    "number": "amount quantity count size limit number minutes days percent level width height weight value age",
    "percent": "percent percentage level rate brightness volume discount",
}
"""Words of parameters' names that tell which kinds of values they take."""
KINDS = tuple(TAKEN)
_BY_WORD: dict[str, tuple[int, ...]] = {}
for _number, _words in enumerate(TAKEN.values()):
    for _word in _words.split():
        _BY_WORD[_word] = (*_BY_WORD.get(_word, ()), _number)
_BY_FORMAT = {"uri": "url", "url": "url", "email": "email", "date": "date", "time": "time", "date-time": "date"}
_MOST_PARAMETERS, _DIGITS = 48, "0123456789"
MOST_CHARS = 4000
"""Of a text, in which values are looked for; behind them it tells a story."""
ENDINGS = "txt|md|pdf|csv|json|py|js|ts|html|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|zip|log|ya?ml|xml|mp[34]|wav|sh"
_MAY = re.compile(r"[0-9@#/*%$€£¥\"“«「'.一-鿿]")
"""What a token has that may be, or belong to, a value that no word of a list tells."""


def values_in(text: str) -> tuple[int, ...]:
    """The kinds of values that a text holds, as places among KINDS, rising."""
    # Each token tells once which patterns it may be part of: to search for all of them takes a hundred times as long.
    may = 0
    for token in text.split():
        kinds = _KEPT.get(token)
        may |= _told_by(token) if kinds is None else kinds
    if not may & _MATTERS:
        return ()
    sure = may >> _SURE if len(text) <= MOST_CHARS else 0
    text, patterns = text[:MOST_CHARS], _patterns()
    return tuple(
        kind
        for kind in range(len(KINDS))
        if sure >> kind & 1 or (may >> kind & 1 and patterns[kind].search(text) is not None)
    )


def values_taken(tool: Tool) -> tuple[int, ...]:
    """The kinds that a tool takes, by its first parameters, as places among KINDS, rising."""
    properties = tool.parameters.get("properties")
    found: set[int] = set()
    for name, value in list(properties.items())[:_MOST_PARAMETERS] if isinstance(properties, Mapping) else ():
        for word in name_in_words(str(name)).lower().split():
            found.update(_BY_WORD.get(word.rstrip(_DIGITS), ()))
        told: Any = value.get("format") if isinstance(value, Mapping) else None
        if isinstance(told, str) and told in _BY_FORMAT:
            found.add(KINDS.index(_BY_FORMAT[told]))
    return tuple(sorted(found))


MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec|mai|mär|mars|mayo"
_MATTERS = 1 << len(KINDS)
_SURE = len(KINDS) + 1
_KEPT: dict[str, int] = {}
_MOST_KEPT, _LONG = 1 << 13, 40


def _told_by(token: str) -> int:
    """A bit for each kind whose pattern the token may be part of, _MATTERS if a text with it may hold values, and from
    _SURE on a bit for each kind whose pattern it matches by itself: white space around it changes nothing."""
    word, begun = _triggers()
    found = sum(1 << kind for kind, may in enumerate(begun) if may.search(token) is not None)
    if _MAY.search(token) is not None or word.fullmatch(token) is not None:
        found |= _MATTERS
    for kind, pattern in enumerate(_patterns()):
        if found >> kind & 1 and pattern.search(token) is not None:
            found |= 1 << _SURE + kind
    if len(token) <= _LONG:
        if len(_KEPT) >= _MOST_KEPT:
            _KEPT.clear()
        _KEPT[token] = found
    return found


@cache
def _triggers() -> tuple[re.Pattern[str], tuple[re.Pattern[str], ...]]:
    """A token that is one of the words that matter; and for each of KINDS what some token of every match has."""
    date, time, unit = (listed(kind) for kind in ("date", "time", "unit"))
    by_kind = {
        "url": r"\.\w|//",
        "email": "@",
        "path": r"[/*]|\.\w|~",
        "channel": "#",
        "iban": r"[A-Z]{2}\d\d",
        "time": rf"\d:\d|[ap]\.?m\b|clock\b|h\b|uhr\b|\bat\b|点|\b(?:{time})\b",
        "date": rf"\d[-/.]\d|\d(?:st|nd|rd|th)\b|\b(?:{MONTH}|{date}|week|month|year)|[今明后昨]天|星期|周|月",
        "duration": rf"(?:{unit})\b|分钟|小时|天|星期|月",
        "quoted": "[\"“«「']",
    }
    begun = tuple(re.compile(by_kind.get(kind, r"\d"), 0 if kind == "iban" else re.IGNORECASE) for kind in KINDS)
    return re.compile(rf"\W*(?:{date}|{time}|{unit})\W*", re.IGNORECASE), begun


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """One for each of KINDS."""
    date, time, unit, count, money = (listed(kind) for kind in ("date", "time", "unit", "count", "money"))
    by_kind = {
        "url": r"https?://\S|\bwww\.\w|(?:^|(?<=[^\w@.+-]))[\w-]{2,40}(?:\.[\w-]{1,40}){0,3}"
        r"\.(?:com|org|net|io|dev|de|fr|es|cn|edu|gov|ai|app|co\.uk)\b",
        "email": r"\w@\w[\w-]{0,60}\.\w",
        "path": rf"(?:(?<=\s)|^)(?:~/|/)[\w.-]|\b[\w.-]{{1,60}}/[\w./-]{{1,200}}\.\w|\*\.\w"
        rf"|\b[\w-]{{1,60}}\.(?:{ENDINGS})\b",
        "channel": r"(?:(?<=\s)|^)#[^\W\d_]",
        "iban": r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3}",
        "money": rf"[$€£¥]\s?\d|\d\s?(?:€|£|元|块|(?:{money})\b)",
        "time": rf"\b\d{{1,2}}(?::\d\d)?\s?(?:[ap]\.?m\b|o'?clock\b|h\b|uhr\b)|\b(?:[01]?\d|2[0-3]):[0-5]\d\b"
        rf"|\bat \d{{1,2}}\b|\b(?:{time})\b|[\d一二三四五六七八九十]点",
        "date": rf"\b(?:{date})\b|\bnext (?:week|month|year)\b|\bthis (?:week|month)\b|\b\d{{4}}-\d\d-\d\d\b"
        rf"|\b\d{{1,2}}(?:st|nd|rd|th)\b|\b\d{{1,2}}/\d{{1,2}}\b|\b\d{{1,2}}\.\d{{1,2}}\.|\b(?:{MONTH})\.? \d{{1,2}}\b"
        rf"|\b\d{{1,2}}\.? (?:{MONTH})|今天|明天|后天|昨天|星期|周[一二三四五六日末]|\d月",
        "duration": rf"\b(?:\d+|{count})\s?(?:-\s?)?(?:{unit})\b"
        r"|[\d一二两三四五六七八九十半]+个?(?:分钟|小时|天|星期|月)",
        "phone": r"(?:^|(?<=[^\w:.-]))(?!\d{4}-\d\d-\d\d)\+?\d[\d ()-]{6,24}\d(?![\w:])",
        "quoted": r"[\"“«「][^\"”»」]{2}|(?:(?<=\s)|^)'[^']{3,200}'(?!\w)",
        "number": r"(?:^|(?<=[^\w.:/-]))\d+(?:[.,]\d+)?(?![\w:/-])",
        "percent": r"\d\s?(?:%|percent\b|prozent\b)",
    }
    return tuple(re.compile(by_kind[kind], 0 if kind == "iban" else re.IGNORECASE) for kind in KINDS)


@cache
def listed(kind: str) -> str:
    """A kind's words of all languages, as alternatives of a pattern, the longest first."""
    told = json.loads(Path(__file__).with_name("value_words.json").read_text("utf-8"))
    words = {word for words in told[kind].values() for word in words.split()}
    return "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))
