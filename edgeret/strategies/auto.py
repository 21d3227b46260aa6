"""Tools that demonstrations speak for, where the request is like one of them, and hybrid search elsewhere; and a
planner where tools are contested, if somebody measured that it helps. Knows nothing of how decisions are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import log

from edgeret.inputs.clauses import split_clauses
from edgeret.strategies.base import Search, Strategy
from edgeret.strategies.clauses import MAX_CLAUSES
from edgeret.strategies.fusion import latest
from edgeret.strategies.routing import Route, contested
from edgeret.types import Hit

WHOLE = 0.25
"""How much of a clause's logarithm the whole request keeps: by itself a clause lacks what stands around it."""
FOUND = 0.05
"""What the logarithm of hybrid search's share counts for beside that of a probability."""
UNLIKELY, UNSHARED = 0.01, 1e-6
"""Added to probabilities, and the least share: far below both, tools are all the same."""


def _views(search: Search) -> Iterator[list[Hit]]:
    whole = search.decided(search.request)
    found = search.view(search.request, len(search.index.names))
    if whole is None:
        yield found
        return
    best = dict(whole)
    yield _ranked(found, best)
    for clause in split_clauses(search.request)[:MAX_CLAUSES]:
        for tool, probability in (search.decided(clause) or {}).items():
            alone = whole.get(tool, 0.0)
            best[tool] = max(best.get(tool, 0.0), alone**WHOLE * probability ** (1 - WHOLE))
    yield _ranked(found, best)


def _ranked(found: Sequence[Hit], best: Mapping[str, float]) -> list[Hit]:
    """The tools by what speaks for them; their shares are their probabilities."""

    def speaks(hit: Hit) -> float:
        share = log(max(hit.share or 0.0, UNSHARED))
        return log(best.get(hit.tool, 0.0) + UNLIKELY) + FOUND * share

    ranked = sorted(found, key=speaks, reverse=True)
    return [Hit(hit.tool, hit.similarity, best.get(hit.tool, 0.0)) for hit in ranked]


def _routed(search: Search, route: Route, asked: Strategy) -> Iterator[list[Hit]]:
    mine: list[Hit] = []
    for mine in _views(search):
        yield mine
    rivals = len(contested(mine, route.contested))
    if rivals < 2:
        return
    if search.seconds_left * 1e3 < route.ms:
        search.note("route", f"{asked.name} would take {route.ms:.0f} ms, more than there is")
        return
    why = f"{rivals} tools have at least {route.contested:g} of the first one's share, so {asked.name} is asked"
    search.note("route", why)
    search.contested = route.contested
    views = [mine]
    for hits in asked.views(search):
        views.append(hits)
        if search.answers and search.complete:  # else these are the request's own views again
            yield asked.fuse(views)


AUTO = Strategy("auto", _views, latest)
"""The tools with the highest probability for the request, or for one of its clauses and a little for the request;
hybrid search breaks ties, and decides alone where nothing like the request was demonstrated."""


def routed(route: Route, asked: Strategy) -> Strategy:
    """`auto` that goes on to the strategy `asked`, which `route` names, where its first tool is contested."""
    return Strategy(AUTO.name, partial(_routed, route=route, asked=asked), AUTO.fuse, helped=True)
