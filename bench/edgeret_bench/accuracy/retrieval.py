"""Tool search by a query alone (BM25, dense, both by rank, dense over clauses, the runtime's own hybrid), and by
strategies that ask a planner what to search for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.core.understood import words_of
from edgeret.errors import InputError
from edgeret.inputs.queries import RetrievalQuery
from edgeret.inputs.tool_text import tool_text
from edgeret.planner.answers import Answerer
from edgeret.runtime.needs import Needs, with_needed
from edgeret.strategies import STRATEGIES
from edgeret.strategies.auto import routed
from edgeret.strategies.base import Search, Strategy
from edgeret.strategies.base import run as run_strategy
from edgeret.strategies.fusion import peak_rank
from edgeret.strategies.routing import Route
from edgeret.strategies.toolqp import NO_QUERY, PARALLEL
from edgeret.terminal.progress import track
from edgeret.types import Hit, Tool
from edgeret_bench import NEEDED, RETRIEVAL_METHODS, STEPPED_METHODS, STRATEGY_METHODS
from edgeret_bench.accuracy.bm25 import Bm25
from edgeret_bench.metrics import mean, quantiles, rank, retrieval_metrics, share
from edgeret_export.reference.encoders.windows import WindowEncoder
from edgeret_export.reference.encoders.word_vectors import WordVectors
from edgeret_export.reference.hybrid import HybridSearch
from edgeret_export.reference.python_finder import Decider, PythonFinder
from edgeret_export.reference.scoring.examples import Examples
from edgeret_export.reference.scoring.index import Index
from edgeret_export.reference.scoring.prior import PriorWeights

ROUTED = "routed"
RRF_K = 60


def _by_steps(search: Search) -> Iterator[list[Hit]]:
    for part in dict.fromkeys((search.request, *search.steps)):
        yield search.view(part)


STEPS = Strategy("steps", _by_steps, peak_rank)
"""The tools that the request or one of the sub-tasks given with it finds: a measure for what asks a planner."""
_BY_NAME = {strategy.name: strategy for strategy in (*STRATEGIES.values(), STEPS, PARALLEL, NO_QUERY)}
"""Strategies with the papers' ablations; `routed` is made of a route."""


@dataclass(frozen=True, slots=True)
class GoesBy:
    """What hybrid search goes by beside the encoder: how much each piece of evidence weighs, and words' vectors."""

    weights: PriorWeights
    words: WordVectors


class Retrieval:
    """Ranks a tool set for queries by several methods that share one encoder; vectors are computed once."""

    def __init__(
        self,
        tools: Sequence[Tool],
        encoder: WindowEncoder,
        form: str,
        goes_by: GoesBy | None = None,
        vectors: NDArray[np.float32] | None = None,
        examples: Examples | None = None,
    ) -> None:
        """`goes_by` is for `hybrid`; `vectors` are the tools' unit vectors, float32 (tools, dimension), where they are
        not those of their texts; `examples` are what tools show, by their places."""
        self._tools, self._texts = tools, [tool_text(t, form) for t in tools]
        self.encoder, self._goes_by = encoder, goes_by
        self._vectors = encoder.encode_tools(self._texts) if vectors is None else vectors
        self._examples = examples
        self._bm25: Bm25 | None = None
        self._cache: dict[str, tuple[NDArray[np.float32], float]] = {}
        self._spared = 0.0

    def timed(self, method: str, query: str) -> tuple[NDArray[np.intp], float]:
        """A method's ranking, and the ms that it took, with those that the vectors took which were at hand already."""
        self._spared, started = 0.0, perf_counter()
        ranking: NDArray[np.intp] = getattr(self, method)(query)
        return ranking, (perf_counter() - started + self._spared) * 1e3

    def bm25(self, query: str) -> NDArray[np.intp]:
        """By the words of query and tool."""
        if self._bm25 is None:
            self._bm25 = Bm25(self._texts)
        return rank(self._bm25.scores(query))

    def dense(self, query: str) -> NDArray[np.intp]:
        """Cosine of query and tool text."""
        return rank(self._vectors @ self._vector(query))

    def rrf(self, query: str) -> NDArray[np.intp]:
        """Reciprocal rank fusion of BM25 and dense, constant 60."""
        scores = np.zeros(len(self._texts))
        for ranking in (self.bm25(query), self.dense(query)):
            scores[ranking] += 1 / (RRF_K + 1 + np.arange(len(ranking)))
        return rank(scores)

    def clauses(self, query: str) -> NDArray[np.intp]:
        """The query and each of its clauses rank all tools; a tool counts by its best rank, then its best cosine."""
        scores = np.stack([self._vectors @ self._vector(text) for text in (query, *words_of(query).parts)])
        ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable")
        return np.lexsort((-scores.max(axis=0), ranks.min(axis=0)))

    def hybrid(self, query: str) -> NDArray[np.intp]:
        """The runtime's default: cosines of the query's parts, and words that it shares with a tool."""
        return np.array([self._position[hit.tool] for hit in self.ranker(query, len(self._tools))])

    def needed(self, query: str) -> NDArray[np.intp]:
        """The same with what calls of the tools found need first, as `search` gives it."""
        hits = with_needed(self.ranker(query, len(self._tools)), self._needs, lambda _: 0.0)
        return np.array([self._position[hit.tool] for hit in hits])

    @cached_property
    def _needs(self) -> Needs:
        return Needs(self._tools)

    @cached_property
    def index(self) -> Index:
        """The same vectors as the runtime's strategies search them."""
        return Index(tuple(tool.name for tool in self._tools), self._vectors, None, self._examples)

    @cached_property
    def ranker(self) -> HybridSearch:
        """The same tools as the runtime arranges them. Raises InputError without what it goes by."""
        if self._goes_by is None:
            raise InputError("hybrid search needs the weights of a prior card, and vectors of words")
        return HybridSearch(self._tools, self.index, self.encoder, self._goes_by.words, self._goes_by.weights)

    @cached_property
    def tools(self) -> dict[str, Tool]:
        """The tools by name."""
        return {tool.name: tool for tool in self._tools}

    @cached_property
    def _position(self) -> dict[str, int]:
        return {tool.name: i for i, tool in enumerate(self._tools)}

    def _vector(self, text: str) -> NDArray[np.float32]:
        if text not in self._cache:
            started = perf_counter()
            vector = self.encoder.encode(text)
            self._cache[text] = vector, perf_counter() - started
            return vector
        vector, seconds = self._cache[text]
        self._spared += seconds
        return vector


@dataclass(frozen=True, slots=True)
class Options:
    """What stands for a tool (`form`), how many queries are drawn (None: all) by which `seed`, the planner that
    strategies ask, and the budget of a search in ms (None: no bound). Hybrid search `goes_by` something, `decider`
    is what `auto` asks of a bundle's demonstrations, where there are any, and `route` says when `routed` asks.
    `vectors` are the tools' own, where they are not those of their texts, and `examples` what they show."""

    form: str = "name+description"
    limit: int | None = None
    seed: int = 0
    answerer: Answerer | None = None
    budget_ms: float | None = None
    goes_by: GoesBy | None = None
    decider: Decider | None = None
    route: Route | None = None
    vectors: NDArray[np.float32] | None = None
    examples: Examples | None = None


def run(
    tools: Sequence[Tool],
    queries: Sequence[RetrievalQuery],
    encoder: WindowEncoder,
    methods: Sequence[str],
    options: Options | None = None,
) -> dict[str, Any]:
    """The contract's `retrieval` result. Queries that no tool fits are counted and left out of the means.

    Every method's row has `ms` as quantiles and, with a budget, `kept`, the share of its searches that took no longer.
    A strategy's row has also, as means over the queries, `answers` and `tokens` of the planner and the share that is
    `complete`. `with_steps` names the methods that had a query's sub-tasks to go by.
    """
    options = options or Options()
    strategies = _strategies(methods, options)
    asked = [q for q in queries if q.tools]
    if not asked:
        raise InputError("no query in the file names a tool, so there is nothing to measure")
    asked = _drawn(asked, options)
    retrieval = Retrieval(tools, encoder, options.form, options.goes_by, options.vectors, options.examples)
    position = {tool.name: i for i, tool in enumerate(tools)}
    rows: dict[str, list[dict[str, float]]] = {m: [] for m in methods}
    times: dict[str, list[float]] = {m: [] for m in methods}
    for name in rows.keys() - strategies.keys():
        retrieval.timed(name, asked[0].query)  # what is arranged once, like an index of words, is no query's time
    for query in track(asked, "queries", len(asked)):
        relevant = {position[name] for name in query.tools}
        for name in rows:
            if name in strategies:
                found = run_strategy(strategies[name], _search(retrieval, query, len(tools), options))
                ranking, trace = np.array([position[hit.tool] for hit in found.hits]), found.trace
                costs = {"answers": trace.answers, "tokens": trace.tokens, "complete": trace.complete}
                ms = trace.ms
            else:
                (ranking, ms), costs = retrieval.timed(name, query.query), {}
            rows[name].append({**retrieval_metrics(ranking, relevant), **{k: float(v) for k, v in costs.items()}})
            times[name].append(ms)
    return {
        "n_queries": len(asked),
        "n_without_tool": sum(not q.tools for q in queries),
        "n_tools": len(tools),
        "tool_text": options.form,
        "limit": options.limit,
        "seed": options.seed,
        "budget_ms": options.budget_ms,
        "with_steps": [name for name in rows if name in STEPPED_METHODS and any(q.steps for q in asked)],
        "methods": {name: {**mean(rows[name]), **_summed_up(times[name], options.budget_ms)} for name in rows},
    }


def _search(retrieval: Retrieval, query: RetrievalQuery, k: int, options: Options) -> Search:
    """A strategy's search for a query, whose time begins now."""
    finder = PythonFinder(retrieval.index, retrieval.encoder.encode, retrieval.ranker, options.decider)
    search = Search(query.query, k, finder, options.answerer, steps=query.steps, tools=retrieval.tools)
    if options.budget_ms is not None:
        search.deadline = search.started + options.budget_ms / 1e3
    return search


def _summed_up(times: Sequence[float], budget_ms: float | None) -> dict[str, Any]:
    kept = {} if budget_ms is None else {"kept": share([ms <= budget_ms for ms in times])}
    # Where one request in three asks a planner, the middle one says little.
    return {**kept, "ms": quantiles(times)}


def _drawn(queries: list[RetrievalQuery], options: Options) -> list[RetrievalQuery]:
    if options.limit is None or options.limit >= len(queries):
        return queries
    chosen = np.random.default_rng(options.seed).permutation(len(queries))[: options.limit]
    return [queries[i] for i in sorted(chosen.tolist())]


def may_ask(methods: Sequence[str]) -> bool:
    """Whether any of these methods asks a planner where there is one."""
    asking = (strategy for name, strategy in _BY_NAME.items() if name in methods)
    return ROUTED in methods or any(strategy.asks or strategy.helped for strategy in asking)


def _strategies(methods: Sequence[str], options: Options) -> dict[str, Strategy]:
    """Those of the methods that are strategies, by name. Raises InputError for a method that is unknown, and for one
    that asks a planner where there is none."""
    there = (*RETRIEVAL_METHODS, *STRATEGY_METHODS, NEEDED)
    unknown = [m for m in methods if m not in there]
    if unknown:
        known = ", ".join(there)
        raise InputError(f"unknown method '{unknown[0]}'; choose among: {known}")
    by_name = dict(_BY_NAME)
    if ROUTED in methods:
        if options.route is None or (asked := by_name.get(options.route.strategy)) is None:
            raise InputError(
                f"method '{ROUTED}' follows a route; give one with --route FILE (edgeret-export lab route)"
            )
        by_name[ROUTED] = replace(routed(options.route, asked), asks=True)
    found = {name: by_name[name] for name in methods if name in STRATEGY_METHODS}
    if options.answerer is None and (asking := [name for name, strategy in found.items() if strategy.asks]):
        raise InputError(
            f"method '{asking[0]}' asks a planner; name one with --planner or --endpoint, or a bundle with one"
        )
    return found
