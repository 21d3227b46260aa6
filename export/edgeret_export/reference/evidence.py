"""A query as the prior sees it: its words, and the vectors of its windows and clauses, from one encoding. Knows nothing
of scores and of what was demonstrated."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import partial

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery, segment_means
from edgeret_export.reference.inputs.asking import asks_for_knowledge, asks_question, is_bare
from edgeret_export.reference.inputs.clauses import Parts, clause_spans, parts
from edgeret_export.reference.inputs.language import rules_in
from edgeret_export.reference.inputs.language_rules import Rules
from edgeret_export.reference.lexicon import Lexicon
from edgeret_export.reference.scoring.nothing import Form, Put
from edgeret_export.reference.scoring.passages import Passages
from edgeret_export.reference.scoring.prior import Evidence
from edgeret_export.reference.scoring.wishes import Wishes

WINDOW, STRIDE = 8, 4
"""Tokens of a window, and from one window's first to the next one's."""
MOST_WINDOWS, MOST_CLAUSES = 24, 24
"""Of a long request; windows then lie further apart."""


def evidence(
    query: str,
    encoded: EncodedQuery | Passages,
    lexicon: Lexicon,
    positions: NDArray[np.intp] | None = None,
) -> Evidence:
    """The evidence that a query and its one encoding hold for every tool of the lexicon, or for those at `positions`,
    rising."""
    rules = rules_in(query)
    cut = parts(query, rules)
    found = encoded if isinstance(encoded, Passages) else _passages(query, encoded, cut.least, rules)
    opposed = lexicon.opposed(query, rules) if positions is None else None
    changing = lexicon.changing(query, rules) if positions is None else None
    asked = partial(_wishes, query, cut, len(found.clauses), lexicon, rules) if cut.wishes else None
    put = partial(_put, query, lexicon, positions is not None, rules)
    count, values = partial(rules.count, query), lexicon.values(query) if positions is None else None
    return Evidence(found, lexicon.overlaps(query, positions), count, asked, opposed, put, values, changing)


def _put(query: str, lexicon: Lexicon, few: bool, rules: Rules) -> Put:
    """How a query is put, and what of it one tool says."""
    form = Form(asks_question(query, rules), asks_for_knowledge(query, rules), is_bare(query, rules))
    return Put(form, *lexicon.explained(query, few))


def _wishes(query: str, cut: Parts, clauses: int, lexicon: Lexicon, rules: Rules) -> Wishes | None:
    """What a query of so many clauses asks for one after the other; None for clauses without tokens, or too many."""
    if len(cut.spans) != clauses:
        return None
    said = tuple(query[slice(*cut.spans[number])] for number in cut.wishes)
    opposed = [lexicon.opposed(part, rules) for part in said]
    spans = tuple(cut.spans[number] for number in cut.wishes)
    return Wishes(np.array(cut.wishes, np.intp), lexicon.said_in(query, said), said, spans, opposed)


def part_of(encoded: EncodedQuery, span: tuple[int, int]) -> EncodedQuery:
    """One clause of an encoded query, which holds a token, as a query of its own: its tokens as the whole query's
    encoding read them. `span` is where it stands in the query's text."""
    first, last = bisect_left(encoded.spans[:, 0], span[0]), bisect_right(encoded.spans[:, 1], span[1])
    tokens = encoded.tokens[first:last]
    rows = np.concatenate((_means(tokens, [0], [len(tokens)]), segment_means(tokens)))
    return EncodedQuery(rows, tokens, encoded.spans[first:last] - span[0])


def passages(query: str, encoded: EncodedQuery) -> Passages:
    """The query's parts, windows and clauses, the latter by means of its tokens' vectors."""
    rules = rules_in(query)
    return _passages(query, encoded, parts(query, rules).least, rules)


def _passages(query: str, encoded: EncodedQuery, least: int, rules: Rules) -> Passages:
    """The same, of clauses with at least so many words."""
    windows, clauses = _found(query, encoded, least, rules)
    whole = encoded.rows[:1]  # stands in where a query has no token or no clause of its own
    return Passages.of(encoded.rows, windows if len(windows) else whole, clauses if len(clauses) else whole)


def _found(
    query: str, encoded: EncodedQuery, least: int, rules: Rules
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The same of any query."""
    tokens, count = encoded.tokens, len(encoded.tokens)
    starts = _window_starts(count)
    begins, ends = _clause_tokens(query, encoded.spans, least, rules)
    # Windows and clauses in one go; a request of a word or two is made of small arrays.
    means = _means(tokens, [*starts, *begins], [*(min(start + WINDOW, count) for start in starts), *ends])
    return means[: len(starts)], means[len(starts) :]


def _window_starts(count: int) -> list[int]:
    """Where windows over so many tokens begin; the last one ends with the last token."""
    if count <= WINDOW:
        return [0][:count]
    starts = list(range(0, count - WINDOW + 1, max(STRIDE, -(-count // MOST_WINDOWS))))
    return starts if starts[-1] == count - WINDOW else [*starts, count - WINDOW]


def _clause_tokens(query: str, spans: NDArray[np.intp], least: int, rules: Rules) -> tuple[list[int], list[int]]:
    """Which tokens each of the first clauses begins and ends with, the end excluded; clauses without tokens are left
    out."""
    clauses = clause_spans(query, least, rules)
    if clauses == [(0, len(query))]:
        return ([0], [len(spans)]) if len(spans) else ([], [])
    firsts, lasts = spans[:, 0].tolist(), spans[:, 1].tolist()
    found = ((bisect_left(firsts, begin), bisect_right(lasts, end)) for begin, end in clauses[:MOST_CLAUSES])
    held = [(begin, end) for begin, end in found if end > begin]
    return [begin for begin, _ in held], [end for _, end in held]


def _means(tokens: NDArray[np.float32], begins: list[int], ends: list[int]) -> NDArray[np.float32]:
    """Unit means of spans of tokens' vectors (tokens, dimension): float32 (spans, dimension)."""
    # Each span is added up by itself: differences of running sums lose the digits that a long request's have in front.
    behind = np.concatenate((tokens, np.zeros((1, tokens.shape[1]), np.float32)))
    sums = np.add.reduceat(behind, np.ravel((begins, ends), "F").astype(np.intp), axis=0)[::2]
    sums /= np.sqrt(np.maximum(np.einsum("ij,ij->i", sums, sums), np.float32(1e-24)))[:, None]
    return sums
