"""Splits a request into clauses by rule, and says which of them ask for something. No model, English only; knows
nothing of vectors and tools.

A request that wants two things sits between both in vector space and near neither; its clauses do not. (Re-Invoke
has an LLM extract such intents; the rule reaches a part of that at no cost.)
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import NamedTuple

from edgeret.inputs.idle_tokens import IdleTokens
from edgeret.kernel import LIBRARY

# Space before a boundary is read from its beginning only: read from each of its characters, 20,000 spaces took 11 s.
_BOUNDARY = re.compile(
    r"""
      (?<=[.!?;:])\s+                                       # sentences
    | (?:(?<!\s)\s+)?(?:,\s*)?\b(?:and\s+then|and\s+also|as\s+well\s+as|after\s+that|afterwards?|in\s+addition
        |additionally|moreover|furthermore|plus|followed\s+by|along\s+with|while|then|also|and|or|but|so\s+that)\b\s*
    | (?:(?<!\s)\s+)?[,;]\s+
    """,
    re.IGNORECASE | re.VERBOSE,
)
MIN_WORDS, SHORT = 3, 2
"""Of a clause; and of one where a request asks for several things: "feed her", "then hang up"."""
MOST_WISHES = 3
"""Of a request that is read wish by wish; whoever asks for more tells a story, whose clauses stand for no call each."""
_MOST_CLAUSES = 24
"""Of such a request."""
_LEAST_CHARACTERS = 4
"""Of a clause and the boundary behind it."""
_EDGE = " \t\n,;:.!?"
_BEGINNING = 64
"""Characters of a clause in which its first words are looked for, and in front of it the word that joins it."""
_ADDS = re.compile(
    r"\b(?:then|also|after\s+that|afterwards?|in\s+addition|additionally|moreover|furthermore|plus|followed\s+by)\b",
    re.IGNORECASE,
)
"""What stands between two wishes; an "and" joins parts of one as well."""
_POLITE = re.compile(r"\b(?:please|pls|plz)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_OPENING_WORDS = "please pls plz just oh ok okay hey and then also plus so now quickly next lastly first"
_OPENINGS = frozenset(_OPENING_WORDS.split(" "))
_FILLER_WORDS = (
    "maybe kindly finally can could would will you u i i'd want need like to wanna gonna let's lets let me us we "
    "should go ahead don't do not never try"
)
_FILLERS = _OPENINGS | frozenset(_FILLER_WORDS.split(" "))
"""Words that a wish may begin with before it says what is to be done; and those of them that a question may."""
_SUBORDINATE_WORDS = "if because since which who whom whose that until unless although though as so whether like such"
_SUBORDINATE = frozenset(_SUBORDINATE_WORDS.split(" "))
"""Words whose clause says more of another one, and asks for nothing."""
_QUESTION_WORDS = "what what's how where where's when which who who's why is are"
_QUESTIONS = frozenset(_QUESTION_WORDS.split(" "))
_VERB_WORDS = (
    "accept activate add adjust alert announce answer approve archive arm arrange ask assign attach back begin "
    "bin block boil book bring brighten buy calculate call cancel change charge chase check choose clean clear "
    "close collapse comment compare compose compress connect convert cook cool copy correct count create crop cut "
    "cycle deactivate decline decrease delete describe dim disable disarm dismiss dock double download draft draw "
    "drive drop duplicate edit email enable end enter estimate expand explain export extend extract feed fetch "
    "file fill find finish fix flag follow forward freeze get give grab guide halve hang heat hide highlight hold "
    "hoover import increase indent insert inform install invite join jump keep label launch leave lighten like "
    "list listen load locate lock log look lower mail make mark measure merge message minimise minimize mop move "
    "mute name navigate note notify nudge open order organise organize pack park paste pause pay phone pick pin "
    "ping plan play pop post preheat prepare press print process pull push put queue raise read reboot recommend "
    "record redo redirect reduce refund reject release remind remove rename repeat replace reply report request "
    "reschedule reserve reset resize restart restore resume return reverse review ring roll rotate run save scan "
    "schedule scroll search select sell send set share shift shorten show shut silence skip snooze sort split "
    "star start stop store strike subscribe suggest sum summarise summarize switch sync take tag tell test text "
    "tick tighten toggle track transfer translate trim tune turn type unblock unlike unlock unmute unpin "
    "unsubscribe undo update upload use vacuum verify view wake warm wash watch water wipe write zip zoom"
)
_VERBS = frozenset(_VERB_WORDS.split(" "))
"""What users ask assistants to do, in one word."""


def clause_spans(query: str, least: int = MIN_WORDS) -> list[tuple[int, int]]:
    """Where the clauses of `query` with at least so many words begin and end, in order; the whole if there is none."""
    if LIBRARY is not None and query.isascii():
        room = array("q", bytes(16 * (len(query) // _LEAST_CHARACTERS + 1)))
        at = room.buffer_info()[0]
        count = LIBRARY.edgeret_clauses(query.encode(), len(query), least, len(room) // 2, at)
        ends = room[: 2 * count].tolist()
        return list(zip(ends[::2], ends[1::2], strict=True)) or [(0, len(query))]
    spans, start = [], 0
    for match in _BOUNDARY.finditer(query):
        spans.append((start, match.start()))
        start = match.end()
    spans.append((start, len(query)))
    found = [(begin, end) for begin, end in spans if len(query[begin:end].split()) >= least]
    return found or [(0, len(query))]


def split_clauses(query: str) -> list[str]:
    """The clauses of `query` that have at least three words, in order, without repeats; never the query itself."""
    pieces = (query[begin:end].strip(_EDGE) for begin, end in clause_spans(query))
    clauses = dict.fromkeys(piece for piece in pieces if len(piece.split()) >= MIN_WORDS)
    return [clause for clause in clauses if clause != query.strip(_EDGE)]


class Parts(NamedTuple):
    """How a request is cut: words that a clause needs; and the spans of its clauses with the numbers of those that ask
    for something, none where that is one thing."""

    least: int
    spans: Sequence[tuple[int, int]]
    wishes: Sequence[int]


def parts(query: str) -> Parts:
    """How `query` is cut."""
    if _WITHOUT_BOUNDARY(query.rstrip(_EDGE).split()):
        return _WHOLE
    spans = clause_spans(query, SHORT)
    asked = (
        [number for number, asks in enumerate(wishes(query, spans)) if asks] if 1 < len(spans) <= _MOST_CLAUSES else []
    )
    return Parts(SHORT, spans, asked) if 2 <= len(asked) <= MOST_WISHES else _WHOLE


_WHOLE = Parts(MIN_WORDS, (), ())
_MAY_BE_CUT = re.compile(
    r"[,;.!?:]$|\b(?:and|or|but|then|also|plus|while|after|afterwards?|well|addition|additionally|moreover|furthermore"
    r"|followed|along|so)\b",
    re.IGNORECASE,
)
"""What every boundary has, or more, between two spaces: most requests have none."""
_WITHOUT_BOUNDARY = IdleTokens(_MAY_BE_CUT.search)


def wishes(query: str, spans: Sequence[tuple[int, int]]) -> list[bool]:
    """Which of these clauses ask for something by themselves: those that begin with a verb or a question, say "please",
    or stand on either side of a "then" or "also". None that begins with "if", "because" or their like. All others tell
    what the wish is about: "I'm bored. Play a game with me"."""
    found: list[bool] = []
    behind, added, before, polite = 0, False, "", "pl" in query.lower() and _POLITE.search(query) is not None
    for begin, end in spans:
        words = _WORD.findall(query[begin : min(end, begin + _BEGINNING)].lower())
        opening = next((word for word in words if word not in _OPENINGS), "")
        adds = _ADDS.search(query, max(behind, begin - _BEGINNING), begin) is not None
        if adds and found and not added:
            found[-1] = before not in _SUBORDINATE
        asks = adds or opening in _QUESTIONS or next((word for word in words if word not in _FILLERS), "") in _VERBS
        asks = asks or (polite and _polite(query[begin:end]))
        found.append(asks and opening not in _SUBORDINATE)
        behind, added, before = end, adds, opening
    return found


def _polite(clause: str) -> bool:
    """Whether a clause says "please", and what."""
    return _POLITE.search(clause) is not None and len(clause.split()) > SHORT
