"""Words that turn a meaning round: "on" and "off", "louder" and "quieter", "don't". On which side of such a pair a
request is, and what a tool does. English, as plain data; another language's would stand beside it. Knows nothing of
scores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from edgeret.inputs.idle_tokens import IdleTokens
from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import stem, words
from edgeret.types import Tool

PAIRS = (
    ("on enable activate", "off disable deactivate"),
    (
        "up increase raise louder loud higher more brighter brighten bigger larger enlarge faster warmer stronger",
        "down decrease lower reduce quieter quiet softer less darker dim dimmer smaller shrink slower slow weaker",
    ),
    ("start begin resume continue play launch", "stop end pause halt cancel quit"),
    ("lock", "unlock"),
    ("open", "close shut"),
    ("add insert", "remove delete strike"),
    ("show display reveal", "hide"),
    ("mute silence", "unmute"),
    ("next forward skip", "previous back"),
    ("like", "unlike dislike"),
    ("subscribe", "unsubscribe"),
    ("follow", "unfollow"),
    ("block", "unblock"),
    ("read", "unread"),
    ("arm", "disarm"),
    ("comment", "uncomment"),
    ("connect join", "disconnect leave"),
    ("pin", "unpin"),
    ("accept approve", "decline reject refuse"),
    ("freeze", "unfreeze"),
    ("hold", "release"),
    ("buy", "sell"),
    ("upload", "download"),
    ("import", "export"),
    ("undo", "redo"),
    ("expand", "collapse"),
    ("heat warm", "cool"),
    ("install", "uninstall"),
    ("deposit", "withdraw"),
)
"""Words of like effect, and those of the opposite one."""
_SIDES: Mapping[str, int] = {
    stem(word): 2 * number + side for number, pair in enumerate(PAIRS) for side in (0, 1) for word in pair[side].split()
}


def side_of(word: str) -> int:
    """The number of the side that a word is on. Raises KeyError for a word of no pair."""
    return _SIDES[stem(word)]


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NEGATION_WORDS = "don't dont don’t not never without no doesn't doesn’t isn't can't"
_NEGATIONS = frozenset(_NEGATION_WORDS.split(" "))
_REACH = 2
"""Words behind a negation that it may turn round; the first one of a pair is."""
_SWITCHED_ON = re.compile(
    r"\b(?:turn|switch|flip|put|set|get|keep|leave|sound|light|lights|lamp)\w*\b(?:\W+\w+){0,4}?\W+on\b"
    r"|\bon(?=\W*$|\W*[.,;!?]|\W+(?:please|pls|again|now|and|then|for|at|in)\b)",
    re.IGNORECASE,
)
"""An "on" that is no preposition."""
_TICKED_OFF = re.compile(
    r"\b(?:tick|check|cross|take|drop|pay|call|put|day|time|week|hour|see|show|cut)\w*\b(?:\W+\w+){0,3}?\W+off\b",
    re.IGNORECASE,
)
"""An "off" that switches nothing off."""
_QUOTED = re.compile(
    r"^\W*(?:(?:please|pls|can|could|would|you|hey|and|then|also)\W+)*"
    r"(?:tell|ask|text|message|remind|inform)\W+(?:[^\W_]+\W+){1,2}?"
    r"(?:to|that|not\W+to)\W+(?=\w)",
    re.IGNORECASE,
)
"""What stands in front of words that are meant for somebody else."""


class Told(NamedTuple):
    """What a text says: numbers of sides, twice that of the pair for the first and one more for the second; the stems
    of words that a negation stands in front of; and those that are meant for somebody else."""

    sides: frozenset[int]
    negated: frozenset[str]
    quoted: frozenset[str]


NOTHING = Told(frozenset(), frozenset(), frozenset())


def told(query: str) -> Told:
    """What a request says of opposites; NOTHING for most."""
    low = query.lower()
    return NOTHING if _SAYING_NOTHING(low.split()) else _told(query, _WORD.findall(low))


def _told(query: str, said: list[str]) -> Told:
    quote = None if _TELLING.isdisjoint(said) else _QUOTED.match(query)
    quoted = frozenset(stem(word) for word in _WORD.findall(query[quote.end() :].lower())) if quote else frozenset()
    sides, negated, reach = set(), set(), 0
    if "on" in said and not _SWITCHED_ON.search(query):
        said = [word for word in said if word != "on"]
    if "off" in said and _TICKED_OFF.search(query):
        said = [word for word in said if word != "off"]
    for word in said:
        if word in _NEGATIONS:
            reach = _REACH
            continue
        short = stem(word)
        if short in quoted:
            continue
        side = _SIDES.get(short)
        if reach:
            negated.add(short)
            reach = 0 if side is not None else reach - 1
            side = None if side is None else side ^ 1
        if side is not None:
            sides.add(side)
    if not sides and not negated and not quoted:
        return NOTHING
    return Told(frozenset(sides), frozenset(negated), quoted)


_TELLING_WORDS = "tell ask text message remind inform"
_TELLING = frozenset(_TELLING_WORDS.split(" "))
_TRIGGERS = _NEGATIONS | _TELLING


def _matters(token: str) -> bool:
    return any(word in _TRIGGERS or stem(word) in _SIDES for word in _WORD.findall(token))


_SAYING_NOTHING = IdleTokens(_matters)


class Sides(NamedTuple):
    """What a tool does: the sides that its name says, the words of its name beside these, and the sides that it may
    take, as its description and the values of its parameters say."""

    named: frozenset[int]
    beside: frozenset[str]
    taken: frozenset[int]


def tool_sides(tool: Tool) -> Sides:
    """On which sides a tool is."""
    name = name_in_words(tool.name)
    beside = frozenset(word for word in words(name) if word not in _SIDES)
    return Sides(_sides(name), beside, _sides(" ".join((tool.description, *_values(tool)))))


def _sides(text: str) -> frozenset[int]:
    return frozenset(side for word in _WORD.findall(text.lower()) if (side := _SIDES.get(stem(word))) is not None)


def _values(tool: Tool) -> Iterable[str]:
    properties = tool.parameters.get("properties")
    for value in properties.values() if isinstance(properties, Mapping) else ():
        listed: Any = value.get("enum") if isinstance(value, Mapping) else None
        yield from (one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, str))
