"""When search should ask a planner: every request is searched for with and without one, and the least asking that
suffices is chosen. Knows nothing of how anything is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.cli.progress import track
from edgeret.errors import InputError
from edgeret.inputs.query import RetrievalQuery
from edgeret.planner.answers import Answerer
from edgeret.runtime.runtime import Runtime
from edgeret.strategies.base import Found
from edgeret.strategies.routing import Route
from edgeret_export.planner.rewards import CUT, ndcg

SUFFICES = 0.99
"""The share of the best nDCG@5 that is enough."""
LEAST = 20
"""Requests with tools below which nothing can be said."""
ALWAYS = 2.0
FRONTIER = 20
"""Points of the curve of accuracy against time, at most."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One request: how sure the search without a planner was of its first tool, its nDCG@5 and ms, and the same by
    strategy with a planner asked."""

    sure: float
    plain: tuple[float, float]
    asked: Mapping[str, tuple[float, float]]


def measure(
    runtime: Runtime, queries: Sequence[RetrievalQuery], strategies: Sequence[str], planner: Answerer | None
) -> list[Measured]:
    """Searches for every request without a planner and by each of the strategies. Raises InputError for strategies that
    ask none, and where there is no planner."""
    found = []
    for query in track(queries, "requests", len(queries)):
        plain = runtime.search_with_trace(query.query, CUT)
        asked = {
            name: _worth(
                runtime.search_with_trace(query.query, CUT, planner=planner, route=Route(name, ALWAYS, 0.0)), query
            )
            for name in strategies
        }
        sure = max((hit.share or 0.0 for hit in plain.hits), default=0.0)
        found.append(Measured(sure, _worth(plain, query), asked))
    return found


def _worth(found: Found, query: RetrievalQuery) -> tuple[float, float]:
    """nDCG@5 and ms of a search."""
    return ndcg([hit.tool for hit in found.hits], query.tools), found.trace.ms


def fit(measured: Sequence[Measured]) -> Route | None:
    """The route whose mean nDCG@5 is at least SUFFICES of the best that any strategy reaches at any threshold, and that
    takes the least time for it; None where that is never to ask, or where what asking gains is within one standard
    error of nothing."""
    best = max((curve[0].max() for curve in _curves(measured).values()), default=0.0)
    plain = np.array([m.plain[0] for m in measured])
    chosen: tuple[float, Route, NDArray[np.float64]] | None = None
    for name, (means, times, thresholds) in _curves(measured).items():
        enough = np.flatnonzero(means >= SUFFICES * best)
        for i in enough[times[enough].argsort(kind="stable")[:1]].tolist():
            if chosen is None or times[i] < chosen[0]:
                asking = [m.asked[name][1] for m in measured]
                route = Route(name, round(float(thresholds[i]), 6), round(float(np.quantile(asking, 0.9)), 1))
                chosen = float(times[i]), route, routed(measured, route)[0] - plain
    if chosen is None or not chosen[1].ask_below:
        return None
    return chosen[1] if _more_than_chance(chosen[2]) else None


def _more_than_chance(gains: NDArray[np.float64]) -> bool:
    """Whether gains (requests,) are more than a standard error above nothing in the mean."""
    return bool(gains.mean() > gains.std(ddof=1) / len(gains) ** 0.5)


def routed(measured: Sequence[Measured], route: Route | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What each request would have had by a route: nDCG@5 (requests,) and ms (requests,)."""
    taken = [m.asked[route.strategy] if route is not None and m.sure < route.ask_below else m.plain for m in measured]
    worth = np.array(taken, np.float64).reshape(-1, 2)
    return worth[:, 0], worth[:, 1]


def _curves(
    measured: Sequence[Measured],
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]:
    """By strategy mean nDCG@5 and mean ms at every threshold of sureness, and the thresholds, the first of them 0."""
    sure = np.array([m.sure for m in measured])
    order = np.argsort(sure, kind="stable")
    plain = np.array([m.plain for m in measured])[order]
    # A threshold between two neighbours asks for all below it.
    thresholds = np.array([0.0, *((sure[order][:-1] + sure[order][1:]) / 2), ALWAYS])
    curves = {}
    for name in measured[0].asked if measured else ():
        asked = np.array([m.asked[name] for m in measured])[order]
        sums = plain.sum(axis=0) + np.concatenate(([[0.0, 0.0]], np.cumsum(asked - plain, axis=0)))
        means = sums / len(measured)
        curves[name] = (means[:, 0], means[:, 1], thresholds)
    return curves


def report(measured: Sequence[Measured], seed: int) -> dict[str, Any]:
    """The route for all requests, and what routes that were fitted on one half of them are worth on the other: none is
    taken whose like do not help there, since some threshold helps every set that it was chosen on."""
    if len(measured) < LEAST:
        raise InputError(f"{len(measured)} requests with tools, at least {LEAST} are needed to say when asking helps")
    order = np.random.default_rng(seed).permutation(len(measured))
    halves = [[measured[i] for i in sorted(half)] for half in (order[::2], order[1::2])]
    fitted = [routed(other, fit(half)) for half, other in (halves, halves[::-1])]
    ndcg5, ms = (np.concatenate([found[i] for found in fitted]) for i in (0, 1))
    plain = np.array([m.plain[0] for half in halves[::-1] for m in half])
    route = fit(measured) if _more_than_chance(ndcg5 - plain) else None
    rows = {"auto": _row([m.plain for m in measured])}
    rows |= {name: _row([m.asked[name] for m in measured]) for name in measured[0].asked}
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


def _row(worth: Sequence[tuple[float, float]]) -> dict[str, float]:
    ndcg5, ms = np.array(worth).T
    return {
        "ndcg5": round(float(ndcg5.mean()), 4),
        "ms": round(float(ms.mean()), 3),
        "ms_p50": round(float(np.median(ms)), 3),
        "ms_p90": round(float(np.quantile(ms, 0.9)), 3),
    }


def _asked(measured: Sequence[Measured], route: Route | None) -> float:
    """The share of the requests for which a planner is asked."""
    below = 0.0 if route is None else route.ask_below
    return round(sum(m.sure < below for m in measured) / len(measured), 4)


def _frontier(measured: Sequence[Measured], rows: Mapping[str, Mapping[str, float]]) -> list[dict[str, float]]:
    """Accuracy against time as the threshold rises, for the strategy that finds most with a planner."""
    name = max((n for n in rows if n != "auto"), key=lambda n: rows[n]["ndcg5"])
    means, times, thresholds = _curves(measured)[name]
    shown = np.unique(np.linspace(0, len(means) - 1, FRONTIER).round().astype(int)).tolist()
    return [
        {
            "ask_below": round(float(thresholds[i]), 4),
            "asked": round(i / len(measured), 4),
            "ndcg5": round(float(means[i]), 4),
            "ms": round(float(times[i]), 3),
        }
        for i in shown
    ]
