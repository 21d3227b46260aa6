"""`edgeret-bench peers`: parses arguments and prints; the work is in `measure`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from edgeret.cli.console import table
from edgeret.cli.options import add_runtime_options, load_runtime
from edgeret.errors import InputError
from edgeret.inputs.query import read_queries
from edgeret_bench.commands.common import add_benchmark, names
from edgeret_bench.peers import PEERS

OWN = "edgeret "
"""What the names of our own rows begin with."""


def add_commands(commands: Any) -> None:
    """Adds the command to `edgeret-bench`."""
    parser = add_benchmark(
        commands, "peers", "Other people's tool search beside ours: accuracy and time.", _peers, _print, bundle=True
    )
    parser.add_argument("--queries", required=True, metavar="Q", help='JSONL of {"id", "query", "tools"}')
    parser.add_argument(
        "--peers",
        metavar="a,b",
        help=f"these, and all of them must run (default: those installed of {', '.join(PEERS)})",
    )
    parser.add_argument(
        "--min-queries", type=int, default=1024, metavar="N", help="queries to time (default: %(default)s)"
    )
    add_runtime_options(parser)


def _peers(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.peers import measure
    from edgeret_bench.peers.base import peer_class

    if arguments.min_queries < 2:
        raise InputError(f"--min-queries must be at least 2, found {arguments.min_queries}")
    chosen = None if arguments.peers is None else names(arguments.peers)
    for name in chosen or ():
        peer_class(name)  # a wrong name is better refused before the bundle is loaded
    runtime = load_runtime(arguments)
    queries = read_queries(arguments.queries, runtime.tools)
    return measure.run(runtime, queries, tuple(runtime.tools.values()), chosen, min_queries=arguments.min_queries)


def _print(result: Mapping[str, Any]) -> str:
    systems = result["systems"]
    metrics = list(next(iter(systems.values()))["accuracy"])
    quantiles = ("p50", "p90", "p99", "max")
    rows = [
        [name, *(s["accuracy"][m] for m in metrics), *(_ms(s["ms"][q]) for q in quantiles), _ms(s["build_ms"])]
        for name, s in systems.items()
    ]
    header = ("system", *metrics, *(f"{q} ms" for q in quantiles), "build ms")
    encoder = result["encoder"]
    lines = [
        f"{result['n_queries']} queries over {result['n_tools']} tools, the first {result['k']} ranked; "
        f"{result['n_without_tool']} more without a tool; {result['n_timed']} timed",
        f"{result['threads']} threads each; edgeret runs {encoder['card']} in {encoder['precision']}, "
        f"peers that embed run {result['peers_model']} in fp32",
        ", ".join(f"{name} {s['version']}" for name, s in systems.items() if not name.startswith(OWN)),
    ]
    lines += [f"no {name}: {reason}" for name, reason in result["unavailable"].items()]
    return table(rows, header) + "\n\n" + "\n".join(line for line in lines if line)


def _ms(value: float | None) -> str:
    """A time for a table; what was not measured is a dash."""
    return "-" if value is None else f"{value:.2f}"
