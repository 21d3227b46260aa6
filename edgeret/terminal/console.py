"""What the three command lines share: one-line errors, exit codes, JSON on stdout, whole files. Knows no command."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import secrets
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from edgeret.errors import EdgeretError, InputError, LanguageWarning, MissingExtraError
from edgeret.quoting import UNSEEN, quoted, suggestion, visible

Handler = Callable[[argparse.Namespace], Mapping[str, Any]]
"""A command: takes the parsed arguments and returns its result as JSON-ready data."""
Printer = Callable[[Mapping[str, Any]], str]
"""Makes the text for people out of a command's result."""
MOST_CHARS = 1_000
"""Characters of an error line at most."""


BUNDLE_HELP = "folder of the bundle, or a file of tools that are decided from as they are"


class Parser(argparse.ArgumentParser):
    """argparse that reports bad usage in one line, as every other error."""

    lab: Any = None
    """The commands that `add_lab` put away; whoever types one of them without `lab` is told of it."""

    _given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        """Prints the line and exits with 2."""
        if message.startswith("the following arguments are required"):
            message += self._nearest_option(self._given) or self._missing_bundle(message)
        end = "" if message.endswith("?") else "."
        self.exit(2, f"{self.prog}: {message}{end} See: {self.prog} --help\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's, but each command refuses what it does not know itself, and names its own option that is most
        alike: behind all commands it could be nobody's any more."""
        self._given = sys.argv[1:] if args is None else list(args)
        arguments, unknown = super().parse_known_args(args, namespace)
        if unknown:
            hint = _quote_the_query(arguments, unknown) or self._nearest_option(unknown)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return arguments, unknown

    def _nearest_option(self, words: Sequence[str]) -> str:
        """The option that was meant by the first of the words that is like one and is none."""
        own = [option[2:] for option in self._option_string_actions if option.startswith("--")]
        names = [word[2:].partition("=")[0] for word in words if word.startswith("--")]
        near = (suggestion(name, own) for name in names if not any(option.startswith(name) for option in own))
        return next(filter(None, near), "").replace('"', '"--', 1)

    def _missing_bundle(self, message: str) -> str:
        """What to say where a query was taken for the bundle in front of it, as nothing that was given is a path."""
        if not message.endswith(": QUERY") or any(Path(word).exists() for word in self._given):
            return ""
        return "; name a bundle's folder or a file of tools before it"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            hint = suggestion(str(value), map(str, action.choices or ()))
            if self.lab is not None and value in self.lab.choices:
                raise argparse.ArgumentError(action, f"{value!r} is now: {self.prog} lab {value}") from None
            raise argparse.ArgumentError(action, f"{error.message}{hint}") from None


def add_command(
    commands: Any,
    name: str,
    help_text: str,
    handler: Handler,
    printer: Printer,
    bundle: bool = False,
    tools: bool = False,
    about: str = "",
) -> argparse.ArgumentParser:
    """Adds a command with `--json`; with `bundle`, its first argument is a bundle's folder, and with `tools` a file of
    tools may stand there. `about` is what its own help says in lines of their own, in the place of `help_text`."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=help_text, description=about or help_text)
    if about:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
    if bundle:
        parser.add_argument("bundle", metavar="BUNDLE", help=BUNDLE_HELP if tools else "folder of the bundle")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout and nothing else there")
    parser.set_defaults(handler=handler, printer=printer)
    return parser


def add_lab(parser: Parser, commands: Any, what: str) -> Any:
    """Adds `lab`, behind which those commands are that few need, and tells of it below the others; returns what they
    are added to."""
    lab = commands.add_parser("lab", description=f"For maintainers: {what}.")
    parser.epilog = f"For maintainers: {what}; see {parser.prog} lab --help"
    parser.lab = lab.add_subparsers(required=True, metavar="COMMAND")
    return parser.lab


def add_offline(parser: argparse._ActionsContainer) -> None:
    """Adds the option by which models' files are not fetched."""
    parser.add_argument("--offline", action="store_true", help="use cached model files only")


@contextlib.contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Raises MissingExtraError for a library that is not installed: the `extra` brings it, and `what` needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(extra, f"{what} (it needs the module {error.name})") from None


def run(parser: argparse.ArgumentParser, argv: Sequence[str] | None = None, extra: str = "cpu") -> int:
    """Runs the chosen command; returns 0, 1 (a check failed: the result says `"ok": false`) or 2 (bad input).

    A library that is not installed is reported as the missing `extra` that brings it. SIGTERM ends a command as Ctrl-C
    does, so that what it began is cleaned up.
    """
    arguments = parser.parse_args(argv)
    arguments.argv = list(sys.argv[1:] if argv is None else argv)
    try:
        with _ended_by_sigterm(), _warnings_in_a_line():
            with needing(extra, "this command"):
                result = arguments.handler(arguments)
            text = as_json(result) if arguments.json else visible(arguments.printer(result), keep="\n")
        print(text, flush=True)  # noqa: T201
    except EdgeretError as error:
        return _complain(parser, str(error), error.exit_code)
    except RecursionError:
        return _complain(parser, "the input is nested too deep", 2)
    except MemoryError:
        return _complain(parser, "no memory is left for this; free some, or take a smaller bundle or profile", 2)
    except KeyboardInterrupt:
        return _complain(parser, "interrupted", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; that is no error of ours
        return 0
    return 0 if result.get("ok", True) else 1


def _quote_the_query(arguments: argparse.Namespace, extra_words: Sequence[str]) -> str:
    """What to do if the words that were too many belong to a query without quotes."""
    if "query" not in arguments or any(word.startswith("-") for word in extra_words):
        return ""
    if isinstance(arguments.query, list):
        return "; give all queries in one place, each in quotes"
    return f"; quote the query: {quoted(' '.join((arguments.query, *extra_words)))}"


def warn(message: str) -> None:
    """One line on stderr about what is no error, but should be known."""
    print(_one_line(f"warning: {message}"), file=sys.stderr)  # noqa: T201


def speaker(who: str) -> Callable[[str], None]:
    """Says lines on stderr in the name of a server."""

    def say(message: str) -> None:
        print(f"{who}: {visible(message)}", file=sys.stderr, flush=True)  # noqa: T201

    return say


def counts(result: Mapping[str, Any]) -> str:
    """What a server did, in a line."""
    return ", ".join(f"{name} {count}" for name, count in result.items())


def tell(message: str) -> None:
    """Lines on stderr for whoever watches."""
    print(visible(message, keep="\n"), file=sys.stderr)  # noqa: T201


def _complain(parser: argparse.ArgumentParser, message: str, code: int) -> int:
    """One line on stderr, whatever a stranger's file made the message hold."""
    print(f"{parser.prog}: {_one_line(message)}", file=sys.stderr)  # noqa: T201
    return code


def _one_line(message: str) -> str:
    line = visible(" ".join(message.split()))
    return line if len(line) <= MOST_CHARS else f"{line[:MOST_CHARS]}…"


@contextlib.contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Shows what the runtime warns of as `warn` does, each message once; Python would name a place in our code."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", LanguageWarning)
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
            if issubclass(category, (LanguageWarning, RuntimeWarning)):
                warn(str(message))
            else:
                shown(message, category, *place, **options)

        warnings.showwarning = show
        yield


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def as_json(value: Any) -> str:
    """One line of JSON, with null for numbers that JSON lacks and escapes for what `visible` escapes."""
    text = json.dumps(finite(value), ensure_ascii=False)
    return UNSEEN.sub(lambda match: json.dumps(match[0])[1:-1], text)


def write_whole(target: Path, text: str, option: str) -> None:
    """Writes a file for people or programs, whole or not at all. Raises InputError, which names the `option` that
    chooses another place. A link stays a link; a device or a pipe is written to, not replaced."""
    check_place(target, option)
    data = text.encode("utf-8", "backslashreplace")
    place = target.resolve() if target.is_symlink() else target
    partial = place.with_name(f".{place.name}.{secrets.token_hex(4)}.partial")
    try:
        if place.exists() and not place.is_file():
            place.write_bytes(data)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        partial.replace(place)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror}); give another place with {option}") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def check_place(target: Path, option: str) -> None:
    """Raises InputError for a place where no file can be; better said before hours of work than after."""
    folder = next((f for f in target.parents if f.exists()), Path())
    if not target.name or target.is_dir():
        why = "it is no file's name"
    elif (target.parent / "manifest").is_file():
        why = "it would lie in a bundle, and may be one of its files"
    elif target.is_block_device():
        why = "it is a disk"
    elif target.exists() and not target.is_file():
        if os.access(target, os.W_OK):
            return
        why = "no permission to write to it"
    elif not folder.is_dir():
        why = f"{folder} is no folder"
    elif not os.access(folder, os.W_OK):
        why = f"no permission to write in {folder}"
    else:
        return
    raise InputError(f"{target}: cannot be written ({why}); give another place with {option}")


def finite(value: Any) -> Any:
    """The value as JSON can say it: NaN and infinities as null, whatever is no data of JSON's by its type."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return value if isinstance(value, str | int | None) else f"({type(value).__name__})"


def table(rows: Sequence[Sequence[object]], header: Sequence[str]) -> str:
    """Rows as aligned columns, a line each; numbers to the right, floats with four decimals, None as a dash."""
    cells = [
        ["–" if c is None else f"{c:.4f}" if isinstance(c, float) else visible(str(c)) for c in row] for row in rows
    ]
    widths = [max(len(h), *(len(row[i]) for row in cells)) if cells else len(h) for i, h in enumerate(header)]
    right = [bool(rows) and all(isinstance(row[i], int | float | None) for row in rows) for i in range(len(header))]

    def line(texts: Sequence[str]) -> str:
        padded = (t.rjust(w) if r else t.ljust(w) for t, w, r in zip(texts, widths, right, strict=True))
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), "  ".join("-" * w for w in widths), *(line(row) for row in cells)])
