"""What one server may take of the proxy: bytes and values at once, messages and lines over time. Counts alone; knows
nothing of what is said and over which way."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Literal

import anyio

from edgeret.quoting import visible

MOST_MESSAGE_BYTES = 32 << 20
"""Of one message, decoded. Images and files in results take a few."""
MOST_VALUES = 250_000
"""Of one message: each becomes an object of a hundred bytes, and two bytes are enough to ask for one."""
MOST_LINE = 500
"""Characters of one line on standard error."""
_BYTES, _BYTES_BURST, _BYTES_A_UNIT = 1 << 16, 1 << 19, 256
"""Units a second and at once: 16 MiB and 128 MiB; the end of a line is a unit too."""
_CHUNK_UNITS = 8
"""Of a chunk itself, however small."""
_MESSAGES, _MESSAGES_BURST = 500.0, 2_000.0
_LINES, _LINES_BURST = 1 / 60, 20.0


class TooMuchError(Exception):
    """A server took more than it may. In words of ours that go on a sentence about it."""


class Allowance:
    """So many units at once, and so many more a second."""

    def __init__(self, per_s: float, burst: float) -> None:
        self._per_s, self._most, self._left, self._at = per_s, burst, burst, time.monotonic()

    def spend(self, units: float) -> bool:
        """Takes units if they are there; whether they were."""
        self._fill()
        if units > self._left:
            return False
        self._left -= units
        return True

    async def take(self, units: float) -> None:
        """Takes units, and waits until they are paid for."""
        self._fill()
        self._left -= units
        if self._left < 0:
            await anyio.sleep(-self._left / self._per_s)

    def _fill(self) -> None:
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._per_s)
        self._at = now


class Meter:
    """Of one connection to a server. A server that is faster than its allowance waits, since nobody reads; what is
    more than it may have at once ends the connection."""

    def __init__(self) -> None:
        self.over = anyio.Event()
        """Set when the connection is to end; `error` says why."""
        self.error = TooMuchError()
        self._bytes = Allowance(_BYTES, _BYTES_BURST)
        self._messages = Allowance(_MESSAGES, _MESSAGES_BURST)

    async def bytes(self, chunk: bytes, lines: bool = True) -> None:
        """Waits for a chunk's turn; `lines` where each one of it is looked at."""
        ends = chunk.count(b"\n") + chunk.count(b"\r") if lines else 0
        await self._bytes.take(_CHUNK_UNITS + len(chunk) / _BYTES_A_UNIT + ends)

    async def message(self, units: float = 1) -> None:
        """Waits for a message's turn."""
        await self._messages.take(units)

    def end(self, words: str) -> TooMuchError:
        """Ends the connection; the error to raise."""
        if not self.over.is_set():
            self.error = TooMuchError(words)
            self.over.set()
        return self.error


class Counted:
    """Counts the bytes and values of JSON messages while they come, before anything is made of them. A message ends
    with its line, with a blank one (an event stream), or never."""

    def __init__(self, ends: Literal["line", "blank", "never"], meter: Meter) -> None:
        self._ends, self._meter = ends, meter
        self.values = 0
        """Of the message that comes, so far: commas and openings outside of texts."""
        self._held, self._bytes = b"", 0
        self._quoted, self._blank = False, True

    def feed(self, chunk: bytes) -> None:
        """Counts a chunk. Raises TooMuchError, and ends the connection, where a message has more than it may."""
        data = self._held + chunk
        # Half of an escape or of an end of a line waits for its other half.
        half = data.endswith(b"\r") or (len(data) - len(data.rstrip(b"\\"))) % 2
        self._held = data[-1:] if half else b""
        data = data[:-1] if half else data
        if b"\\" in data:
            data = data.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *lines = data.split(b"\n")
        self._count(first)
        for line in lines:
            self._quoted = False  # no text of JSON goes over the end of a line
            if self._ends == "line" or (self._ends == "blank" and self._blank):
                self._bytes = self.values = 0
            self._blank = True
            if line:
                self._count(line)

    def _count(self, part: bytes) -> None:
        if not part:
            return
        self._blank = False
        self._bytes += len(part)
        pieces = part.split(b'"')
        bare = b"".join(pieces[1 if self._quoted else 0 :: 2])
        self._quoted ^= len(pieces) % 2 == 0
        self.values += bare.count(b",") + bare.count(b"[") + bare.count(b"{")
        if self._bytes > MOST_MESSAGE_BYTES:
            raise self._meter.end(f"sent a message of more than {MOST_MESSAGE_BYTES >> 20} MiB")
        if self.values > MOST_VALUES:
            raise self._meter.end(f"sent a message of more than {MOST_VALUES:,} values")


class Voice:
    """Tells lines about one server: a few at once, the same one not again, and then one a minute with the number of
    those between."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say, self._untold = say, 0
        self._allowance = Allowance(_LINES, _LINES_BURST)
        self._told: deque[str] = deque(maxlen=64)

    def __call__(self, line: str) -> None:
        """Tells a line, on which nothing acts or hides; of a long one both ends."""
        line = visible(line if len(line) <= MOST_LINE else f"{line[: MOST_LINE // 2]} … {line[-MOST_LINE // 2 :]}")
        if line in self._told:
            return
        if not self._allowance.spend(1):
            self._untold += 1
            return
        self._told.append(line)
        self._say(f"{line} ({self._untold:,} lines about it were left out before)" if self._untold else line)
        self._untold = 0

    def again(self) -> None:
        """What was told is news again, as when a server came back that had ended."""
        self._told.clear()
