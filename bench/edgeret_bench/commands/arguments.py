"""Arguments: single ones, whole calls and plans, beside other ways of reading them, and what bounds all of these."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from edgeret.cli.options import add_runtime_options, load_runtime, positive
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.inputs.tools import read_tools
from edgeret.terminal.console import add_command, needing, table
from edgeret_bench.answers import read_answers
from edgeret_bench.commands.common import ENCODER, FITTING, add_benchmark, names, seed


def add_commands(commands: Any) -> None:
    """Adds arguments and reach."""
    read = add_benchmark(
        commands,
        "arguments",
        "Arguments as they are read from the requests: single ones, calls and whole plans, functions given and free.",
        _arguments,
        bundle=True,
        extra=FITTING,
    )
    read.add_argument("--demos", required=True, metavar="D", help="demonstrations with arguments: JSONL")
    read.add_argument("--answers", metavar="FILE", help="which values are right too, and what time it was (see fetch)")
    read.add_argument(
        "--beside",
        default="rules",
        metavar="a,b",
        help="other ways on the same calls: rules, planner (asked for what is missing), planner-alone "
        "(default: %(default)s)",
    )
    read.add_argument(
        "--calls", type=positive, default=40, metavar="N", help="so many for a planner (default: %(default)s)"
    )
    read.add_argument("--seed", type=seed, default=0, metavar="N", help="of what is drawn (default: %(default)s)")
    add_runtime_options(read)
    told = "What bounds arguments: where true values stand, and what is read where a head knows each one's place."
    reach = add_command(commands, "reach", told, _reach, _print_reach)
    reach.add_argument("--tools", required=True, metavar="T", help="tools: JSONL")
    reach.add_argument("--demos", required=True, metavar="D", help="demonstrations with arguments: JSONL")


def _arguments(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.accuracy import arguments as measured

    runtime = load_runtime(arguments)
    demonstrations = read_demonstrations(arguments.demos, runtime.tools)
    answers = {} if arguments.answers is None else read_answers(arguments.answers, demonstrations)
    options = measured.Options(names(arguments.beside), arguments.calls, arguments.seed, answers)
    return {"bundle_hash": runtime.manifest.content_hash, **measured.run(runtime, demonstrations, options)}


def _reach(arguments: argparse.Namespace) -> Mapping[str, Any]:
    with needing(FITTING, "reach"):
        from edgeret_bench.accuracy import reach
        from edgeret_export.encoders.argument_card import argument_card_of
        from edgeret_export.sources.cards import find_card

        card = argument_card_of(find_card(ENCODER))
    if card is None:
        raise InputError(f"no head for arguments is shipped for {ENCODER}, and reach joins with the rules as it does")
    tools = {tool.name: tool for tool in read_tools(arguments.tools)}
    return reach.run(tools, list(read_demonstrations(arguments.demos, tools)), card.pool)


def _print_reach(result: Mapping[str, Any]) -> str:
    of = result["n_arguments"]
    rows = [[place, count, f"{count / of:.3f}"] for place, count in result["places"].items()]
    pointed = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in result["pointed"].items())
    return "\n".join(
        (
            table(rows, ("true values", "arguments", "share")),
            f"{result['n_calls']} calls; {result['calls_within']:.3f} have no value that would have to be made up",
            f"read where a head knows every place: {pointed}",
        )
    )
