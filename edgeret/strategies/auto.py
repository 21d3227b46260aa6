"""Tools that demonstrations speak for, where the request is like one of them, and hybrid search elsewhere; and a
planner where tools are contested, if somebody measured that it helps. Knows nothing of how decisions are made."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from edgeret.strategies.base import Search, Strategy
from edgeret.strategies.fusion import latest
from edgeret.strategies.routing import Route, contested
from edgeret.types import Hit

RIVALS = 8
"""Tools of which some may be contested."""


def _views(search: Search, depth: int = 0) -> Iterator[list[Hit]]:
    yield search.mixed(depth)


def _routed(search: Search, route: Route, asked: Strategy) -> Iterator[list[Hit]]:
    mine: list[Hit] = []
    for mine in _views(search, RIVALS):
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
