"""Speed: latency, and what costs grow with."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from edgeret.cli.options import add_runtime_options, load_runtime
from edgeret.errors import InputError
from edgeret.host import available_cpus
from edgeret.inputs.query import read_texts
from edgeret_bench.commands.common import add_benchmark, names, numbers, seed


def add_commands(commands: Any) -> None:
    """Adds latency and scaling."""
    speed = add_benchmark(commands, "latency", "Time of every stage, warm and cold, and memory.", _latency, bundle=True)
    speed.add_argument(
        "--queries", required=True, metavar="Q", help='plain text, one query a line, or JSONL of {"query": …}'
    )
    speed.add_argument(
        "--min-queries", type=int, default=1024, metavar="N", help="queries to run (default: %(default)s)"
    )
    speed.add_argument(
        "--min-seconds", type=float, default=20.0, metavar="S", help="run queries for at least so long (default: 20)"
    )
    speed.add_argument(
        "--samples",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="keep every measured value in the result, which compare needs",
    )
    speed.add_argument("--sweep-threads", action="store_true", help="also with 1 CPU thread up to --threads")
    speed.add_argument("--batches", metavar="a,b", help="also encode in batches of these sizes, e.g. 1,4,16")
    speed.add_argument(
        "--sweep-providers", metavar="a,b", help="also with each of these providers, or why it cannot be had"
    )
    speed.add_argument(
        "--sustained", type=float, metavar="S", help="also without a pause for so many seconds, with energy if counted"
    )
    add_runtime_options(speed)

    scale = add_benchmark(
        commands,
        "scaling",
        "What a decision costs as tools, labels, clusters and histories grow, on a synthetic library; from how many "
        "tools HNSW pays.",
        _scaling,
    )
    scale.add_argument("--dimension", type=int, default=384, metavar="N", help="default: %(default)s")
    scale.add_argument("--sizes", metavar="a,b", help="numbers of tools (default: 200 to 44000, eight of them)")
    scale.add_argument("--seed", type=seed, default=0, metavar="N", help="default: %(default)s")


def _latency(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.speed import latency, sweeps

    if arguments.min_queries < 2:
        raise InputError(f"--min-queries must be at least 2, found {arguments.min_queries}")
    for option in ("min_seconds", "sustained"):
        seconds = getattr(arguments, option)
        if seconds is not None and not 0 <= seconds < 1e6:
            raise InputError(f"--{option.replace('_', '-')} must be seconds, 0 or more, found {seconds}")
    sizes = numbers(arguments.batches or "", int, "--batches")
    if any(not 1 <= size <= 4096 for size in sizes):
        raise InputError(f"--batches must be between 1 and 4096, found {arguments.batches}")
    runtime = load_runtime(arguments)
    queries = read_texts(arguments.queries)
    if sizes:
        runtime.components.encoder.encode_batch(())  # refuses static shapes now, and not after the long part
    result = latency.run(
        runtime,
        queries,
        min_queries=arguments.min_queries,
        min_seconds=arguments.min_seconds,
        requested=arguments.provider or ("cpu",),
        samples=arguments.samples,
    )
    if arguments.sweep_threads:
        counts = range(1, (arguments.threads or available_cpus()) + 1)
        result["threads_sweep"] = sweeps.threads(arguments.bundle, queries, counts)
    if sizes:
        result["batches"] = sweeps.batches(runtime, queries, sizes)
    if arguments.sweep_providers:
        result["providers_sweep"] = sweeps.providers(arguments.bundle, queries, names(arguments.sweep_providers))
    if arguments.sustained:
        result["sustained"] = sweeps.sustained(runtime, queries, arguments.sustained)
    return result


def _scaling(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.speed import scaling

    sizes = numbers(arguments.sizes, int, "--sizes") if arguments.sizes else scaling.TOOLS
    return scaling.run(arguments.dimension, arguments.seed, sizes)
