"""The command `route`: its options, what it reads, and its table. Parses and prints; the work is `route`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from edgeret import load
from edgeret.errors import InputError
from edgeret.inputs.queries import read_queries
from edgeret.planner.endpoint import Endpoint
from edgeret.terminal.console import add_command, table, write_whole

DEFAULT = ("rerank", "re-invoke", "tooldreamer", "less-is-more")
"""Strategies that take seconds at most; those of many turns are tried where they are named."""


def add_route(commands: Any) -> None:
    """Adds the command."""
    route = add_command(
        commands,
        "route",
        "Measure when search should ask a planner, on requests of your own.",
        _route,
        _print,
        bundle=True,
    )
    route.add_argument(
        "--queries", required=True, metavar="Q", help='JSONL of {"query", "tools"}: other requests than demonstrations'
    )
    route.add_argument("-o", "--output", required=True, metavar="FILE", help="the route, for: edgeret search --route")
    route.add_argument("--endpoint", metavar="URL", help="ask a model behind this endpoint, not the bundle's planner")
    route.add_argument("--model", metavar="NAME", help="which of the endpoint's models (default: its first)")
    route.add_argument(
        "--strategies", default=",".join(DEFAULT), metavar="A,B", help="tried with the planner (default: %(default)s)"
    )
    route.add_argument("--limit", type=int, metavar="N", help="so many requests, drawn by --seed (default: all)")
    route.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")


def _route(arguments: argparse.Namespace) -> Mapping[str, Any]:
    if arguments.model and not arguments.endpoint:
        raise InputError("--model names one of an endpoint's models; add --endpoint URL")
    from edgeret_export.route import measure, report

    strategies = tuple(dict.fromkeys(name.strip() for name in arguments.strategies.split(",") if name.strip()))
    if not strategies:
        raise InputError("--strategies: none given; choose some of those that ask a planner")
    runtime = load(arguments.bundle)
    queries = [query for query in read_queries(arguments.queries, runtime.tools) if query.tools]
    if arguments.limit is not None and 0 < arguments.limit < len(queries):
        drawn = np.random.default_rng(arguments.seed).permutation(len(queries))[: arguments.limit]
        queries = [queries[i] for i in sorted(drawn.tolist())]
    planner = Endpoint(arguments.endpoint, arguments.model) if arguments.endpoint else None
    if planner is None:
        if not runtime.loaded.planner.exists:
            raise InputError(
                f"{arguments.bundle}: there is no planner in this bundle; build one in with: edgeret-export build "
                "--planner smollm2-135m-instruct, or name an endpoint with --endpoint URL"
            )
        runtime.loaded.planner.get()  # now, so that it is not part of the first search's time
    found = report(measure(runtime, queries, strategies, planner), arguments.seed)
    if found["route"] is not None:
        write_whole(Path(arguments.output), json.dumps(found, indent=1) + "\n", "--output")
    return {"file": arguments.output, **found}


def _print(result: Mapping[str, Any]) -> str:
    rows = [[name, row["ndcg5"], row["ms"], row["ms_p90"]] for name, row in result["strategies"].items()]
    held, route = result["held_out"], result["route"]
    lines = [
        table(rows, ("strategy", "nDCG@5", "ms mean", "ms p90")),
        f"held out  fitted on one half, on the other {held['ndcg5']:.4f}, {100 * held['of_best_ndcg5']:.1f} % of "
        f"{result['best']}'s nDCG@5, in {held['ms']:.1f} ms, {100 * held['of_best_ms']:.1f} % of its time",
    ]
    if route is None:
        return "\n".join([*lines, "route     none is worth its time: auto without a planner suffices; nothing written"])
    share = f"{100 * result['asked']:.0f} % of the requests"
    lines.append(
        f"route     {route['strategy']} where another tool has {route['contested']:g} of the first's share: {share}"
    )
    return "\n".join([*lines, f'next      edgeret search BUNDLE "…" --route {result["file"]}'])
