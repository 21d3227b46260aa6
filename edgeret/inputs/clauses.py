"""Splits a request into clauses by rule. No model, English only; knows nothing of vectors and tools.

A request that wants two things sits between both in vector space and near neither; its clauses do not. (Re-Invoke
has an LLM extract such intents; the rule reaches a part of that at no cost.)
"""

from __future__ import annotations

import re
from array import array

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
MIN_WORDS = 3
"""Of a clause."""
_LEAST_CHARACTERS = 6
"""Of such a clause and the boundary behind it."""
_EDGE = " \t\n,;:.!?"


def clause_spans(query: str) -> list[tuple[int, int]]:
    """Where the clauses of `query` with at least three words begin and end, in order; the whole if there is none."""
    if LIBRARY is not None and query.isascii():
        room = array("q", bytes(16 * (len(query) // _LEAST_CHARACTERS + 1)))
        at = room.buffer_info()[0]
        count = LIBRARY.edgeret_clauses(query.encode(), len(query), MIN_WORDS, len(room) // 2, at)
        ends = room[: 2 * count].tolist()
        return list(zip(ends[::2], ends[1::2], strict=True)) or [(0, len(query))]
    spans, start = [], 0
    for match in _BOUNDARY.finditer(query):
        spans.append((start, match.start()))
        start = match.end()
    spans.append((start, len(query)))
    found = [(begin, end) for begin, end in spans if len(query[begin:end].split()) >= MIN_WORDS]
    return found or [(0, len(query))]


def split_clauses(query: str) -> list[str]:
    """The clauses of `query` that have at least three words, in order, without repeats; never the query itself."""
    pieces = (query[begin:end].strip(_EDGE) for begin, end in clause_spans(query))
    clauses = dict.fromkeys(piece for piece in pieces if len(piece.split()) >= MIN_WORDS)
    return [clause for clause in clauses if clause != query.strip(_EDGE)]
