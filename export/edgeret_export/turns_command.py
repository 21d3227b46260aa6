"""The command `turns`: its options, what it reads, and its table. Parses and prints; the work is `fitting.turns`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgeret.inputs.conversations import read_conversations
from edgeret.runtime.runtime import Runtime
from edgeret.terminal.console import add_command, table, write_whole
from edgeret_export.reference.runtime import load_reference


def add_turns(commands: Any) -> None:
    """Adds the command."""
    turns = add_command(
        commands,
        "turns",
        "Fit what later turns of a conversation take from earlier ones: weights that are the same for everybody.",
        _turns,
        _print,
        bundle=True,
    )
    turns.add_argument(
        "--conversations",
        required=True,
        metavar="C",
        help='JSONL of {"turns": [{"query", "calls"}]}, for the bundle\'s tools',
    )
    turns.add_argument("-o", "--output", required=True, metavar="FILE", help="the weights: turns.json of the reference")


def _turns(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_export.fitting.turns import cross_fitted, decided_steps, fit_turns

    whole = load_reference(arguments.bundle, profile="full")
    conversations = read_conversations(arguments.conversations, whole.tools)
    bare = Runtime(whole.loaded.instead(list(whole.tools.values())))
    found: dict[str, Any] = {"recipe": f"edgeret-export lab turns, {len(conversations)} conversations", "held_out": {}}
    for name, runtime in (("tools", bare), ("demonstrated", whole)):
        decided = decided_steps(runtime, conversations)
        nothing, found["held_out"][name] = cross_fitted(decided)
        found[name] = replace(fit_turns(decided), nothing=nothing).to_dict()
    write_whole(Path(arguments.output), json.dumps(found, indent=1) + "\n", "--output")
    return {"file": arguments.output, **found}


def _print(result: Mapping[str, Any]) -> str:
    rows = [[name, row["steps"], row["top1"], row["ece"]] for name, row in result["held_out"].items()]
    return "\n".join([table(rows, ("bundle", "steps", "top-1", "ECE")), f"written   {result['file']}"])
