"""The command line of the benchmarks: puts the commands together."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from edgeret import __version__
from edgeret.cli.console import Parser, run
from edgeret_bench.commands import abstain, accuracy, datasets, learning, peers, proxied, reports, speed, targets


def make_parser() -> argparse.ArgumentParser:
    """The parser of `edgeret-bench`."""
    parser = Parser(prog="edgeret-bench", description="Measures edgeret bundles.")
    parser.add_argument("--version", action="version", version=f"edgeret {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for family in (accuracy, abstain, targets, learning, speed, peers, proxied, reports, datasets):
        family.add_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    return run(make_parser(), argv, extra="bench")
