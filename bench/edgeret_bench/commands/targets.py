"""What the encoder's graphs for other hardware keep of the original."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration, read_demonstrations
from edgeret.inputs.tools import read_tools
from edgeret.terminal.console import add_offline
from edgeret.types import Tool
from edgeret_bench.commands.common import ENCODER, FITTING, add_benchmark, seed


def add_commands(commands: Any) -> None:
    """Adds targets."""
    targets = add_benchmark(
        commands,
        "targets",
        "What the encoder's graphs for CPUs, GPUs and NPUs keep of the original: builds them all, tested.",
        _targets,
        extra=FITTING,
    )
    targets.add_argument(
        "--set",
        required=True,
        action="append",
        metavar="[NAME=]TOOLS:TRAIN:TEST",
        help="tools, demonstrations to build on, and others to test on; may be given several times",
    )
    targets.add_argument("--seed", type=seed, default=0, metavar="N", help="of the build (default: %(default)s)")
    targets.add_argument("--encoder", default=ENCODER, metavar="CARD", help="default: %(default)s")
    add_offline(targets)


def _targets(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_bench.accuracy import targets
    from edgeret_export.recipe import read_recipe
    from edgeret_export.sources.cards import find_card

    sets = dict(_read(told) for told in arguments.set)
    if len(sets) < len(arguments.set):
        raise InputError("--set: two sets of one name; give each its own, as NAME=TOOLS:TRAIN:TEST")
    card, recipe = find_card(arguments.encoder), read_recipe(None, seed=arguments.seed)
    found = {name: targets.run(card, recipe, *given, arguments.offline) for name, given in sets.items()}
    return {"encoder": {"card": card.name}, "sets": found}


def _read(told: str) -> tuple[str, tuple[list[Tool], list[Demonstration], list[Demonstration]]]:
    """A set's name, and its tools, its demonstrations to build on and those to test on."""
    name, _, files = told.rpartition("=")
    parts = files.split(":")
    if len(parts) != 3 or not all(parts):
        raise InputError(f"--set: expected [NAME=]TOOLS:TRAIN:TEST, found '{told}'")
    tools = list(read_tools(parts[0]))
    names = [tool.name for tool in tools]
    train, test = (read_demonstrations(path, names) for path in parts[1:])
    return name or Path(parts[0]).resolve().parent.name, (tools, train, test)
