"""Tools that demonstrations speak for, where the request is like one of them, and hybrid search elsewhere; and a
planner where neither is sure, if somebody measured that it helps. Knows nothing of how decisions are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from edgeret.inputs.clauses import split_clauses
from edgeret.strategies.base import Search, Strategy
from edgeret.strategies.clauses import MAX_CLAUSES
from edgeret.strategies.fusion import latest
from edgeret.strategies.routing import Route
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
    """The tools by what speaks for them; their shares are their probabilities."""
    ranked = sorted(found, key=lambda hit: -(share[hit.tool] + best.get(hit.tool, 0.0)))
    return [Hit(hit.tool, hit.similarity, best.get(hit.tool, 0.0)) for hit in ranked]


def _routed(search: Search, route: Route, asked: Strategy) -> Iterator[list[Hit]]:
    mine: list[Hit] = []
    for mine in _views(search):
        yield mine
    sure = max((hit.share or 0.0 for hit in mine), default=0.0)
    if sure >= route.ask_below:
        return
    if search.seconds_left * 1e3 < route.ms:
        search.note("route", f"{asked.name} would take {route.ms:.0f} ms, more than there is")
        return
    search.note("route", f"no tool has more than {sure:.2f}, so {asked.name} is asked")
    views = [mine]
    for hits in asked.views(search):
        views.append(hits)
        if search.answers and search.complete:  # else these are the request's own views again
            yield asked.fuse(views)


AUTO = Strategy("auto", _views, latest)
"""The tools with the highest probability for the request or, at half of it, for one of its clauses; hybrid search
breaks ties, and decides alone where nothing like the request was demonstrated."""


def routed(route: Route, asked: Strategy) -> Strategy:
    """`auto` that goes on to the strategy `asked`, which `route` names, where it is not sure."""
    return Strategy(AUTO.name, partial(_routed, route=route, asked=asked), AUTO.fuse, helped=True)
