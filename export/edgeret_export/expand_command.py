"""The command `expand`: its options and what it prints. The work is `planner.expand`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.cli.console import add_command, check_place
from edgeret.cli.options import positive
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import read_and_check
from edgeret.inputs.tools import read_tools

MAX_TEMPERATURE = 2.0
_SHOWN = 5


def add_expand(commands: Any) -> None:
    """Adds the command."""
    expand = add_command(
        commands, "expand", "Write queries for every tool, which make its vector better.", _expand, _print
    )
    expand.add_argument(
        "--tools", required=True, action="append", metavar="T", help="tools, as in build; may be given several times"
    )
    expand.add_argument(
        "-o", "--output", required=True, metavar="FILE.jsonl", help="the file to write, or to go on with"
    )
    source = expand.add_mutually_exclusive_group(required=True)
    source.add_argument("--planner", metavar="CARD", help="this planner writes them; see: edgeret-export cards")
    source.add_argument("--endpoint", metavar="URL", help="a model behind an OpenAI-compatible endpoint writes them")
    source.add_argument(
        "--demos",
        action="append",
        metavar="D",
        help="no model: the queries of demonstrations that call one tool alone; may be given several times",
    )
    expand.add_argument("--model", metavar="NAME", help="which of the endpoint's models (default: its first)")
    expand.add_argument(
        "--queries", type=positive, default=10, metavar="N", help="of a tool, at most (default: %(default)s)"
    )
    expand.add_argument(
        "--temperature", type=_temperature, default=0.7, metavar="X", help="of a model (default: %(default)s)"
    )
    expand.add_argument("--seed", type=int, default=0, metavar="N", help="seed of everything drawn (default: 0)")
    expand.add_argument("--offline", action="store_true", help="use cached model files only")


def _temperature(text: str) -> float:
    value = float(text)
    if not 0 <= value <= MAX_TEMPERATURE:
        raise argparse.ArgumentTypeError(f"must lie between 0 and {MAX_TEMPERATURE:g}, found {value:g}")
    return value


def _expand(arguments: argparse.Namespace) -> Mapping[str, Any]:
    target = Path(arguments.output)
    check_place(target, "-o")
    tools = read_tools(*arguments.tools)
    from edgeret_export.planner.asking import named_model
    from edgeret_export.planner.expand import ByDemonstrations, ByModel, Settings, Source, expand

    settings = Settings(arguments.queries, arguments.temperature, arguments.seed)
    asked = named_model(arguments.planner, arguments.endpoint, arguments.model, arguments.offline)
    source: Source
    if asked is None:
        if arguments.model:
            raise InputError("--model names a model of an endpoint; give its URL with --endpoint")
        source = ByDemonstrations(read_and_check(arguments.demos, tools)[0], settings)
    else:
        source = ByModel(asked, settings)
    return {"expansion": arguments.output, **expand(tools, source, target)}


def _print(result: Mapping[str, Any]) -> str:
    without = result["without"]
    lines = [
        f"expansion {result['expansion']}: {result['queries']} queries for {result['tools'] - len(without)} of "
        f"{result['tools']} tools",
        f"lines     {result['written']} written, {result['kept']} kept, {result['failed']} failed; "
        f"{result['left_out']} queries left out (blank, too long, double, or the tool's name)",
    ]
    if without:
        shown = ", ".join(without[:_SHOWN]) + (", …" if len(without) > _SHOWN else "")
        lines.append(f"without   {len(without)} tools: {shown}")
    return "\n".join([*lines, f"next      edgeret-export build --tools … -o BUNDLE --expansion {result['expansion']}"])
