"""In which language a text is: by its script, and by words that are said in one language and not in others. Knows
nothing of what is done with that.

Whoever is not sure says English: a request of a word or two, a name, code, a language without a file here.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from edgeret_export.reference.inputs.idle_tokens import IdleTokens
from edgeret_export.reference.inputs.language_rules import ENGLISH, LANGUAGES, Rules, content, pairs, rules_of

LOOKED_AT = 400
"""Characters of a text that are looked at."""
LEAST = 2
"""Words of a language that a text must have: one alone may be a name, or borrowed, unless it is long and there are
others, none of them English."""
TWICE = 2
"""So many times more than words that are English and not a language's are those that are its and not English."""
LONG = 5
"""Letters of a word that may stand for the language alone; and of one that is known by its ending, beside that."""
SURE = 3
"""Words more than English ones, from which on nobody doubts it."""
_LETTERS = re.compile(r"[^\W\d_]+")
_LATIN = re.compile("[a-z]+")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_KANA_OR_HANGUL = re.compile("[\u3040-\u30ff\u1100-\u11ff\uac00-\ud7af]")
_WITH_SPACES = LANGUAGES[1:-1]


class _Told(NamedTuple):
    """A language, how many of a text's words are its, and how many are English and not its."""

    language: str
    own: int
    english: int


def language_of(text: str) -> str:
    """The language of a text, one of LANGUAGES; English where nothing speaks for another one."""
    if _PLAIN(text[:LOOKED_AT].lower().split()):
        return ENGLISH
    return _told(text[:LOOKED_AT].lower()).language


def rules_in(text: str) -> Rules:
    """The rules of a text's language."""
    return rules_of(language_of(text))


def surely_not_english(text: str) -> str | None:
    """The language of a text that can be nothing else; None for English and wherever there is doubt."""
    if _PLAIN(text[:LOOKED_AT].lower().split()):
        return None
    found = _told(text[:LOOKED_AT].lower())
    return found.language if found.language != ENGLISH and found.own - found.english >= SURE else None


def _told(low: str) -> _Told:
    letters = [*dict.fromkeys(_LETTERS.findall(low))]  # "la la la" says no more than "la"
    if not low.isascii():
        # "TV继续": names stay in Latin letters, and one sign is a word or half of one.
        han, latin = len(_HAN.findall(low)), _LATIN.findall(low)
        english = sum(_mark(word) & 1 for word in latin)
        if han > len(latin) and han >= 2 * english and _KANA_OR_HANGUL.search(low) is None:
            return _Told("zh", han, english)
    marks = [_mark(word) for word in letters]
    best = _Told(ENGLISH, 0, 0)
    for number, language in enumerate(_WITH_SPACES, 1):
        mine, signs = 1 << number, 1 << number + len(_WITH_SPACES)
        own = sum(1 for mark in marks if mark & mine)
        against = sum(1 for mark in marks if mark & 1 and not mark & mine)
        # Of letters that English lacks one says as much as a word, and more of them no more: names have them, too.
        more = any(mark & signs for mark in marks) + (language == "es" and ("¿" in low or "¡" in low))
        alone = sum(1 for mark in marks if mark & mine and not mark & 1) + more
        enough = own + more >= LEAST or (not against and _alone(letters, marks, mine))
        if own + more > best.own and enough and alone > TWICE * against:
            best = _Told(language, own + more, against)
    return best


def _alone(letters: list[str], marks: list[int], mine: int) -> bool:
    """Whether one word may stand for a language: a long one among others."""
    return len(letters) > 1 and any(
        mark & mine and len(word) >= LONG for word, mark in zip(letters, marks, strict=True)
    )


def _mark(word: str) -> int:
    """What a word speaks for, bit by bit: English, each other language, and each one's letters in a word of none."""
    known = _MARKS.get(word)
    if known is not None:
        return known
    found = int(word in _markers(ENGLISH))
    for number, language in enumerate(_WITH_SPACES, 1):
        if word in _markers(language) or (not found & 1 and len(word) > LONG and word.endswith(_endings(language))):
            found |= 1 << number
        elif not word.isascii() and not _signs(language).isdisjoint(word):
            found |= 1 << number + len(_WITH_SPACES)
    if len(word) <= _LONGEST:
        if len(_MARKS) >= _MOST_MARKS:
            _MARKS.clear()
        _MARKS[word] = found
    return found


_LONGEST, _MOST_MARKS = 40, 1 << 13
_MARKS: dict[str, int] = {}
"""What was looked at before."""


@cache
def _endings(language: str) -> tuple[str, ...]:
    return tuple(" ".join(content(language)["endings"]).split())


@cache
def _signs(language: str) -> frozenset[str]:
    return frozenset(content(language)["letters"])


@cache
def _markers(language: str) -> frozenset[str]:
    """Words of a language, from all of its lists."""
    told = content(language)
    wishes, opposites = told["wishes"], told["opposites"]
    lists = ("openings", "fillers", "subordinate", "questions", "verbs", "final")
    sides = pairs() if language == ENGLISH else tuple(opposites["pairs"].values())
    texts = [*told["known"], *opposites["negations"], *(text for key in lists for text in wishes[key])]
    texts += [side for pair in sides for side in pair]
    # A letter alone is a list's number, or what an apostrophe left, but for the Spanish "and".
    return frozenset(word for word in _LETTERS.findall(" ".join(texts)) if len(word) > 1 or word == "y")


@cache
def _foreign() -> frozenset[str]:
    """Words of any other language that are not English as well."""
    return frozenset[str]().union(*map(_markers, _WITH_SPACES)) - _markers(ENGLISH)


def _matters(token: str) -> bool:
    return any(not word.isascii() or word in _foreign() for word in _LETTERS.findall(token))


_PLAIN = IdleTokens(_matters)
"""What no other language has: most requests in English consist of such."""
