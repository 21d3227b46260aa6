"""Tools that demonstrations speak for, where the request is like one of them, and hybrid search elsewhere. Knows
nothing of how decisions are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from edgeret.inputs.clauses import split_clauses
from edgeret.strategies.base import Search, Strategy
from edgeret.strategies.clauses import MAX_CLAUSES
from edgeret.types import Hit

CLAUSE = 0.5
"""What a probability counts for that a clause gave, taken by itself: it lacks what stands around it."""
FOUND = 0.03
"""What the first tool of hybrid search has beside probabilities, the second half of it, the third a third."""


def _views(search: Search) -> Iterator[list[Hit]]:
    whole = search.decided(search.request)
    found = search.view(search.request, len(search.index.names))
    if whole is None:
        yield found
        return
    share = {hit.tool: FOUND / rank for rank, hit in enumerate(found, 1)}
    best = dict(whole)
    yield _ranked(found, share, best)
    for clause in split_clauses(search.request)[:MAX_CLAUSES]:
        for tool, probability in (search.decided(clause) or {}).items():
            best[tool] = max(best.get(tool, 0.0), CLAUSE * probability)
    yield _ranked(found, share, best)


def _ranked(found: Sequence[Hit], share: Mapping[str, float], best: Mapping[str, float]) -> list[Hit]:
    return sorted(found, key=lambda hit: -(share[hit.tool] + best.get(hit.tool, 0.0)))


AUTO = Strategy("auto", _views, lambda rankings: list(rankings[-1]))
"""The tools with the highest probability for the request or, at half of it, for one of its clauses; hybrid search
breaks ties, and decides alone where nothing like the request was demonstrated."""
