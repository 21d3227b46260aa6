"""Arguments: single ones, whole calls and whole plans, beside other ways of reading them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from edgeret.cli.options import add_runtime_options, load_runtime, positive
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret_bench.answers import read_answers
from edgeret_bench.commands.common import FITTING, add_benchmark, names, seed


def add_commands(commands: Any) -> None:
    """Adds arguments."""
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


def _arguments(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.accuracy import arguments as measured

    runtime = load_runtime(arguments)
    demonstrations = read_demonstrations(arguments.demos, runtime.tools)
    answers = {} if arguments.answers is None else read_answers(arguments.answers, demonstrations)
    options = measured.Options(names(arguments.beside), arguments.calls, arguments.seed, answers)
    return {"bundle_hash": runtime.manifest.content_hash, **measured.run(runtime, demonstrations, options)}
