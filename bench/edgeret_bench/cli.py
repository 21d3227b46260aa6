"""The command line of the benchmarks: puts the commands together."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from edgeret import __version__
from edgeret.terminal.console import Parser, add_lab, run
from edgeret_bench.commands import (
    abstain,
    accuracy,
    arguments,
    datasets,
    learning,
    peers,
    proxied,
    reports,
    speed,
    targets,
)

SHOWN = ("next-tool", "retrieval", "latency", "compare", "report")
"""What users of bundles measure."""
UNLISTED = ("abstain", "arguments", "few", "methods", "plan", "stream")
"""Beside these as the command line's contract says, and too many to be shown with them."""


class _Places:
    """Gives each command its place: shown, unlisted, or behind `lab`."""

    def __init__(self, commands: Any, lab: Any) -> None:
        self._commands, self._lab = commands, lab
        self.choices: dict[str, Any] = {}

    def add_parser(self, name: str, **options: Any) -> Any:
        """As argparse's: the place is the name's."""
        if name in UNLISTED:
            options.pop("help")
        place = self._commands if name in SHOWN + UNLISTED else self._lab
        self.choices[name] = place.add_parser(name, **options)
        return self.choices[name]


def make_parser() -> argparse.ArgumentParser:
    """The parser of `edgeret-bench`."""
    parser = Parser(prog="edgeret-bench", description="Measures edgeret bundles.")
    parser.add_argument("--version", action="version", version=f"edgeret {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    places = _Places(commands, add_lab(parser, commands, "peers, datasets, scaling and the whole suite"))
    parser.epilog = f"Also: {', '.join(UNLISTED)}, each with --help. {parser.epilog}"
    for family in (accuracy, arguments, abstain, targets, learning, speed, peers, proxied, reports, datasets):
        family.add_commands(places)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    return run(make_parser(), argv, extra="edgeret-bench")
