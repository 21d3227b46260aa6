"""The command `edgeret try`: its options, and whether there is a terminal for it. What is done there is elsewhere."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from edgeret.cli.options import (
    add_base,
    add_examples,
    add_overlay_options,
    add_runtime_options,
    from_files,
    load_runtime,
    take_file_of_tools,
)
from edgeret.errors import InputError
from edgeret.runtime.options import POLICIES
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.console import add_command, check_place, needing

OUTPUT = "edgeret-tried.jsonl"
_ABOUT = "Decide as you type, in the terminal: candidates, why, arguments; accept, correct, learn, write down."


def add_try_command(commands: Any) -> None:
    """Adds `try`."""
    tried = add_command(commands, "try", _ABOUT, _try, _print)
    tried.add_argument("bundle", nargs="?", metavar="BUNDLE", help="folder of the bundle; or --tools")
    tried.add_argument(
        "--tools",
        action="append",
        metavar="T",
        help="decide from these tools alone, without a build: JSONL, or a list as OpenAI, Anthropic or MCP write it; "
        "may be given several times",
    )
    add_base(tried)
    add_examples(tried)
    tried.add_argument(
        "--output",
        default=OUTPUT,
        metavar="FILE",
        help="where Ctrl-S appends what was tried, as demonstrations (default: ./%(default)s)",
    )
    tried.add_argument("--policy", choices=POLICIES, default="auto", help="who decides (default: %(default)s)")
    tried.add_argument("--no-color", action="store_true", help="no colours (NO_COLOR in the environment says so too)")
    add_runtime_options(tried)
    add_overlay_options(tried)


def _try(arguments: argparse.Namespace) -> Mapping[str, Any]:
    _check(arguments)
    _check_terminal(arguments)
    with needing("try", "edgeret try"):
        from edgeret.adapters.trial.app import TryApp, warnings_told
        from edgeret.adapters.trial.session import Session
    if arguments.no_color:
        os.environ["NO_COLOR"] = "1"
    kept = arguments.tools is None and bool(arguments.overlay)
    with closing(_runtime(arguments)) as runtime:
        session = Session(runtime, kept=kept, policy=arguments.policy)
        notes = () if kept else ("nothing learned is kept",)
        app = TryApp(session, Path(arguments.output), colour="NO_COLOR" not in os.environ, notes=notes)
        with warnings_told(app):
            ended = app.run()
        if ended:
            raise SystemExit(ended)
        view = session.view()
    return {
        "ok": not app.return_code,
        "tried": view.tried,
        "written": view.tried - view.unwritten,
        "output": arguments.output if view.tried > view.unwritten else None,
        "learned": view.learned,
        "tools": view.tools,
    }


def _check(arguments: argparse.Namespace) -> None:
    """Raises InputError for options that do not go together, and for a place where no file can be."""
    take_file_of_tools(arguments)
    if (arguments.bundle is None) == (arguments.tools is None):
        raise InputError(
            "name a bundle, or tools with --tools FILE (and --base BUNDLE, if another encoder is to read them)"
        )
    output = Path(arguments.output)
    check_place(output, "--output")
    if output.exists() and not output.is_file():
        raise InputError(f"{output}: cannot be written (it is no file); give another place with --output")


def _check_terminal(arguments: argparse.Namespace) -> None:
    """Raises InputError where there is no terminal that can draw."""
    kind = os.environ.get("TERM", "")
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        why = "there is none here"
    elif os.name == "posix" and kind in ("", "dumb", "unknown"):
        why = f'TERM is "{kind}", which cannot draw'
    else:
        return
    bundle = arguments.bundle or arguments.tools[0]
    raise InputError(f'edgeret try needs a terminal, and {why}; use: edgeret select {shlex.quote(bundle)} "your words"')


def _runtime(arguments: argparse.Namespace) -> Runtime:
    arguments.writes = True  # an overlay that is named need not be there yet
    if arguments.tools is None:
        return load_runtime(arguments)
    return from_files(arguments, arguments.tools)


def _print(result: Mapping[str, Any]) -> str:
    left = result["tried"] - result["written"]
    told = [f"{result['tried']} tried"]
    if result["written"]:
        told.append(f"{result['written']} written to {result['output']}")
    if left:
        told.append(f"{left} not written")
    return ", ".join((*told, f"{result['learned']} learned"))
