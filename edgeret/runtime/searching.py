"""A search as it was asked for: which strategy, who may be asked, how long it may take, and each of its texts. Loaded
with the first search, since a decision needs no strategies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from edgeret.core.model import Task
from edgeret.errors import InputError, MissingExtraError, PlannerError
from edgeret.planner.answers import Answerer, LocalAnswerer
from edgeret.quoting import quoted
from edgeret.runtime.loaded import Loaded
from edgeret.runtime.needs import with_needed
from edgeret.runtime.tool_finder import ToolFinder
from edgeret.strategies import STRATEGIES
from edgeret.strategies.auto import routed
from edgeret.strategies.base import Finder, Found, Search, Strategy, run, together
from edgeret.strategies.routing import Route


def chosen(strategy: str, budget_ms: float | None) -> Strategy:
    """The strategy of that name. Raises InputError for none, and for a budget that is none."""
    known = STRATEGIES.get(strategy) if isinstance(strategy, str) else None
    if known is None:
        raise InputError(f"unknown strategy {quoted(str(strategy))}; choose one of {', '.join(STRATEGIES)}")
    if budget_ms is not None and not (isinstance(budget_ms, int | float) and 0 < budget_ms < inf):
        raise InputError(f"budget_ms must be a number above 0, or None for no bound, found {budget_ms!r}")
    return known


def find(
    loaded: Loaded,
    texts: Sequence[str],
    k: int,
    strategy: Strategy,
    budget_ms: float | None,
    planner: Answerer | None,
    route: Route | None,
    started: float,
    needed: bool,
    traced: bool,
) -> Found:
    """Searches for each of the texts, which have equal parts of the budget; with what calls of the tools found need, if
    that is `needed`. Raises InputError, PlannerError and MissingExtraError."""
    finder, held = finder_of(loaded), loaded.tools
    if not isinstance(needed, bool):
        raise InputError(f"needed must be True or False, found {type(needed).__name__}")
    depth = k if len(texts) == 1 and not needed else len(held)
    searches = [Search(text, depth, finder, started=started, tools=held, traced=traced) for text in texts]
    known = strategy if route is None else _routed(route, strategy)
    may_ask = known.asks or known.helped
    if planner is not None and not may_ask:
        how = "say when with a route (edgeret-export lab route)" if known.name == "auto" else "choose another one"
        raise InputError(f"strategy '{known.name}' asks no planner; {how}, or name no planner")
    answerer = planner
    own = loaded.planner if planner is None and may_ask else None
    if own is not None and own.exists:
        try:
            if budget_ms is None:
                own.get()
            answerer = LocalAnswerer(own)
        except (PlannerError, MissingExtraError) as error:
            if known.asks:
                raise
            searches[0].complete = False
            searches[0].note("problem", f"the planner could not be asked: {error}")
    for number, search in enumerate(searches, 1):
        if budget_ms is not None:
            search.deadline = started + budget_ms / 1e3 * number / len(searches)
        search.answerer = answerer
    # Read ahead of the search, which then knows how much of its budget is left.
    needs = loaded.needs if needed else None
    found = together([run(known, search) for search in searches], depth)
    if needs is None:
        return replace(found, hits=found.hits[:k])
    similar = {hit.tool: hit.similarity for hit in found.hits}

    def cosine(tool: str) -> float:
        if tool not in similar:  # among very many, a search ranks some
            similar.update({hit.tool: hit.similarity for hit in finder.nearest(texts[0], len(held))})
        return similar[tool]

    return replace(found, hits=tuple(with_needed(found.hits[:k], needs, cosine)))


def finder_of(loaded: Loaded, task: Task | None = None) -> Finder:
    """What ranks the tools of a bundle. Of a `task` its own text is not encoded again, and searched for alone."""
    if loaded.finder is not None:
        found: Finder = loaded.finder()
        return found
    return ToolFinder(loaded.core, loaded.candidates, loaded.learned.learner, task)


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
