"""The command line of the benchmarks. Parses arguments and prints; the work is elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from edgeret import __version__
from edgeret.cli import add_mask_options, add_runtime_options, load_runtime
from edgeret.console import Parser, add_command, run, table
from edgeret.demonstrations import read_demonstrations, read_queries
from edgeret.errors import InputError
from edgeret.policy import POLICIES
from edgeret.prompt import MASKINGS
from edgeret.texts import FORMS
from edgeret.tools import read_tools
from edgeret_bench import NEXT_TOOL_METHODS, RETRIEVAL_METHODS
from edgeret_bench.peers.commands import add_commands as add_peers
from edgeret_export.cards import DEFAULT_ENCODER, find_card
from edgeret_export.quantize import PRECISIONS

PEERS = ("sentence-transformers",)


def make_parser() -> argparse.ArgumentParser:
    """The parser of `edgeret-bench`."""
    parser = Parser(prog="edgeret-bench", description="Measures edgeret bundles.")
    parser.add_argument("--version", action="version", version=f"edgeret {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    step = add_command(
        commands, "next-tool", "Accuracy of the next function over plans.", _next_tool, _print_methods, bundle=True
    )
    step.add_argument("--demos", required=True, metavar="D", help="demonstrations: JSONL; not those of the build")
    step.add_argument("--methods", default=",".join(NEXT_TOOL_METHODS), metavar="a,b", help="default: %(default)s")
    step.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the method random (default: %(default)s)"
    )
    add_runtime_options(step)

    plan = add_command(
        commands,
        "plan",
        "Decisions and whole plans with a planner in the loop: accuracy, tokens, reuse.",
        _plan,
        _print_plan,
        bundle=True,
    )
    plan.add_argument("--demos", required=True, metavar="D", help="demonstrations: JSONL; not those of the build")
    plan.add_argument("--policy", metavar="a,b", help=f"default: {','.join(POLICIES)}, as far as the bundle can")
    plan.add_argument(
        "--masking",
        default="hard",
        metavar="a,b",
        help=f"of policy planner, among {', '.join(MASKINGS)}; all but hard read long prompts (default: %(default)s)",
    )
    add_mask_options(plan)
    plan.add_argument(
        "--steps", type=int, default=300, metavar="N", help="teacher-forced steps; 0: all (default: %(default)s)"
    )
    plan.add_argument(
        "--plans", type=int, default=40, metavar="N", help="plans run freely; 0: none (default: %(default)s)"
    )
    plan.add_argument("--seed", type=int, default=0, metavar="N", help="of the sample (default: %(default)s)")
    add_runtime_options(plan)

    search = add_command(
        commands, "retrieval", "Quality of tool search by a query's words.", _retrieval, _print_methods
    )
    search.add_argument("--tools", required=True, metavar="T")
    search.add_argument("--queries", required=True, metavar="Q", help='JSONL of {"id", "query", "tools"}')
    search.add_argument("--encoder", default=DEFAULT_ENCODER, metavar="CARD", help="default: %(default)s")
    search.add_argument("--precision", choices=PRECISIONS, default="fp32", help="of the encoder (default: %(default)s)")
    search.add_argument("--methods", default=",".join(RETRIEVAL_METHODS), metavar="a,b", help="default: %(default)s")
    search.add_argument(
        "--tool-text", choices=FORMS, default="description", help="what stands for a tool (default: %(default)s)"
    )
    search.add_argument("--offline", action="store_true", help="use cached model files only")

    speed = add_command(
        commands, "latency", "Time of every stage, warm and cold, and memory.", _latency, _print_latency, bundle=True
    )
    speed.add_argument("--queries", required=True, metavar="Q", help='JSONL of {"id", "query", "tools"}')
    speed.add_argument(
        "--min-queries", type=int, default=1024, metavar="N", help="queries to run (default: %(default)s)"
    )
    speed.add_argument("--compare", choices=PEERS, help="encode the same queries with a peer, in the same run")
    speed.add_argument("--samples", action="store_true", help="keep every measured value in the result")
    add_runtime_options(speed)

    add_peers(commands)

    cross = add_command(
        commands, "crossover", "From how many tools HNSW is faster than exact search.", _crossover, _print_crossover
    )
    cross.add_argument("--dimension", type=int, default=384, metavar="N", help="default: %(default)s")
    cross.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    return run(make_parser(), argv, extra="bench")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _next_tool(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench import next_tool

    runtime = load_runtime(arguments)
    demonstrations = read_demonstrations(arguments.demos, runtime.tools)
    result = next_tool.run(runtime, demonstrations, _names(arguments.methods), arguments.seed)
    return {"bundle_hash": runtime.manifest.content_hash, **result}


def _plan(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench import plan

    options = plan.Options(
        policies=_names(arguments.policy or ""),
        maskings=_names(arguments.masking),
        weighted=arguments.weighted,
        coverage=arguments.coverage,
        steps=arguments.steps,
        plans=arguments.plans,
        seed=arguments.seed,
    )
    plan.check(options)
    runtime = load_runtime(arguments)
    demonstrations = read_demonstrations(arguments.demos, runtime.tools)
    return {"bundle_hash": runtime.manifest.content_hash, **plan.run(runtime, demonstrations, options)}


def _print_plan(result: Mapping[str, Any]) -> str:
    header = ("method", "fsa", "declined", "asked", "constant", "variable", "read", "reused", "reused 2+", "outside")
    keys = ("fsa", "declined_rightly", "planner_calls_per_step")
    tokens = ("constant_tokens", "variable_tokens", "tokens_evaluated", "tokens_reused", "reuse_from_second_step")
    methods = result["methods"].items()
    rows = [[name, *(_cell(m[key]) for key in (*keys, *tokens, "outside_mask"))] for name, m in methods]
    times = [
        [name, m["ms_per_step"]["p50"], m["ms_per_step"]["p90"], _cell(m["ms_per_planner_call"], "p50")]
        for name, m in methods
    ]
    parts = [table(rows, header), table(times, ("method", "step ms p50", "step ms p90", "planner ms p50"))]
    for key, what in (("by_plan_length", "fsa by calls of the plan"), ("by_history", "fsa by calls made")):
        parts.append(_print_groups(result[key], what))
    sets = [[c["nominal"], c["covered"], c["mean_size"]] for c in result["conformal"]]
    parts.append(table(sets, ("coverage", "measured", "mean size")))
    if "maskings" in result["prompts"]:
        prompts = [
            [name, m["constant"], m["variable"], m["total"]] for name, m in result["prompts"]["maskings"].items()
        ]
        parts.append(table(prompts, ("masking", "constant tokens", "variable tokens", "total")))
    if result["plans"]:
        figures = ("sr", "plan_fsa", "valid_arguments", "ms_per_plan")
        plans = [[name, *(_cell(p[key]) for key in figures)] for name, p in result["plans"].items()]
        parts.append(table(plans, ("whole plans", "sr", "functions", "valid arguments", "ms")))
    lines = [f"{result['n_steps']} decisions of {result['n_plans']} plans, seed {result['seed']}"]
    if result["prompts"].get("hard_saves") is not None:
        lines.append(f"masking hard saves {result['prompts']['hard_saves']:.1%} of masking none's tokens")
    if "warm_over_cold" in result["reuse"]:
        lines.append(f"time with a warm cache / with an empty one {result['reuse']['warm_over_cold']:.3f}")
    lines += [f"no {name}: {reason}" for name, reason in result["unavailable"].items()]
    return "\n\n".join([*parts, "\n".join(lines)])


def _print_groups(methods: Mapping[str, Any], what: str) -> str:
    columns = list(next(iter(methods.values()), {}))
    rows: list[list[object]] = [[name, *(g[c]["fsa"] for c in columns)] for name, g in methods.items()]
    rows += [["n", *(str(g[c]["n"]) for c in columns)] for g in list(methods.values())[:1]]
    return table(rows, (what, *columns))


def _cell(value: Any, key: str | None = None) -> object:
    """A figure for a table; what was not measured is a dash."""
    if value is not None and key is not None:
        value = value[key]
    return "-" if value is None else value


def _retrieval(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret.device import available_cpus
    from edgeret.encoder import Encoder
    from edgeret.providers import choose
    from edgeret_bench import retrieval
    from edgeret_export.encoders import export_encoder

    tools = read_tools(arguments.tools)
    queries = read_queries(arguments.queries, [tool.name for tool in tools])
    exported = export_encoder(find_card(arguments.encoder), arguments.precision, arguments.offline)
    encoder = Encoder(exported.model, exported.tokenizer, exported.spec, choose(("cpu",), False, {}), available_cpus())
    result = retrieval.run(tools, queries, encoder, _names(arguments.methods), arguments.tool_text)
    return {"encoder": arguments.encoder, "precision": arguments.precision, **result}


def _print_methods(result: Mapping[str, Any]) -> str:
    methods = result["methods"]
    metrics = list(next(iter(methods.values())))
    rows = [[name, *(float(values[m]) for m in metrics)] for name, values in methods.items()]
    lines = [table(rows, ("method", *metrics)), "", f"{result.get('n_steps', result.get('n_queries'))} decisions"]
    if "calibration" in result:
        fitness = {k: v for k, v in result["fitness"].items() if v is not None}
        lines.append(f"calibration error {result['calibration']['ece']:.4f}; fitness {fitness}")
    return "\n".join(lines)


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
