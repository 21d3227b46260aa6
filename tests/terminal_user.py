"""A command at a pseudo-terminal, and somebody who reads what it shows and types. Knows nothing of the command."""

from __future__ import annotations

import codecs
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from patience import PATIENCE_S

AGAIN_S = 3
"""After how long a person presses once more. Soon after the first, it would interrupt the command's own ending."""
_START = (
    "import fcntl, os, signal, sys, termios\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where the tests run behind nohup or &
    "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
    "os.setsid()\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "from edgeret_export.cli import main\n"
    "sys.exit(main(sys.argv[1:]))\n"
)


class TerminalUser:
    """`edgeret-export` with these arguments; `stdout`, where it is not the terminal."""

    def __init__(self, arguments: Sequence[str], stdout: Path | None = None) -> None:
        import pty

        self.seen = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._master, slave = pty.openpty()
        environment = {**os.environ, "TERM": "dumb", "PYTHONUTF8": "1", "INPUTRC": os.devnull}
        out = slave if stdout is None else os.open(stdout, os.O_WRONLY | os.O_CREAT)
        command = [sys.executable, "-c", _START, *arguments]
        self._process = subprocess.Popen(command, stdin=slave, stdout=out, stderr=slave, env=environment)
        os.close(slave)
        if stdout is not None:
            os.close(out)

    def sees(self, text: str) -> str:
        """Waits for a text behind what was read before; gives what was shown up to its end."""
        until = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            more = self._read(until)
            assert more, f"{text!r} does not come; there is: {self.seen!r}"
            self.seen += self._decoder.decode(more)
        found, _, self.seen = self.seen.partition(text)
        return (found + text).replace("\r", "")

    def types(self, text: str) -> None:
        """Types; a line needs its end."""
        os.write(self._master, text.encode())

    def ended(self) -> int:
        """Waits for the end of the command; its exit code."""
        until = time.monotonic() + PATIENCE_S
        while more := self._read(until):
            self.seen += self._decoder.decode(more)
        code = self._process.wait(PATIENCE_S)
        os.close(self._master)
        return code

    def interrupts(self) -> int:
        """Presses Ctrl-C, and again where nothing comes of it; the command's exit code.

        Readline loses a signal that comes between its prompt and its waiting for a key; the next press is heard.
        """
        until = time.monotonic() + PATIENCE_S
        shown = ""
        while not shown.replace("^C", "").strip():
            assert time.monotonic() < until, f"the command does not end; there is: {self.seen!r}"
            self.types("\x03")
            again = time.monotonic() + AGAIN_S
            while more := self._read(again):
                shown += self._decoder.decode(more)
            if more is not None:
                break
        self.seen += shown
        return self.ended()

    def closes(self) -> int:
        """Closes the terminal's window; the command's exit code."""
        os.close(self._master)
        return self._process.wait(PATIENCE_S)

    def kills(self) -> None:
        """Ends the command without a word."""
        self._process.kill()
        self._process.wait(PATIENCE_S)
        os.close(self._master)

    def _read(self, until: float) -> bytes | None:
        """What comes next: nothing at the end of all, None when the time is over."""
        if not select.select([self._master], [], [], max(0, until - time.monotonic()))[0]:
            return None
        try:
            return os.read(self._master, 1 << 16)
        except OSError:  # the other side is closed
            return b""
