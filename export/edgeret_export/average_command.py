"""The command `average`: its options, and what it prints. Parses and prints; the work is `encoders.average`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.terminal.console import add_command


def add_average(commands: Any) -> None:
    """Adds the command."""
    average = add_command(
        commands,
        "average",
        "Average several tunings of one encoder, which differ by their seeds, into one adapter.",
        _average,
        _print,
    )
    average.add_argument("adapters", nargs="+", metavar="FOLDER", help="what `tune` wrote; two or more")
    average.add_argument("-o", "--output", required=True, metavar="FOLDER", help="folder to write; must not exist yet")
    average.add_argument("--rank", type=int, metavar="N", help="of the mean (default: 23)")


def _average(arguments: argparse.Namespace) -> Mapping[str, Any]:
    from edgeret_export.encoders.average import RANK, average

    rank = RANK if arguments.rank is None else arguments.rank
    made = average([Path(told) for told in arguments.adapters], Path(arguments.output), rank)
    return {"folder": arguments.output, **made}


def _print(result: Mapping[str, Any]) -> str:
    return "\n".join(
        (
            f"written  {result['folder']}: the mean of {len(result['averaged'])} adapters, of rank {result['rank']}",
            f"sha256   {result['adapter']['sha256']}",
            f"next     edgeret-export build --tools TOOLS -o BUNDLE --adapter {result['folder']}",
        )
    )
