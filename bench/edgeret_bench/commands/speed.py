"""Speed: latency, and what costs grow with."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.cli.options import add_runtime_options, load_runtime, positive
from edgeret.errors import InputError
from edgeret.host import available_cpus
from edgeret.inputs.queries import read_texts
from edgeret.runtime.options import PROFILES
from edgeret.terminal.console import add_command, table
from edgeret_bench.commands.common import add_benchmark, names, numbers, seed

MOST_NEIGHBOURS = 64


def add_commands(commands: Any) -> None:
    """Adds latency, busy, serve and scaling."""
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

    _add_busy_and_serve(commands)
    scale = add_benchmark(
        commands,
        "scaling",
        "What a decision costs as tools, calls so far and learned plans grow, among made-up tools.",
        _scaling,
    )
    scale.add_argument("--base", metavar="BUNDLE", help="whose encoder decides (default: the installed base)")
    scale.add_argument("--sizes", metavar="a,b", help="numbers of tools (default: 10 to 10000, six of them)")
    scale.add_argument("--seed", type=seed, default=0, metavar="N", help="default: %(default)s")


def _add_busy_and_serve(commands: Any) -> None:
    told = "Decisions by several threads beside busy processes, against one."
    busy = add_command(commands, "busy", told, _busy, _print_busy, bundle=True)
    busy.add_argument(
        "--queries", required=True, metavar="Q", help='plain text, one query a line, or JSONL of {"query": …}'
    )
    busy.add_argument("--neighbours", default="0,1,2,4", metavar="a,b", help="busy processes (default: %(default)s)")
    busy.add_argument("--threads", default="1,2", metavar="a,b", help="the first is the measure (default: %(default)s)")
    busy.add_argument("--decisions", type=positive, default=600, metavar="N", help="of each (default: %(default)s)")
    busy.add_argument("--profile", choices=PROFILES, default="full", help="default: %(default)s")

    told = "What `edgeret serve` adds to a decision, at so many requests a second."
    serve = add_command(commands, "serve", told, _serve, _print_serve, bundle=True)
    serve.add_argument(
        "--queries", required=True, metavar="Q", help='plain text, one query a line, or JSONL of {"query": …}'
    )
    serve.add_argument("--rate", type=positive, default=200, metavar="N", help="requests a second (default: 200)")
    serve.add_argument("--seconds", type=positive, default=20, metavar="S", help="for so long (default: 20)")
    serve.add_argument("--connections", type=positive, default=16, metavar="N", help="default: %(default)s")
    serve.add_argument("--core", type=int, metavar="N", help="run the server on this core alone")
    serve.add_argument(
        "--rounds",
        type=positive,
        default=1,
        metavar="N",
        help="repeat, and tell the middle one (default: %(default)s)",
    )


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
        from edgeret_bench.speed.sweeps import batch_encoder

        batch_encoder(runtime).encode_batch(())  # refuses static shapes now, and not after the long part
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


def _busy(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.speed import busy

    beside = numbers(arguments.neighbours, int, "--neighbours")
    threads = numbers(arguments.threads, int, "--threads")
    if not beside or not all(0 <= count <= MOST_NEIGHBOURS for count in beside):
        raise InputError(f"--neighbours must be from 0 to {MOST_NEIGHBOURS}, found '{arguments.neighbours}'")
    if len(set(threads)) < 2 or len(set(threads)) < len(threads) or min(threads) < 1:
        raise InputError(f"--threads must be two different numbers from 1, or more, found '{arguments.threads}'")
    queries = read_texts(arguments.queries)
    return busy.run(arguments.bundle, queries, beside, threads, arguments.decisions, arguments.profile)


def _print_busy(result: Mapping[str, Any]) -> str:
    names = ("p50", "p90")
    rows = [
        [row["neighbours"], row["threads"], *(row["ms"][n] for n in names), *(row["ratios"][n] for n in names)]
        for row in result["rows"]
    ]
    others = result["others"]
    told = "" if others is None else f"\n\nother programs took {others:.0%} of the CPUs before"
    return table(rows, ("neighbours", "threads", "p50 ms", "p90 ms", "p50 to the first", "p90")) + told


def _serve(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.speed import serving

    if arguments.core is not None and arguments.core not in range(os.cpu_count() or 1):
        raise InputError(f"--core must be one of the {os.cpu_count()} there are, from 0; found {arguments.core}")
    return serving.run(
        arguments.bundle,
        read_texts(arguments.queries),
        arguments.rate,
        arguments.seconds,
        arguments.connections,
        arguments.core,
        arguments.rounds,
    )


def _print_serve(result: Mapping[str, Any]) -> str:
    names = ("answer_ms", "decision_ms", "added_ms", "empty_ms")
    rows = [[name, *(result[name][key] for key in ("p50", "p90", "p99", "max"))] for name in names]
    asked, reached = result["rate"]["asked"], result["rate"]["reached"]
    told = f"{reached:.0f} of {asked} requests a second, {result['late']} of {result['n_requests']} late"
    spent = "" if result["cpu_ms"] is None else f"; {result['cpu_ms']:.2f} ms of the processor a request"
    apart = ", ".join(f"{each['beyond_empty_p99_ms']:.2f}" for each in result["rounds"])
    told += f"{spent}\np99 added beyond that of empty requests, ms: {apart}"
    return f"{told}\n\n{table(rows, ('', 'p50', 'p90', 'p99', 'max'))}"


def _scaling(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.speed import scaling

    sizes = numbers(arguments.sizes, int, "--sizes") if arguments.sizes else scaling.TOOLS
    return scaling.run(sizes, arguments.seed, arguments.base and Path(arguments.base))
