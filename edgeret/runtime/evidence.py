"""A query as the prior sees it: its words, and the vectors of its windows and clauses, from one encoding. Knows nothing
of scores and of what was demonstrated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery
from edgeret.inputs.clauses import clause_spans
from edgeret.inputs.lexicon import Lexicon
from edgeret.inputs.words import words
from edgeret.scoring.prior import Evidence

WINDOW, STRIDE = 8, 4
"""Tokens of a window, and from one window's first to the next one's."""
MOST_WINDOWS, MOST_CLAUSES = 24, 24
"""Of a long request; windows then lie further apart."""


def evidence(query: str, encoded: EncodedQuery, lexicon: Lexicon) -> Evidence:
    """The evidence that a query and its one encoding hold for every tool of the lexicon."""
    tokens = encoded.tokens
    totals = np.zeros((len(tokens) + 1, encoded.rows.shape[1]), np.float32)
    np.cumsum(tokens, axis=0, out=totals[1:])
    starts = _window_starts(len(tokens))
    windows = _means(totals, starts, np.minimum(starts + WINDOW, len(tokens)))
    begins, ends = _clause_tokens(query, encoded.spans)
    clauses = _means(totals, begins, ends)
    whole = encoded.rows[:1]  # stands in where a query has no token or no clause of its own
    return Evidence(
        encoded.rows,
        windows if len(windows) else whole,
        clauses if len(clauses) else whole,
        lexicon.overlaps(words(query)),
        len(query.split()),
    )


def _window_starts(count: int) -> NDArray[np.intp]:
    """Where windows over so many tokens begin; the last one ends with the last token."""
    if count <= WINDOW:
        return np.zeros(min(count, 1), np.intp)
    stride = max(STRIDE, -(-count // MOST_WINDOWS))
    return np.unique(np.append(np.arange(0, count - WINDOW + 1, stride), count - WINDOW))


def _clause_tokens(query: str, spans: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which tokens each of the first clauses begins and ends with, the end excluded; clauses without tokens are left
    out."""
    clauses = np.array(clause_spans(query)[:MOST_CLAUSES], np.intp)
    begins = np.searchsorted(spans[:, 0], clauses[:, 0])
    ends = np.searchsorted(spans[:, 1], clauses[:, 1], side="right")
    held = ends > begins
    return begins[held], ends[held]


def _means(totals: NDArray[np.float32], begins: NDArray[np.intp], ends: NDArray[np.intp]) -> NDArray[np.float32]:
    """Unit means of spans of tokens, from running sums (tokens + 1, dimension): float32 (spans, dimension)."""
    sums = totals[ends] - totals[begins]
    sums /= np.sqrt(np.maximum(np.einsum("ij,ij->i", sums, sums), np.float32(1e-24)))[:, None]
    return sums
