"""When search should ask a planner: every request is searched for with and without one, and the least asking that
suffices is chosen. Knows nothing of how anything is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError
from edgeret.inputs.queries import RetrievalQuery
from edgeret.planner.answers import Answerer
from edgeret.runtime.runtime import Runtime
from edgeret.strategies import STRATEGIES
from edgeret.strategies.base import Found
from edgeret.strategies.rerank import FIRST, NAMED_FROM
from edgeret.strategies.routing import Route, contested
from edgeret.terminal.progress import track
from edgeret.types import Hit
from edgeret_export.planner.rewards import CUT, ndcg

SUFFICES, AIM = 0.99, 0.995
"""The share of the best nDCG@5 that is enough, and what is aimed at where a route is fitted: on other requests it is a
little less."""
PART = 0.25
"""Of the best strategy's mean time, what a route should take at most."""
LEAST = 20
"""Requests with tools below which nothing can be said."""
ALWAYS, NEVER = 0.0, 2.0
THRESHOLDS = (
    *(ALWAYS, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9),
    NEVER,
)
"""Shares of the first tool's that are tried."""


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search found, best first, its ms, and those that passed before tools were read one by one."""

    hits: tuple[Hit, ...]
    ms: float
    before: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """One request: the tools that it needs, what a search without a planner found, and by strategy what one found that
    asked."""

    tools: frozenset[str]
    plain: Searched
    asked: Mapping[str, Searched]

    def asks(self, route: Route | None) -> bool:
        """Whether a planner is asked by a route."""
        return route is not None and len(contested(self.plain.hits, route.contested)) > 1

    def worth(self, route: Route | None) -> tuple[float, float]:
        """nDCG@5 and ms by a route. Where a strategy reads tools one by one, and those alone that are contested, they
        stand among one another as among all, and the time of reading is their part of it. (Few of them are not named
        before; in their order here their names have a say all the same.)"""
        if route is None or not self.asks(route):
            return ndcg([hit.tool for hit in self.plain.hits], self.tools), self.plain.ms
        found = self.asked[route.strategy]
        asked = [hit.tool for hit in found.hits]
        if not STRATEGIES[route.strategy].by_tool:
            return ndcg(asked, self.tools), found.ms
        known = [hit.tool for hit in self.plain.hits]
        read = {known[i] for i in contested(self.plain.hits[:FIRST], route.contested)}
        ranking = [*(tool for tool in asked if tool in read), *(tool for tool in known if tool not in read)]
        part = len(read) / min(FIRST, len(known))
        named = max(self.plain.ms, found.before)
        before = named if len(read) >= NAMED_FROM else self.plain.ms
        return ndcg(ranking, self.tools), before + part * (found.ms - named)


def measure(
    runtime: Runtime, queries: Sequence[RetrievalQuery], strategies: Sequence[str], planner: Answerer | None
) -> list[Measured]:
    """Searches for every request without a planner and by each of the strategies. Raises InputError for strategies that
    ask none, and where there is no planner."""
    found = []
    for query in track(queries, "requests", len(queries)):
        plain = runtime.search_with_trace(query.query, max(CUT, FIRST))
        asked = {
            name: _searched(
                runtime.search_with_trace(query.query, max(CUT, FIRST), planner=planner, route=Route(name, ALWAYS, 0.0))
            )
            for name in strategies
        }
        found.append(Measured(frozenset(query.tools), _searched(plain), asked))
    return found


def _searched(found: Found) -> Searched:
    named = (event.ms for event in found.trace.events if event.kind == "rerank")
    return Searched(found.hits, found.trace.ms, next(named, 0.0))


def fit(measured: Sequence[Measured]) -> Route | None:
    """The route that takes the least time for AIM of the best mean nDCG@5, if that is a PART of the best strategy's; or
    else the one that finds most in that time, if it suffices beside the best strategy; or else the one that suffices
    in the least time, beside the best route.
    None where that is never to ask, or where what asking gains is within one standard error of nothing."""
    names = measured[0].asked if measured else ()
    routes = [Route(name, threshold, 0.0) for name in names for threshold in THRESHOLDS]
    if not routes:
        return None
    ndcg5, ms = np.array([np.mean(routed(measured, route), axis=1) for route in routes]).T
    # A strategy asks always or never; what lies between may find more than either, by chance or since it asks less.
    always, never = (np.array([route.contested == each for route in routes]) for each in (ALWAYS, NEVER))
    plain, strategies = ndcg5[never].max(), ndcg5[always | never].max()
    soon = ms <= PART * ms[always][ndcg5[always].argmax()]
    if (aimed := soon & (ndcg5 >= AIM * ndcg5.max())).any():
        order = np.lexsort((ms, ~aimed))
    elif (found := soon & (ndcg5 >= SUFFICES * strategies) & (ndcg5 > plain)).any():
        order = np.lexsort((ms, -ndcg5, ~found))
    else:
        order = np.lexsort((ms, ndcg5 < SUFFICES * ndcg5.max()))
    route = routes[int(order[0])]
    asking = [m.worth(route)[1] for m in measured if m.asks(route)]
    if not asking or not _more_than_chance(routed(measured, route)[0] - routed(measured, None)[0]):
        return None
    return replace(route, ms=round(float(np.quantile(asking, 0.9)), 1))


def _more_than_chance(gains: NDArray[np.float64]) -> bool:
    """Whether gains (requests,) are more than a standard error above nothing in the mean."""
    return bool(gains.mean() > gains.std(ddof=1) / len(gains) ** 0.5)


def routed(measured: Sequence[Measured], route: Route | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What each request would have had by a route: nDCG@5 (requests,) and ms (requests,)."""
    worth = np.array([m.worth(route) for m in measured], np.float64).reshape(-1, 2)
    return worth[:, 0], worth[:, 1]


def report(measured: Sequence[Measured], seed: int) -> dict[str, Any]:
    """The route for all requests, and what routes that were fitted on one half of them are worth on the other: none is
    taken whose like do not help there, since some threshold helps every set that it was chosen on."""
    if len(measured) < LEAST:
        raise InputError(f"{len(measured)} requests with tools, at least {LEAST} are needed to say when asking helps")
    order = np.random.default_rng(seed).permutation(len(measured))
    halves = [[measured[i] for i in sorted(half)] for half in (order[::2], order[1::2])]
    fitted = [routed(other, fit(half)) for half, other in (halves, halves[::-1])]
    ndcg5, ms = (np.concatenate([found[i] for found in fitted]) for i in (0, 1))
    plain = np.concatenate([routed(half, None)[0] for half in halves[::-1]])
    route = fit(measured) if _more_than_chance(ndcg5 - plain) else None
    rows = {"auto": _row(measured, None)}
    rows |= {name: _row(measured, Route(name, ALWAYS, 0.0)) for name in measured[0].asked}
    best = max(rows, key=lambda name: (rows[name]["ndcg5"], -rows[name]["ms"]))
    return {
        "route": None if route is None else route.to_dict(),
        "requests": len(measured),
        "asked": _asked(measured, route),
        "strategies": rows,
        "best": best,
        "held_out": {
            "ndcg5": round(float(ndcg5.mean()), 4),
            "ms": round(float(ms.mean()), 3),
            "of_best_ndcg5": round(float(ndcg5.mean() / max(rows[best]["ndcg5"], 1e-9)), 4),
            "of_best_ms": round(float(ms.mean() / rows[best]["ms"]), 4),
        },
        "frontier": _frontier(measured, rows),
    }


def _row(measured: Sequence[Measured], route: Route | None) -> dict[str, float]:
    ndcg5, ms = routed(measured, route)
    return {
        "ndcg5": round(float(ndcg5.mean()), 4),
        "ms": round(float(ms.mean()), 3),
        "ms_p50": round(float(np.median(ms)), 3),
        "ms_p90": round(float(np.quantile(ms, 0.9)), 3),
    }


def _asked(measured: Sequence[Measured], route: Route | None) -> float:
    """The share of the requests for which a planner is asked."""
    return round(sum(m.asks(route) for m in measured) / len(measured), 4)


def _frontier(measured: Sequence[Measured], rows: Mapping[str, Mapping[str, float]]) -> list[dict[str, float]]:
    """Accuracy against time as more is asked, for the strategy that finds most with a planner."""
    name = max((n for n in rows if n != "auto"), key=lambda n: rows[n]["ndcg5"])
    routes = [Route(name, threshold, 0.0) for threshold in reversed(THRESHOLDS)]
    found = [np.mean(routed(measured, route), axis=1) for route in routes]
    return [
        {
            "contested": route.contested,
            "asked": _asked(measured, route),
            "ndcg5": round(float(ndcg5), 4),
            "ms": round(float(ms), 3),
        }
        for route, (ndcg5, ms) in zip(routes, found, strict=True)
    ]
