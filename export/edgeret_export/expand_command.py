"""The command `expand`: its options and what it prints. The work is `planner.expand` and `review`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.cli.options import positive
from edgeret.errors import InputError
from edgeret.inputs.tools import read_tools
from edgeret.terminal.console import add_command, add_offline, check_place
from edgeret.types import Tool
from edgeret_export.recorded.demonstrations import read_and_check
from edgeret_export.terminal import Terminal

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
    source = expand.add_mutually_exclusive_group()
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
    expand.add_argument(
        "--language",
        type=_language,
        action="append",
        default=[],
        metavar="L",
        help="a model writes in this one, by its English name or ISO code; may be given several times, and they take "
        "turns",
    )
    expand.add_argument(
        "--review",
        action="store_true",
        help="go through the queries in the terminal, tool by tool; without a source, through those that are there",
    )
    expand.add_argument("--seed", type=int, default=0, metavar="N", help="seed of everything drawn (default: 0)")
    add_offline(expand)
    expand.set_defaults(refuse=expand.error)


def _language(text: str) -> str:
    from edgeret_export.planner.languages import language_name

    try:
        return language_name(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _temperature(text: str) -> float:
    value = float(text)
    if not 0 <= value <= MAX_TEMPERATURE:
        raise argparse.ArgumentTypeError(f"must lie between 0 and {MAX_TEMPERATURE:g}, found {value:g}")
    return value


def _expand(arguments: argparse.Namespace) -> Mapping[str, Any]:
    sourced = bool(arguments.planner or arguments.endpoint or arguments.demos)
    if not sourced and not arguments.review:
        arguments.refuse("one of the arguments --planner --endpoint --demos is required")
    target = Path(arguments.output)
    check_place(target, "-o")
    # Who cannot be asked should know it before a model has written for hours.
    terminal = Terminal("--review") if arguments.review else None
    languages = _languages(arguments)
    if arguments.model and not arguments.endpoint and not arguments.planner:
        raise InputError("--model names a model of an endpoint; give its URL with --endpoint")
    tools = read_tools(*arguments.tools)
    report: dict[str, Any] = {"expansion": arguments.output}
    if sourced:
        report |= _written(arguments, tools, languages, target)
    if terminal is not None:
        from edgeret_export.review import review

        terminal.forget_typed()
        report |= review(tools, target, terminal)
    return report


def _languages(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The languages that a model is to write in. Raises InputError where none writes."""
    if arguments.language and arguments.demos:
        raise InputError(
            "--language is for a model; queries of --demos stay in the language that they were said in: leave it out"
        )
    if arguments.language and not arguments.planner and not arguments.endpoint:
        raise InputError("--language is for a model, and none is named; give --planner or --endpoint")
    from edgeret_export.planner.languages import check_languages

    return check_languages(arguments.language, arguments.queries)


def _written(
    arguments: argparse.Namespace, tools: Sequence[Tool], languages: tuple[str, ...], target: Path
) -> dict[str, Any]:
    """Has the file brought up to date."""
    from edgeret_export.planner.asking import named_model
    from edgeret_export.planner.expand import ByDemonstrations, ByModel, Settings, Source, expand

    settings = Settings(arguments.queries, arguments.temperature, arguments.seed, languages)
    asked = named_model(arguments.planner, arguments.endpoint, arguments.model, arguments.offline)
    source: Source
    if asked is None:
        source = ByDemonstrations(read_and_check(arguments.demos, tools)[0], settings)
    else:
        source = ByModel(asked, settings)
    return expand(tools, source, target)


def _print(result: Mapping[str, Any]) -> str:
    without = result["without"]
    lines = [
        f"expansion {result['expansion']}: {result['queries']} queries for {result['tools'] - len(without)} of "
        f"{result['tools']} tools"
    ]
    if "written" in result:
        lines.append(
            f"lines     {result['written']} written, {result['kept']} kept, {result['failed']} failed; "
            f"{result['left_out']} queries left out (blank, too long, double, or the tool's name)"
        )
    if "reviewed" in result:
        later = "; the same command goes on" if result["to_review"] else ""
        lines.append(f"reviewed  {result['reviewed']} tools, {result['to_review']} left{later}")
    if without:
        shown = ", ".join(without[:_SHOWN]) + (", …" if len(without) > _SHOWN else "")
        lines.append(f"without   {len(without)} tools: {shown}")
    return "\n".join([*lines, f"next      edgeret-export build --tools … -o BUNDLE --expansion {result['expansion']}"])
