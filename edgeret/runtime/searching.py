"""One search: which strategy searches what, with which planner, and what the tools found need. Knows nothing of how a
strategy goes about it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf
from time import perf_counter

from edgeret.errors import InputError, MissingExtraError, PlannerError
from edgeret.planner.answers import Answerer
from edgeret.planner.lazy import LazyAnswerer
from edgeret.quoting import quoted
from edgeret.runtime.needs import with_needed
from edgeret.runtime.options import check_count
from edgeret.runtime.scorer import Scorer
from edgeret.strategies import STRATEGIES
from edgeret.strategies.auto import routed
from edgeret.strategies.base import Found, Search, Strategy, run
from edgeret.strategies.routing import Route


def search(
    scorer: Scorer,
    text: str,
    k: int,
    strategy: str,
    budget_ms: float | None,
    planner: Answerer | None,
    route: Route | None,
    needed: bool,
) -> Found:
    """What `Runtime.search_with_trace` gives, and raises; for a text that was checked."""
    started = perf_counter()
    components = scorer.components
    check_count("k", k)
    if not isinstance(needed, bool):
        raise InputError(f"needed must be True or False, found {type(needed).__name__}")
    known = STRATEGIES.get(strategy) if isinstance(strategy, str) else None
    if known is None:
        raise InputError(f"unknown strategy {quoted(str(strategy))}; choose one of {', '.join(STRATEGIES)}")
    if budget_ms is not None and not (isinstance(budget_ms, int | float) and 0 < budget_ms < inf):
        raise InputError(f"budget_ms must be a number above 0, or None for no bound, found {budget_ms!r}")
    one = Search(text, k, components.encoder, components.index, scorer.search, started=started)
    if budget_ms is not None:
        one.deadline = started + budget_ms / 1e3
    one.answerer, one.decider, one.tools = planner, scorer.decided, components.tools
    if route is not None:
        known = _routed(route, known)
    may_ask = known.asks or known.helped
    if planner is not None and not may_ask:
        how = "say when with a route (edgeret-export route)" if known.name == "auto" else "choose another one"
        raise InputError(f"strategy '{strategy}' asks no planner; {how}, or name no planner")
    if planner is None and may_ask and components.planner.exists:
        try:
            if budget_ms is None:
                components.planner.get()
            one.answerer = LazyAnswerer(components.planner)
        except (PlannerError, MissingExtraError) as error:
            if known.asks:
                raise
            one.complete = False
            one.note("problem", f"the planner could not be asked: {error}")
    # Read ahead of the search, which then knows how much of its budget is left.
    needs = scorer.needs if needed else None
    found = run(known, one)
    if needs is None:
        return found
    return replace(found, hits=tuple(with_needed(found.hits, needs, partial(scorer.cosine, one.request))))


def _routed(route: Route, known: Strategy) -> Strategy:
    """The strategy with a route. Raises InputError for one that takes none, and for a route that leads nowhere."""
    if not isinstance(route, Route):
        raise InputError(
            f"route must be an edgeret.Route, found {type(route).__name__}; read one with edgeret.read_route"
        )
    asked = STRATEGIES.get(route.strategy)
    if known.name != "auto":
        raise InputError(f"strategy '{known.name}' takes no route; search with strategy 'auto', or leave the route out")
    if asked is None or not (asked.asks or asked.helped):
        asking = [strategy.name for strategy in STRATEGIES.values() if strategy.asks or strategy.helped]
        raise InputError(
            f"the route's strategy {quoted(route.strategy)} asks no planner; expected one of {', '.join(asking)}"
        )
    return routed(route, asked)
