"""What the benchmarks' commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.terminal.console import Handler, add_command, check_place, needing
from edgeret_bench.results.files import stamp, write_result
from edgeret_bench.results.writing import printed

FITTING = "edgeret-export"
"""The distribution of what fits heads, exports encoders and fetches files."""
ENCODER = "all-minilm-l6-v2"
"""The card that is measured where none is named, as in a build."""


def add_benchmark(
    commands: Any,
    name: str,
    help_text: str,
    handler: Handler,
    bundle: bool = False,
    extra: str = "edgeret-bench",
) -> argparse.ArgumentParser:
    """Adds a command whose result is stamped, printed as tables, and written to a file with `-o`. A library that is
    not installed is reported as the missing `extra` that brings it."""

    def stamped(arguments: argparse.Namespace) -> Mapping[str, Any]:
        if arguments.output is not None:
            check_place(Path(arguments.output), "-o")
        with needing(extra, name):
            result = stamp(name, arguments, handler(arguments))
        if arguments.output is not None:
            write_result(Path(arguments.output), result)
        return result

    parser = add_command(commands, name, help_text, stamped, printed, bundle)
    parser.add_argument("-o", "--output", metavar="FILE", help="write the result there too, for report and compare")
    return parser


def names(text: str) -> list[str]:
    """The names in a list with commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def some(text: str, option: str) -> list[str]:
    """The same, at least one. Raises InputError, which names the option."""
    found = names(text)
    if not found:
        raise InputError(f"{option} must name at least one, found '{text}'")
    return found


def seed(text: str) -> int:
    """A seed, for argparse: a whole number from 0."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be 0 or more, found {value}")
    return value


def numbers(text: str, kind: Callable[[str], Any], option: str) -> list[Any]:
    """The numbers in a list with commas. Raises InputError, which names the option."""
    try:
        return [kind(name) for name in names(text)]
    except ValueError:
        raise InputError(f"{option} must be numbers with commas between them, found '{text}'") from None
