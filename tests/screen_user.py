"""`edgeret` at a pseudo-terminal that draws, and somebody who looks at its screen and types. Knows nothing of what is
shown."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyte
from patience import PATIENCE_S

_KEYBOARD = re.compile(rb"\x1b\[[<>=][0-9;]*[um]")
"""What asks for kitty's keyboard protocol, which this terminal does not know."""
_START = (
    "import fcntl, os, signal, sys, termios\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where the tests run behind nohup or &
    "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
    "os.setsid()\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "from edgeret.cli.commands import main\n"
    "sys.exit(main(sys.argv[1:]))\n"
)


class ScreenUser:
    """`edgeret` with these arguments, in so many columns and rows; `environment` is added to this process's."""

    def __init__(
        self,
        arguments: Sequence[object],
        columns: int = 100,
        rows: int = 30,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        self._master, slave = pty.openpty()
        self.resizes(columns, rows)
        told = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONUTF8": "1", **(environment or {})}
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, *map(str, arguments)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**kept, **told},
            cwd=folder,
        )
        os.close(slave)

    @property
    def lines(self) -> list[str]:
        """What the screen shows, a text a row."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def cells(self) -> Any:
        """The screen's cells, by row and column."""
        return self._screen.buffer

    def sees(self, *texts: str, gone: str = "") -> list[str]:
        """Waits until the screen shows all the texts, and `gone` nowhere; its lines."""

        def there() -> bool:
            shown = "\n".join(self.lines)
            return all(text in shown for text in texts) and not (gone and gone in shown)

        self.waits(there, f"{texts} without {gone!r}")
        return self.lines

    def waits(self, there: Callable[[], bool], what: str) -> None:
        """Waits until something holds of the screen."""
        until = time.monotonic() + PATIENCE_S
        while not there():
            more = self._read(until)
            assert more, f"{what} does not come; there is:\n" + "\n".join(self.lines)

    def types(self, text: str) -> None:
        """Types, or presses keys by their sequences."""
        data = text.encode()
        while data:
            data = data[os.write(self._master, data[:1024]) :]

    def pastes(self, text: str) -> None:
        """Pastes, as a terminal that says so."""
        self.types(f"\x1b[200~{text}\x1b[201~")

    def resizes(self, columns: int, rows: int) -> None:
        """Changes the window's size."""
        self._screen.resize(rows, columns)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def ended(self) -> int:
        """Waits for the end; the exit code. What was printed then stands on the screen."""
        until = time.monotonic() + PATIENCE_S
        while self._read(until):
            pass
        code = self.process.wait(PATIENCE_S)
        os.close(self._master)
        return code

    def closes(self) -> int:
        """Closes the window; the exit code."""
        os.close(self._master)
        return self.process.wait(PATIENCE_S)

    def _read(self, until: float) -> bytes:
        if not select.select([self._master], [], [], max(0, until - time.monotonic()))[0]:
            return b""
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # the other side is closed
            return b""
        self.raw += data
        self._stream.feed(_KEYBOARD.sub(b"", data))
        return data
