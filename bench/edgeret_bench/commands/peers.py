"""`edgeret-bench lab peers`: parses arguments and prints; the work is in `measure`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from edgeret.cli.options import add_runtime_options, load_runtime
from edgeret.errors import InputError
from edgeret.inputs.queries import read_queries
from edgeret_bench.commands.common import add_benchmark, names
from edgeret_bench.peers import PEERS


def add_commands(commands: Any) -> None:
    """Adds the command to `edgeret-bench`."""
    parser = add_benchmark(
        commands, "peers", "Other people's tool search beside ours: accuracy and time.", _peers, bundle=True
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
