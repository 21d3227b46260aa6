"""Speed: latency, and from how many tools an approximate index pays."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from edgeret.cli import add_runtime_options, load_runtime
from edgeret.console import table
from edgeret.demonstrations import read_queries
from edgeret.errors import InputError
from edgeret_bench.commands.common import add_benchmark

PEERS = ("sentence-transformers",)


def add_commands(commands: Any) -> None:
    """Adds latency and crossover."""
    speed = add_benchmark(
        commands, "latency", "Time of every stage, warm and cold, and memory.", _latency, _print_latency, bundle=True
    )
    speed.add_argument("--queries", required=True, metavar="Q", help='JSONL of {"id", "query", "tools"}')
    speed.add_argument(
        "--min-queries", type=int, default=1024, metavar="N", help="queries to run (default: %(default)s)"
    )
    speed.add_argument("--compare", choices=PEERS, help="encode the same queries with a peer, in the same run")
    speed.add_argument("--samples", action="store_true", help="keep every measured value in the result")
    add_runtime_options(speed)

    cross = add_benchmark(
        commands, "crossover", "From how many tools HNSW is faster than exact search.", _crossover, _print_crossover
    )
    cross.add_argument("--dimension", type=int, default=384, metavar="N", help="default: %(default)s")
    cross.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")


def _latency(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench import latency

    if arguments.min_queries < 2:
        raise InputError(f"--min-queries must be at least 2, found {arguments.min_queries}")
    runtime = load_runtime(arguments)
    queries = [q.query for q in read_queries(arguments.queries)]
    return latency.run(
        runtime,
        queries,
        min_queries=arguments.min_queries,
        requested=arguments.provider or ("cpu",),
        compare=arguments.compare,
        samples=arguments.samples,
    )


def _print_latency(result: Mapping[str, Any]) -> str:
    keys = ("p50", "p90", "p99", "max")
    rows = [[name, *(float(stage[k]) for k in keys)] for name, stage in result["stages"].items()]
    rows += [[f"{name} (peer)", *(float(peer[k]) for k in keys)] for name, peer in result.get("peers", {}).items()]
    rows += [[f"cold {name[:-3]}", *(float(stage[k]) for k in keys)] for name, stage in result["cold_start"].items()]
    ratio = result["overhead"]["first_select_ratio"]
    lines = [table(rows, ("ms", *keys)), "", f"first_select / (tokenize + encode) {ratio:.3f}"]
    for name, peer in result.get("peers", {}).items():
        lines.append(f"{name} / first_select {peer['times_first_select']:.2f}")
    lines.append(f"memory after load {result['rss_mb']:.0f} MB, bundle {result['bundle_mb']:.1f} MB")
    lines.append(f"{result['threads']} threads on {', '.join(result['providers']['actual'])}")
    return "\n".join(lines)


def _crossover(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench import crossover

    return crossover.run(arguments.dimension, arguments.seed)


def _print_crossover(result: Mapping[str, Any]) -> str:
    rows = [[r["tools"], r["exact_ms"], r["hnsw_ms"], r["recall@10"]] for r in result["sizes"]]
    return (
        table(rows, ("tools", "exact ms", "hnsw ms", "recall@10"))
        + f"\n\nHNSW is faster from {result['crossover']} tools"
    )
