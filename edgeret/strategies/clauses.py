"""Splits a request into clauses by rule, so that each can be searched on its own. No model, English only.

A request that wants two things sits between both in vector space and near neither; its clauses do not. (Re-Invoke
has an LLM extract such intents; the rule reaches a part of that at no cost.)
"""

from __future__ import annotations

import re

from edgeret.encoders.base import Encoder
from edgeret.scoring.index import Index
from edgeret.types import Hit

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
_MIN_WORDS = 3
MAX_CLAUSES = 16
"""Clauses that are searched; each costs a run of the encoder."""


def by_clauses(request: str, k: int, encoder: Encoder, index: Index) -> list[Hit]:
    """The `k` tools that the request or one of its first MAX_CLAUSES clauses finds: a tool counts by its best rank,
    then by its best cosine (peak rank, as ToolQP joins its turns)."""
    best: dict[int, tuple[int, float]] = {}
    for part in (request, *split_clauses(request)[:MAX_CLAUSES]):
        positions, cosines = index.search(encoder.encode(part), k)
        for rank, (position, cosine) in enumerate(zip(positions.tolist(), cosines.tolist(), strict=True)):
            old_rank, old_cosine = best.get(position, (rank, cosine))
            best[position] = (min(rank, old_rank), max(cosine, old_cosine))
    ordered = sorted(best.items(), key=lambda item: (item[1][0], -item[1][1]))[:k]
    return [Hit(index.names[position], cosine) for position, (_, cosine) in ordered]


def split_clauses(query: str) -> list[str]:
    """The clauses of `query` that have at least three words, in order, without repeats; never the query itself."""
    pieces = (piece.strip(" \t\n,;:.!?") for piece in _BOUNDARY.split(query))
    clauses = dict.fromkeys(piece for piece in pieces if len(piece.split()) >= _MIN_WORDS)
    return [clause for clause in clauses if clause != query.strip(" \t\n,;:.!?")]
