"""The command line of the runtime. Parses arguments and prints; the work is elsewhere."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from edgeret import __version__
from edgeret.adapters.serve.service import decided, searched
from edgeret.cli.apply_command import add_apply_command
from edgeret.cli.bundle_commands import add_bundle_commands
from edgeret.cli.first_use import explain_once
from edgeret.cli.gate_command import add_gate_command
from edgeret.cli.learn_command import add_learn_command
from edgeret.cli.mcp_command import add_mcp_command
from edgeret.cli.options import (
    add_base,
    add_clock,
    add_examples,
    add_history,
    add_mask_options,
    add_overlay_options,
    add_runtime_options,
    kind_of_path,
    load_runtime,
    parse_history,
    parse_names,
    positive,
    probability,
)
from edgeret.cli.report_command import add_report_command
from edgeret.cli.serve_command import add_serve_commands
from edgeret.cli.store_command import add_store_command
from edgeret.cli.told import read_lines
from edgeret.cli.tools_command import add_tools_command
from edgeret.cli.trace_page import draw_trace, took
from edgeret.cli.try_command import add_try_command
from edgeret.errors import InputError
from edgeret.inputs.query import check_query, check_texts
from edgeret.planner.endpoint import Endpoint
from edgeret.planner.prompts import MASKINGS
from edgeret.quoting import quoted, visible
from edgeret.runtime.options import POLICIES
from edgeret.runtime.runtime import Runtime
from edgeret.runtime.task import Task
from edgeret.strategies import STRATEGIES
from edgeret.strategies.routing import read_route
from edgeret.terminal.console import Parser, add_command, run, table
from edgeret.types import PlanStep

_SELECT_EXPLAINED = """\
Said once. Below: the function to call next, how sure that is (0 to 1), and who says so ("prior": the tools' own words,
"heads": demonstrations, "planner": a language model). Then why, what else was thought of, and the time of each stage.
"abstained": nothing fits well enough. Give calls already made with --history a,b; ask why with --explain.
The first decision of a process is cold. `edgeret-bench latency BUNDLE --queries FILE` measures warm ones.
"""


def make_parser() -> argparse.ArgumentParser:
    """The parser of `edgeret`."""
    parser = Parser(prog="edgeret", description="Decides which function an assistant calls next.")
    parser.add_argument("--version", action="version", version=f"edgeret {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    search = _add_search(commands)
    seldom = _add_select(commands)
    prompt = add_command(
        commands,
        "prompt",
        "Write the prompt that asks a language model which function comes next.",
        _prompt,
        _print_prompt,
        bundle=True,
        tools=True,
    )
    prompt.add_argument("query", metavar="QUERY")
    add_history(prompt)
    _add_masking(prompt)

    plan = add_command(
        commands, "plan", "Decide step by step until <end>.", _plan, _print_plan, bundle=True, tools=True
    )
    plan.add_argument("query", metavar="QUERY")
    plan.add_argument(
        "--max-steps", type=positive, default=16, metavar="N", help="bound on the calls (default: %(default)s)"
    )
    plan.add_argument("--no-arguments", action="store_true", help="do not read the calls' arguments")
    add_clock(plan)
    plan.add_argument("--stream", action="store_true", help="show each step on stderr as it is decided")
    _add_policy(plan, floor=False)

    for options in (search, seldom, prompt, plan):
        add_base(options)
        add_examples(options)
        add_runtime_options(options)
        add_overlay_options(options)
    add_tools_command(commands)
    add_learn_command(commands)
    add_store_command(commands)
    add_mcp_command(commands)
    add_bundle_commands(commands)
    add_apply_command(commands)
    add_gate_command(commands)
    add_serve_commands(commands)
    add_report_command(commands)
    add_try_command(commands)
    return parser


def _add_select(commands: Any) -> argparse._ArgumentGroup:
    """The command with the options of every day; returns the group of all others, which its help shows below."""
    select = add_command(
        commands, "select", "Decide which function comes next.", _select, _print_select, bundle=True, tools=True
    )
    select.add_argument("query", metavar="QUERY")
    add_history(select)
    select.add_argument(
        "--tools",
        metavar="a,b,c",
        help="the only tools that may be chosen (or a JSON array; default: all); without a bundle, a file "
        "of tools (.json, .jsonl)",
    )
    select.add_argument("-k", type=positive, default=10, metavar="N", help="candidates to list (default: %(default)s)")
    select.add_argument("--explain", action="store_true", help="tell which part said what, and what would turn it")
    select.add_argument("--arguments", action="store_true", help="tell the call's arguments as the request gives them")
    seldom = select.add_argument_group("seldom needed")
    add_clock(seldom)
    seldom.add_argument("--why-not", metavar="TOOL", help="--explain against this tool, and not against the runner-up")
    _add_policy(seldom)
    _add_masking(seldom)
    return seldom


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    return run(make_parser(), _with_tools_first(list(sys.argv[1:] if argv is None else argv)))


def _with_tools_first(argv: list[str]) -> list[str]:
    """`select --tools tools.jsonl QUERY` as `select tools.jsonl QUERY`: argparse cannot leave out the first of two
    words where options stand between them. So do the commands that have no such option, since one learns it here."""
    if argv[:1] not in (["select"], ["search"], ["prompt"], ["plan"]):
        return argv
    for place, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if len(name) >= len("--to") and "--tools".startswith(name):  # argparse takes a clear beginning for the whole
            after = place + 1 if equals else place + 2
            value = value if equals else "".join(argv[place + 1 : after])
            # A file of another name may be called like a tool, which is chosen from a bundle, and that is a folder.
            file = kind_of_path(value) == "file" and "folder" not in map(kind_of_path, argv[1:])
            if value.endswith((".json", ".jsonl")) or file:
                return [argv[0], value, *argv[1:place], *argv[after:]]
    return argv


def _add_policy(parser: argparse._ActionsContainer, floor: bool = True) -> None:
    parser.add_argument("--policy", choices=POLICIES, default="auto", help="who decides (default: %(default)s)")
    if floor:
        parser.add_argument(
            "--min-probability",
            type=probability,
            metavar="P",
            help="abstain below this probability (default: the bundle's)",
        )


def _add_masking(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--masking", choices=MASKINGS, default="hard", help="what a planner's prompt shows (default: %(default)s)"
    )
    add_mask_options(parser)


def _add_search(commands: Any) -> argparse.ArgumentParser:
    search = add_command(
        commands, "search", "Find tools for some words.", _search, _print_search, bundle=True, tools=True
    )
    search.add_argument(
        "query",
        nargs="+",
        metavar="QUERY",
        help="one to four texts, each in quotes: the user's own words, and what each needed tool should do",
    )
    search.add_argument("-k", type=positive, default=10, metavar="N", help="how many tools (default: %(default)s)")
    search.add_argument(
        "--strategy", choices=STRATEGIES, default="auto", help="how tools are searched (default: %(default)s)"
    )
    search.add_argument("--budget-ms", type=positive, metavar="MS", help="give the best ranking so far after this time")
    search.add_argument(
        "--endpoint", metavar="URL", help="ask a model behind this OpenAI-compatible endpoint, not the bundle's planner"
    )
    search.add_argument("--model", metavar="NAME", help="which of the endpoint's models (default: its first)")
    search.add_argument(
        "--route",
        metavar="FILE",
        help="when auto asks a planner: what edgeret-export lab route measured (default: never)",
    )
    search.add_argument(
        "--needed", action="store_true", help="show what calls of these tools need first, too, and for which of them"
    )
    search.add_argument(
        "--trace", action="store_true", help="show what was searched for and read in it, and what a planner wrote"
    )
    search.add_argument("--html", metavar="FILE", help="draw that: what was found when, and how")
    return search


def _search(arguments: argparse.Namespace) -> Mapping[str, Any]:
    first, *others = arguments.query
    if others and all(len(text.split()) == 1 for text in arguments.query):
        raise InputError(
            f"unrecognized arguments: {' '.join(others)}; quote the query: {quoted(' '.join((first, *others)))}. "
            "Several queries are each in quotes, and not all of one word"
        )
    texts = check_texts(arguments.query)
    if arguments.model and not arguments.endpoint:
        raise InputError("--model names one of an endpoint's models; add --endpoint URL")
    route = read_route(arguments.route) if arguments.route else None
    runtime = load_runtime(arguments)
    endpoint = Endpoint(arguments.endpoint, arguments.model) if arguments.endpoint else None
    found = runtime.search_with_trace(
        texts,
        arguments.k,
        strategy=arguments.strategy,
        budget_ms=arguments.budget_ms,
        planner=endpoint,
        route=route,
        needed=arguments.needed,
    )
    if arguments.html:
        draw_trace(runtime.task(texts[0]).next().explain(), found, Path(arguments.html))
    result = searched(runtime, texts, arguments.strategy, found)
    if arguments.trace:
        read = [runtime.understood(text).to_dict() for text in texts]
        result["trace"] = found.trace.to_dict() | {"read": read}
    return result


def _print_search(result: Mapping[str, Any]) -> str:
    hits = [
        [rank, hit["tool"], hit["similarity"], "" if hit["share"] is None else hit["share"], hit.get("needed_for", "")]
        for rank, hit in enumerate(result["hits"], 1)
    ]
    # Whoever did not ask for it sees no empty column.
    shown = 5 if any(hit[-1] for hit in hits) else 4
    lines = [table([hit[:shown] for hit in hits], ("rank", "tool", "cosine", "share", "needed for")[:shown])]
    if trace := result.get("trace"):
        rows = [
            [ms, event["kind"], event["text"], ", ".join(event["tools"])]
            for ms, event in zip(took(trace), trace["events"], strict=True)
        ]
        lines += ["", table(rows, ("ms", "what", "text", "tools"))]
        asked = f", the planner asked {trace['answers']} times, {trace['tokens']} tokens" if trace["answers"] else ""
        lines += [f"{trace['ms']:.1f} ms{asked}", *read_lines(trace["read"])]
    if not result["complete"]:
        lines.append(f"not complete, the best ranking so far: {result['problem']}")
    return "\n".join(lines)


def _select(arguments: argparse.Namespace) -> Mapping[str, Any]:
    check_query(arguments.query)
    tools = None if arguments.tools is None else parse_names(arguments.tools, "--tools")
    _, task = _task(arguments, tools, arguments.now)
    decision = task.next(
        policy=arguments.policy,
        k=arguments.k,
        min_probability=arguments.min_probability,
        coverage=arguments.coverage,
        masking=arguments.masking,
        weighted=arguments.weighted,
    )
    explained = arguments.explain or arguments.why_not is not None
    result = decided(decision, arguments.arguments, explained, arguments.why_not)
    explain_once("select", _SELECT_EXPLAINED)
    return result


def _print_select(result: Mapping[str, Any]) -> str:
    what = result["tool"] if not result["abstained"] else "abstained"
    lines = [
        f"{what}  (probability {result['probability']:.3f}, by {result['source']})",
        f"because {result['reason']}",
    ]
    if shared := result["alternatives"]:
        told = [f"{one['tool']} ({one['distinction'] or format(one['probability'], '.3f')})" for one in shared]
        lines.append(f"either: {' or '.join(told)}")
    if "arguments" in result:
        rows = [[name, one["value"], one["confidence"], one["source"]] for name, one in result["arguments"].items()]
        lines += ["", table(rows, ("argument", "value", "sure", "from"))] if rows else []
        lines += [f"missing {name}: {question}" for name, question in result["missing"].items()]
    if explained := result.get("explanation"):
        lines += ["", *explained["lines"][1:], "", _vote_table(explained)]
    lines += ["", table([[c["probability"], c["tool"]] for c in result["candidates"]], ("probability", "candidate"))]
    lines += [
        "",
        "ms, cold (the first decision of this process): "
        + ", ".join(f"{stage} {ms:.3f}" for stage, ms in result["timings_ms"].items()),
    ]
    return "\n".join(lines)


def _vote_table(explained: Mapping[str, Any]) -> str:
    """What each part says of the candidates that are compared."""
    compared = explained["probabilities"]
    rows = [
        [vote["part"], vote["weight"], *("" if one is None else one for one in vote["probabilities"].values())]
        for vote in explained["votes"]
    ]
    return table([*rows, ["together", "", *compared.values()]], ("part", "weight", *compared))


def _task(
    arguments: argparse.Namespace, tools: Sequence[str] | None = None, now: datetime | None = None
) -> tuple[Runtime, Task]:
    """The runtime, and a task of the query with the history's calls made, which may choose among `tools`."""
    runtime = load_runtime(arguments)
    return runtime, runtime.task(arguments.query, parse_history(arguments.history), tools=tools, now=now)


def _prompt(arguments: argparse.Namespace) -> Mapping[str, Any]:
    check_query(arguments.query)
    runtime, task = _task(arguments)
    prompt = task.prompt(masking=arguments.masking, weighted=arguments.weighted, coverage=arguments.coverage)
    tokens = None
    if runtime.loaded.planner.exists:
        constant, variable = runtime.loaded.planner.get().count(prompt)
        tokens = {"constant": constant, "variable": variable}
    return {
        "masking": arguments.masking,
        "weighted": arguments.weighted,
        "messages": prompt.messages,
        "constant_turns": len(prompt.constant),
        "tokens": tokens,
    }


def _print_prompt(result: Mapping[str, Any]) -> str:
    text = "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in result["messages"])
    if result["tokens"] is None:
        return text
    return text + f"\n\n(tokens: {result['tokens']['constant']} constant, {result['tokens']['variable']} variable)"


def _plan(arguments: argparse.Namespace) -> Mapping[str, Any]:
    check_query(arguments.query)
    runtime = load_runtime(arguments)
    plan = runtime.plan(
        arguments.query,
        policy=arguments.policy,
        max_steps=arguments.max_steps,
        arguments=not arguments.no_arguments,
        now=arguments.now,
        decided=_show_step if arguments.stream else None,
    )
    return plan.to_dict()


def _show_step(step: PlanStep) -> None:
    what = step.decision.tool or "(abstained)"
    told = f"{what} {json.dumps(step.call.arguments, ensure_ascii=False)}" if step.call else what
    sys.stderr.write(visible(told) + "\n")


def _print_plan(result: Mapping[str, Any]) -> str:
    rows = [
        [
            i,
            step["tool"] or f"(abstained: {step['reason']})",
            step["probability"],
            step["source"],
            _written(step),
        ]
        for i, step in enumerate(result["steps"], 1)
    ]
    return table(rows, ("step", "tool", "probability", "by", "arguments")) + f"\n\n{result['outcome']}"


def _written(step: Mapping[str, Any]) -> str:
    """A step's arguments, and the names of those that are missing."""
    given = json.dumps(step["arguments"], ensure_ascii=False) if step["arguments"] else ""
    missing = f"missing: {', '.join(step['missing'])}" if step["missing"] else ""
    return "  ".join(part for part in (given, missing) if part)
