"""The command `demos`: its options and what it prints. The work is `transcripts.convert`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.cli.options import coverage
from edgeret.errors import InputError
from edgeret.inputs.tools import read_tools
from edgeret.terminal.console import add_command, check_place, table, warn
from edgeret.usage.segments import parts_of
from edgeret_export.transcripts.registry import AUTO, NAMES
from edgeret_export.transcripts.requests import TURNS


def add_demos(commands: Any) -> None:
    """Adds the command."""
    demos = add_command(commands, "demos", "Make demonstrations out of transcripts of an assistant.", _demos, _print)
    demos.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="transcripts, or the folder of a log of edgeret's; gzip files are unpacked while they are read",
    )
    demos.add_argument("-o", "--output", required=True, metavar="D", help="the demonstrations to write: JSONL")
    demos.add_argument(
        "--from", dest="source", choices=NAMES, default=AUTO, help="what the files are (default: told by their records)"
    )
    demos.add_argument(
        "--turns",
        choices=TURNS,
        default="each",
        help="a turn that needs the one before it is left out (each, the default) or put behind it (join); first: "
        "only a conversation's first turn",
    )
    demos.add_argument(
        "--no-tool",
        choices=("skip", "keep"),
        default="skip",
        help="turns that were answered without a call: skip (default), or keep as requests that need no tool",
    )
    demos.add_argument(
        "--redact", metavar="FILE", help="regular expressions (RE2), one a line; what they find is not written"
    )
    demos.add_argument("--test", metavar="FILE", help="demonstrations kept for a test, in a file of their own")
    demos.add_argument(
        "--test-share", type=coverage, default=0.1, metavar="X", help="how many of them (default: %(default)s)"
    )
    demos.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of what is drawn for the test (default: 0)"
    )
    demos.add_argument("--tools-out", metavar="T", help="the tools that the transcripts define, to write as JSONL")
    demos.add_argument(
        "--tools",
        action="append",
        default=[],
        metavar="T",
        help="tools, as in build; requests that call others are skipped; may be given several times",
    )


def _demos(arguments: argparse.Namespace) -> Mapping[str, Any]:
    files = [part for file in map(Path, arguments.files) for part in (parts_of(file) if file.is_dir() else [file])]
    if not files:
        raise InputError(f"{arguments.files[0]}: a folder without a log of edgeret's; name the transcripts in it")
    _check_places(files, [("-o", arguments.output), ("--test", arguments.test), ("--tools-out", arguments.tools_out)])
    if arguments.seed < 0:
        raise InputError(f"--seed must be at least 0, found {arguments.seed}")
    from edgeret_export.transcripts.convert import Choices, Outputs, convert
    from edgeret_export.transcripts.redact import Redactor, read_patterns

    known = [tool.name for tool in read_tools(*arguments.tools, tell=warn)] if arguments.tools else None
    outputs = Outputs(
        Path(arguments.output),
        None if arguments.test is None else Path(arguments.test),
        arguments.test_share,
        arguments.seed,
        None if arguments.tools_out is None else Path(arguments.tools_out),
    )
    choices = Choices(
        arguments.source,
        arguments.turns,
        arguments.no_tool == "keep",
        Redactor() if arguments.redact is None else read_patterns(Path(arguments.redact)),
        known if known is None else frozenset(known),
    )
    report = convert(files, outputs, choices)
    if report["test"] and not report["test"]["demonstrations"]:
        warn(f"{arguments.test}: empty; no conversation, with all that nearly say the same, fits into --test-share")
    return report


def _check_places(files: Sequence[Path], places: Sequence[tuple[str, str | None]]) -> None:
    """Raises InputError for a place where no file can be, that another output has, or that is a transcript."""
    taken = {file.resolve(): f"the transcript {file}" for file in files}
    for option, place in places:
        if place is None:
            continue
        target = Path(place)
        check_place(target, option)
        target.parent.mkdir(parents=True, exist_ok=True)
        if owner := taken.get(target.resolve()):
            raise InputError(f"{target}: would replace {owner}; give another place with {option}")
        taken[target.resolve()] = f"what {option} writes"


def _print(result: Mapping[str, Any]) -> str:
    lines = [f"written   {result['output']}: {result['demonstrations']} demonstrations of {result['called']} tools"]
    if test := result["test"]:
        lines.append(f"test      {test['output']}: {test['demonstrations']} more ({test['share']:.1%} of all)")
    if tools := result["tools"]:
        lines.append(f"tools     {tools['output']}: {tools['tools']} tools" + _told_of_changes(tools["changed"]))
    if result["redacted"]:
        lines.append("redacted  " + ", ".join(f"{count} {name}" for name, count in result["redacted"].items()))
    if result["repeated"]:
        lines.append(f"repeated  {result['repeated']} times a turn came again; what was known last was kept")
    files = [
        [each["file"], ", ".join(each["formats"]) or "–", each["records"], each["demonstrations"]]
        for each in result["files"]
    ]
    lines += ["", table(files, ("file", "format", "records", "demonstrations"))]
    if result["skipped"]:
        rows = [[row["count"], row["what"], row["reason"], row["first"]] for row in result["skipped"]]
        lines += ["", table(rows, ("skipped", "what", "why", "first"))]
    tools_file = tools["output"] if tools else "tools.jsonl"
    return "\n".join(
        [*lines, "", f"next      edgeret-export build --tools {tools_file} --demos {result['output']} -o BUNDLE"]
    )


def _told_of_changes(changed: Sequence[str]) -> str:
    return f"; {len(changed)} changed on the way, the newest was kept: {', '.join(changed[:5])}" if changed else ""
