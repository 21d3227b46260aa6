"""edgeret and its peers on the same queries and tools: accuracy and time of one query at a time, in one run."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from edgeret.bundle import roles
from edgeret.cli.doctor import device, versions
from edgeret.errors import CheckFailedError, EdgeretError, InputError, MissingExtraError
from edgeret.host import resident_mb
from edgeret.inputs.queries import RetrievalQuery
from edgeret.inputs.tool_text import tool_text
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.progress import say, track
from edgeret.types import END, Tool
from edgeret_bench.metrics import mean, quantiles, retrieval_metrics, share
from edgeret_bench.peers import MODEL, PEERS, extra_of
from edgeret_bench.peers.base import Peer, peer_class, timed
from edgeret_bench.peers.process import PeerProcess
from edgeret_bench.results.files import order_of, rounded

K = 10
"""Tools that every system lists for a query. The metrics look at the first five, and at the first relevant one, which
counts as not found (mrr 0) below this."""
METRICS = ("top1", "ndcg@5", "recall@5", "mrr")
SEARCH, SELECT = "edgeret search", "edgeret select"
"""Our own systems: search by description, and the first decision."""
WARMUP = 20
BLOCK = 64
"""Queries that a system answers in a row, before the next one has its turn. One by one, the threads that each leaves
spinning for a moment would slow the next."""
Answer = Callable[[Sequence[str], int], tuple[list[float], list[list[int]]]]


@dataclass
class System:
    """Something that ranks tools, with what was measured of it so far."""

    answer: Answer
    facts: Mapping[str, Any]
    ms: list[float] = field(default_factory=list)
    rankings: list[list[int]] = field(default_factory=list)


def run(
    runtime: Runtime,
    queries: Sequence[RetrievalQuery],
    tools: Sequence[Tool],
    peers: Sequence[str] | None = None,
    *,
    min_queries: int = 1024,
) -> dict[str, Any]:
    """The contract's `peers` result.

    All queries are run, again from the first one until there are `min_queries`; each is a sample of the times, and
    its first answer counts for accuracy if a tool fits it. `peers` None: all, those that are not installed or fail
    being reported with the reason. Raises InputError for an unknown peer or queries without tools, and, for a peer
    that was named, MissingExtraError if it is not installed and CheckFailedError if it fails.
    """
    names = list(PEERS if peers is None else dict.fromkeys(peers))
    kinds = {name: peer_class(name) for name in names}
    relevant = _relevant(queries, tools)
    form = runtime.manifest.info[roles.INFO_RECIPE]["tool_text"]
    texts = [tool_text(tool, form) for tool in tools]
    unavailable: dict[str, str] = {}
    with ExitStack() as stack:
        stages: list[str] = []
        systems = _own(runtime, tools, stages)
        for name, kind in kinds.items():
            say(f"loading {name}")
            try:
                model = _model(kind) if kind.needs_model else None
                process = stack.enter_context(PeerProcess(name, runtime.loaded.threads))
                systems[name] = System(process.answer, process.prepare(tools, texts, model))
            except EdgeretError as error:
                _give_up(name, error, peers, unavailable)
        alternate(systems, [q.query for q in queries], min_queries, lambda n, e: _give_up(n, e, peers, unavailable))
    return {
        "n_queries": len(relevant),
        "n_without_tool": len(queries) - len(relevant),
        "n_tools": len(tools),
        "n_timed": max(min_queries, len(queries)),
        "k": K,
        "tool_text": form,
        "encoder": {
            "card": runtime.manifest.info[roles.INFO_ENCODER].get("card"),
            "precision": runtime.loaded.spec.precision,
        },
        "peers_model": MODEL,
        "threads": runtime.loaded.threads,
        "systems": {name: _figures(system, relevant, systems[SELECT]) for name, system in systems.items()},
        "without_encoder": share([stage == "static" for stage in stages]),
        "unavailable": unavailable,
        "device": device(runtime),
        "versions": versions(),
        "bundle_hash": runtime.manifest.content_hash,
        "samples": {
            "unit": "ms",
            "order": order_of([q.query for q in queries]),
            "series": rounded({name: system.ms for name, system in systems.items()}),
        },
    }


def alternate(
    systems: dict[str, System], queries: Sequence[str], count: int, failed: Callable[[str, EdgeretError], None]
) -> None:
    """Has all systems answer every query at least once and `count` in all, in turn, a block at a time.

    The order changes from block to block, so that no system always follows the same one; the query before a block is
    not measured, since it pays for the change. A system that fails is taken out and `failed` told, which may raise.
    """
    count = max(count, len(queries))
    shuffled = random.Random(0)

    def ask(name: str, block: Sequence[str], unmeasured: int) -> None:
        try:
            times, rankings = systems[name].answer(block, K)
        except CheckFailedError as error:
            del systems[name]
            failed(name, error)
            return
        systems[name].ms += times[unmeasured:]
        systems[name].rankings += rankings[unmeasured:]

    for name in list(systems):
        ask(name, [queries[i % len(queries)] for i in range(WARMUP)], WARMUP)
    for start in track(range(0, count, BLOCK), "queries", -(-count // BLOCK)):
        block = [queries[i % len(queries)] for i in range(start - 1, min(start + BLOCK, count))]
        for name in shuffled.sample(list(systems), len(systems)):
            ask(name, block, 1)


def _relevant(queries: Sequence[RetrievalQuery], tools: Sequence[Tool]) -> dict[int, set[int]]:
    """Positions of the tools that fit, by the number of the query, where there are any."""
    position = {tool.name: i for i, tool in enumerate(tools)}
    relevant = {i: {position[name] for name in query.tools} for i, query in enumerate(queries) if query.tools}
    if not relevant:
        raise InputError("no query in the file names a tool, so there is nothing to measure")
    return relevant


def _own(runtime: Runtime, tools: Sequence[Tool], stages: list[str]) -> dict[str, System]:
    """Ours: search by description, and the first decision of the heads, both for one query as a user would ask it.
    Each decision adds the stage that made it to `stages`."""
    position = {tool.name: i for i, tool in enumerate(tools)}

    def search(query: str, k: int) -> list[int]:
        return [position[hit.tool] for hit in runtime.search(query, k, strategy="hybrid")]

    def select(query: str, k: int) -> list[int]:
        decision = runtime.task(query).next(policy="heads", k=k + 1)
        stages.append(decision.stage)
        return [position[c.tool] for c in decision.candidates if c.tool != END][:k]

    # The bundle is loaded before we get it, and its index was built when it was exported.
    facts = {"version": versions().get("edgeret"), "load_ms": None, "build_ms": None, "rss_mb": resident_mb()}
    return {
        SEARCH: System(lambda queries, k: timed(search, queries, k), facts),
        SELECT: System(lambda queries, k: timed(select, queries, k), facts),
    }


def _figures(system: System, relevant: Mapping[int, set[int]], ours: System) -> dict[str, Any]:
    """What was measured of a system; `times_first_select` is its mean time in units of our first decision's."""
    rows = []
    for i, right in relevant.items():
        ranking = np.array(system.rankings[i])
        rows.append({"top1": float(ranking[0] in right), **retrieval_metrics(ranking, right)})
    means = mean(rows)
    return {
        **system.facts,
        "accuracy": {key: means[key] for key in METRICS},
        "ms": quantiles(system.ms),
        "times_first_select": float(np.mean(system.ms) / np.mean(ours.ms)),
    }


def _model(kind: type[Peer]) -> Path:
    """The files of the model that all embedding peers run, whatever the bundle's is. Raises MissingExtraError for a
    peer that is not installed, for which nothing is to be fetched."""
    try:
        version(kind.distribution)
    except PackageNotFoundError:
        raise MissingExtraError(extra_of(kind.name), f"the peer {kind.name}") from None
    try:
        from edgeret_export.sources.cards import find_card
        from edgeret_export.sources.fetch import fetch
    except ModuleNotFoundError:
        raise MissingExtraError("edgeret-export", f"the model of the peer {kind.name}") from None

    return fetch(find_card(MODEL))


def _give_up(name: str, error: EdgeretError, asked: Sequence[str] | None, unavailable: dict[str, str]) -> None:
    """A peer that was asked for by name must run; any other is only reported."""
    if asked is not None:
        raise error
    unavailable[name] = str(error)
