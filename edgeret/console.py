"""What the three command lines share: one-line errors, exit codes, JSON on stdout, whole files. Knows no command."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from edgeret.errors import EdgeretError, InputError, MissingExtraError

Handler = Callable[[argparse.Namespace], Mapping[str, Any]]
"""A command: takes the parsed arguments and returns its result as JSON-ready data."""
Printer = Callable[[Mapping[str, Any]], str]
"""Makes the text for people out of a command's result."""


class Parser(argparse.ArgumentParser):
    """argparse that reports bad usage in one line, as every other error."""

    def error(self, message: str) -> NoReturn:
        """Prints the line and exits with 2."""
        self.exit(2, f"{self.prog}: {message}. See: {self.prog} --help\n")


def add_command(
    commands: Any, name: str, help_text: str, handler: Handler, printer: Printer, bundle: bool = False
) -> argparse.ArgumentParser:
    """Adds a command with `--json`; with `bundle`, its first argument is a bundle's folder."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=help_text, description=help_text)
    if bundle:
        parser.add_argument("bundle", metavar="BUNDLE", help="folder of the bundle")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout and nothing else there")
    parser.set_defaults(handler=handler, printer=printer)
    return parser


def run(parser: argparse.ArgumentParser, argv: Sequence[str] | None = None, extra: str = "cpu") -> int:
    """Runs the chosen command; returns 0, 1 (a check failed: the result says `"ok": false`) or 2 (bad input).

    A library that is not installed is reported as the missing `extra` that brings it.
    """
    arguments = parser.parse_args(argv)
    arguments.argv = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            result = arguments.handler(arguments)
        except ModuleNotFoundError as error:
            raise MissingExtraError(extra, f"this command (it needs the module {error.name})") from None
        text = json.dumps(finite(result), ensure_ascii=False) if arguments.json else arguments.printer(result)
        print(text, flush=True)  # noqa: T201
    except EdgeretError as error:
        print(f"{parser.prog}: {' '.join(str(error).split())}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)  # noqa: T201
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; that is no error of ours
        return 0
    return 0 if result.get("ok", True) else 1


def write_whole(target: Path, text: str, option: str) -> None:
    """Writes a file for people or programs, whole or not at all. Raises InputError, which names the `option` that
    chooses another place."""
    check_place(target, option)
    partial = target.with_name(target.name + ".partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(text.encode("utf-8", "backslashreplace"))
        partial.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise InputError(f"{target}: cannot be written ({error.strerror}); give another place with {option}") from None


def check_place(target: Path, option: str) -> None:
    """Raises InputError for a place where no file can be; better said before hours of work than after."""
    folder = next((f for f in target.parents if f.exists()), Path())
    if not target.name or target.is_dir():
        why = "it is no file's name"
    elif not folder.is_dir():
        why = f"{folder} is no folder"
    elif not os.access(folder, os.W_OK):
        why = f"no permission to write in {folder}"
    else:
        return
    raise InputError(f"{target}: cannot be written ({why}); give another place with {option}")


def finite(value: Any) -> Any:
    """The value with NaN and infinities as null, which is all that JSON has for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return value


def table(rows: Sequence[Sequence[object]], header: Sequence[str]) -> str:
    """Rows as aligned columns; numbers to the right, floats with four decimals."""
    cells = [[f"{c:.4f}" if isinstance(c, float) else str(c) for c in row] for row in rows]
    widths = [max(len(h), *(len(row[i]) for row in cells)) if cells else len(h) for i, h in enumerate(header)]
    right = [bool(rows) and all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(header))]

    def line(texts: Sequence[str]) -> str:
        padded = (t.rjust(w) if r else t.ljust(w) for t, w, r in zip(texts, widths, right, strict=True))
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), "  ".join("-" * w for w in widths), *(line(row) for row in cells)])
