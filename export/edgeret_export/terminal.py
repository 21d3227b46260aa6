"""A terminal at which somebody answers. Shows on stderr, since stdout is for results. Knows nothing of questions."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from edgeret.errors import InputError


class Terminal:
    """Lines shown and typed. Raises InputError where stdin or stderr is no terminal."""

    def __init__(self, option: str) -> None:
        for name, stream in (("stdin", sys.stdin), ("stderr", sys.stderr)):
            if stream is None or not stream.isatty():
                raise InputError(
                    f"{option} asks a person, and {name} is no terminal; run it in one, without a pipe or file there"
                )
        # Without it a draft must be typed again; it writes to stdout, which may be a file.
        self._readline = _module("readline") if sys.stdout is not None and sys.stdout.isatty() else None

    def forget_typed(self) -> None:
        """Drops what was typed before anything was asked: it answers nothing."""
        if (termios := _module("termios")) is not None:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)

    def tell(self, text: str) -> None:
        """Shows the lines. Raises EOFError where the terminal is gone."""
        try:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
        except OSError:
            raise EOFError from None

    def ask(self, prompt: str, draft: str = "") -> str:
        """The line that is typed behind a prompt; with readline it begins with the `draft`. Raises EOFError
        at the end of input or where the terminal is gone, UnicodeDecodeError for what is no text."""
        try:
            readline = self._readline
            if readline is None:
                sys.stderr.write(prompt)
                sys.stderr.flush()
                line = sys.stdin.readline()
                if not line:
                    raise EOFError
                return line.rstrip("\n")
            readline.set_startup_hook((lambda: readline.insert_text(draft)) if draft else None)
            try:
                return input(prompt)
            finally:
                readline.set_startup_hook(None)
        except OSError:
            raise EOFError from None


def _module(name: str) -> Any:
    """A module that only some systems have."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
