"""Splits a request into clauses by the rules of its language, and says which of them ask for something. No model; knows
nothing of vectors and tools.

A request that wants two things sits between both in vector space and near neither; its clauses do not. (Re-Invoke
has an LLM extract such intents; the rule reaches a part of that at no cost.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from edgeret_export.reference.inputs.idle_tokens import IdleTokens
from edgeret_export.reference.inputs.language import rules_in
from edgeret_export.reference.inputs.language_rules import ENGLISH, Rules, rules_of

MIN_WORDS, SHORT = 3, 2
"""Of a clause; and of one where a request asks for several things: "feed her", "then hang up"."""
MOST_WISHES = 3
"""Of a request that is read wish by wish; whoever asks for more tells a story, whose clauses stand for no call each."""
_MOST_CLAUSES = 24
"""Of such a request."""
_EDGE = " \t\n,;:.!?。，；：！？"
_BEGINNING = 64
"""Characters of a clause in which its first words are looked for, and in front of it the word that joins it."""
_ENGLISH = rules_of(ENGLISH)


def clause_spans(query: str, least: int = MIN_WORDS, rules: Rules | None = None) -> list[tuple[int, int]]:
    """Where the clauses of `query` with at least so many words begin and end, in order; the whole if there is none. By
    the `rules` of its language, or of the one that it seems to be in."""
    rules = rules_in(query) if rules is None else rules
    spans, start = [], 0
    for match in rules.cut.finditer(query):
        spans.append((start, match.start()))
        start = match.end()
    spans.append((start, len(query)))
    found = [(begin, end) for begin, end in spans if rules.count(query[begin:end]) >= least]
    return found or [(0, len(query))]


def split_clauses(query: str) -> list[str]:
    """The clauses of `query` that have at least three words, in order, without repeats; never the query itself."""
    rules = rules_in(query)
    pieces = (query[begin:end].strip(_EDGE) for begin, end in clause_spans(query, rules=rules))
    clauses = dict.fromkeys(piece for piece in pieces if rules.count(piece) >= MIN_WORDS)
    return [clause for clause in clauses if clause != query.strip(_EDGE)]


class Parts(NamedTuple):
    """How a request is cut: words that a clause needs; and the spans of its clauses with the numbers of those that ask
    for something, none where that is one thing."""

    least: int
    spans: Sequence[tuple[int, int]]
    wishes: Sequence[int]


def parts(query: str, rules: Rules | None = None) -> Parts:
    """How `query` is cut, by the `rules` of its language, or of the one that it seems to be in."""
    rules = rules_in(query) if rules is None else rules
    if rules is _ENGLISH and _WITHOUT_BOUNDARY(query.rstrip(_EDGE).split()):
        return _WHOLE
    spans = clause_spans(query, SHORT, rules)
    asked = []
    if 1 < len(spans) <= _MOST_CLAUSES:
        asked = [number for number, asks in enumerate(wishes(query, spans, rules)) if asks]
    return Parts(SHORT, spans, asked) if 2 <= len(asked) <= MOST_WISHES else _WHOLE


_WHOLE = Parts(MIN_WORDS, (), ())
_MAY_BE_CUT = re.compile(
    r"[,;.!?:]$|\b(?:and|or|but|then|also|plus|while|after|afterwards?|well|addition|additionally|moreover|furthermore"
    r"|followed|along|so)\b",
    re.IGNORECASE,
)
"""What every English boundary has, or more, between two spaces: most requests have none."""
_WITHOUT_BOUNDARY = IdleTokens(_MAY_BE_CUT.search)


def wishes(query: str, spans: Sequence[tuple[int, int]], rules: Rules) -> list[bool]:
    """Which of these clauses ask for something by themselves: those that begin with a verb or a question, say "please",
    or stand on either side of a "then" or "also". None that begins with "if", "because" or their like. All others tell
    what the wish is about: "I'm bored. Play a game with me". In German a clause asks as well whose end says what is to
    be done, unless that is the other half of a verb in front: "mach das Licht in Bad und Flur an"."""
    found: list[bool] = []
    behind, added, before, half = 0, False, "", False
    polite = (rules is not _ENGLISH or "pl" in query.lower()) and rules.polite.search(query) is not None
    for begin, end in spans:
        words = rules.word.findall(query[begin : min(end, begin + _BEGINNING)].lower())
        opening = next((word for word in words if word not in rules.openings), "")
        adds = rules.adds.search(query, max(behind, begin - _BEGINNING), begin) is not None
        if adds and found and not added:
            found[-1] = before not in rules.subordinate
        first = next((word for word in words if word not in rules.fillers), "")
        ends = bool(rules.final) and _ends_so(query[begin:end], rules)
        asks = adds or first in rules.verbs or (ends and not half)
        asks = asks or (opening in rules.questions if rules.spaces else not rules.questions.isdisjoint(words))
        asks = asks or (polite and opening != "" and _polite(query[begin:end], rules))
        half = (half or first in rules.halves) and not ends
        found.append(asks and opening not in rules.subordinate)
        behind, added, before = end, adds, opening
    return found


def _polite(clause: str, rules: Rules) -> bool:
    """Whether a clause says "please", and what."""
    return rules.polite.search(clause) is not None and rules.count(clause) > SHORT


def _ends_so(clause: str, rules: Rules) -> bool:
    """Whether a clause ends with what is to be done, and does not tell how things are."""
    words = rules.word.findall(clause[-_BEGINNING:].lower())
    last = next((word for word in reversed(words) if word not in rules.openings), "")
    return last in rules.final and rules.stating.isdisjoint(words)
