"""Words that turn a meaning round: "on" and "off", "louder" and "quieter", "don't". On which side of such a pair a
request is, by the rules of its language, and what a tool does, in English. Knows nothing of scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import stem, words
from edgeret.types import Tool
from edgeret_export.reference.inputs.idle_tokens import IdleTokens
from edgeret_export.reference.inputs.language import rules_in
from edgeret_export.reference.inputs.language_rules import ENGLISH, Rules, pairs, rules_of

_ENGLISH = rules_of(ENGLISH)
PAIRS = pairs()
"""Words of like effect, and those of the opposite one; in English, as tools are written."""


def side_of(word: str) -> int:
    """The number of the side that a word is on. Raises KeyError for a word of no pair."""
    return _ENGLISH.sides[stem(word)]


class Told(NamedTuple):
    """What a text says: numbers of sides, twice that of the pair for the first and one more for the second; the stems
    of words that a negation stands in front of; and those that are meant for somebody else."""

    sides: frozenset[int]
    negated: frozenset[str]
    quoted: frozenset[str]


NOTHING = Told(frozenset(), frozenset(), frozenset())


def told(query: str, rules: Rules | None = None) -> Told:
    """What a request says of opposites, by the `rules` of its language, or of the one that it seems to be in; NOTHING
    for most."""
    rules, low = rules_in(query) if rules is None else rules, query.lower()
    if rules is not _ENGLISH:
        # A negation reaches no further than its clause.
        return _told(query, [rules.word.findall(piece) for piece in rules.cut.split(low)], rules)
    return NOTHING if _SAYING_NOTHING(low.split()) else _told(query, [rules.word.findall(low)], rules)


def _told(query: str, pieces: Sequence[Sequence[str]], rules: Rules) -> Told:
    """The same, of the words of its pieces, lower case."""
    said = pieces[0] if len(pieces) == 1 else [word for piece in pieces for word in piece]
    quote = None if rules.telling.isdisjoint(said) else rules.quoted.match(query)
    quoted = frozenset(map(stem, rules.word.findall(query[quote.end() :].lower()))) if quote else _NO_WORDS
    if not rules.doubtful.isdisjoint(said):
        without = _without(query, said, rules)
        pieces = [[word for word in piece if word not in without] for piece in pieces]
    sides: set[int] = set()
    negated: set[str] = set()
    for piece in pieces:
        found, denied = _sides_of(piece, quoted, rules)
        sides.update(found)
        negated |= denied
    if not sides and not negated and not quoted:
        return NOTHING
    return Told(frozenset(sides), frozenset(negated), quoted)


_NO_WORDS: frozenset[str] = frozenset()


def _without(query: str, said: Sequence[str], rules: Rules) -> set[str]:
    """Words of a query that could be on a side, and as it is put are not."""
    found = {word for word, meant in rules.only_with.items() if word in said and not meant.search(query)}
    return found | {word for word, other in rules.only_without.items() if word in said and other.search(query)}


def _sides_of(piece: Iterable[str], quoted: frozenset[str], rules: Rules) -> tuple[list[int], set[str]]:
    """The sides that words are on, and the stems that are negated. Where a language negates what stands in front, too
    ("öffne sie nicht"), the last side in front is turned round if none behind is."""
    sides: list[int] = []
    negated: set[str] = set()
    reach, front, english = 0, -1, rules is _ENGLISH
    negations, known = rules.negations, rules.sides
    for word in piece:
        if word in negations:
            reach, front = rules.reach, len(sides) - 1
            continue
        short = stem(word)
        if short in quoted:
            continue
        side = known.get(short if english else word)
        if reach:
            negated.add(short)
            reach = 0 if side is not None else reach - 1
            if side is not None:
                side, front = side ^ 1, -1
        if side is not None:
            sides.append(side)
    if rules.behind and front >= 0:
        sides[front] ^= 1
    return sides, negated


_TRIGGERS = _ENGLISH.negations | _ENGLISH.telling


def _matters(token: str) -> bool:
    return any(word in _TRIGGERS or stem(word) in _ENGLISH.sides for word in _ENGLISH.word.findall(token))


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
    beside = frozenset(word for word in words(name) if word not in _ENGLISH.sides)
    return Sides(_sides(name), beside, _sides(" ".join((tool.description, *_values(tool)))))


def _sides(text: str) -> frozenset[int]:
    sides = (_ENGLISH.sides.get(stem(word)) for word in _ENGLISH.word.findall(text.lower()))
    return frozenset(side for side in sides if side is not None)


def _values(tool: Tool) -> Iterable[str]:
    properties = tool.parameters.get("properties")
    for value in properties.values() if isinstance(properties, Mapping) else ():
        listed: Any = value.get("enum") if isinstance(value, Mapping) else None
        yield from (one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, str))
