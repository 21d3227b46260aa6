"""What may be a value in a request, as the core reads it and as Python does, in one form."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from edgeret_export.reference.inputs.chunks import chunks
from edgeret_export.reference.inputs.language import language_of
from edgeret_export.reference.inputs.language_rules import LANGUAGES
from edgeret_export.reference.inputs.units import PATTERNS

SOURCES = (
    "unicode",
    "utf8",
    "pattern",
    "languages",
    "said",
    "language",
    "clauses",
    "words",
    "pieces",
    "units",
    "matches",
)
SOURCES += ("glosses", "streets", "piece_words", "days", "amounts", "probe_pieces")
CHUNKS = ("addressee", "command", "chunk", "head", "tail", "joined", "rest", "told", "clause", "sentence")
KINDS = (*PATTERNS, *CHUNKS, "serial")
DIMENSIONS = (None, "s", "mo", "m", "mi", "g", "lb", "ml", "%", "C", "F", "eur", "usd", "gbp")


class CorePieces:
    """The core's word."""

    def __init__(self, core_library: Callable[..., ctypes.CDLL]) -> None:
        self.library = core_library(*SOURCES)
        self.library.probe_pieces.restype = ctypes.c_int64

    def read(self, text: str) -> tuple[list[int], list[str]] | None:
        """Numbers and lines as probe_pieces.c has them; None for what is no text."""
        raw = text.encode("utf-8", "surrogatepass")
        numbers, size = (ctypes.c_int32 * 40000)(), ctypes.c_size_t()
        room = ctypes.create_string_buffer(30 * len(raw) + 100000)
        count = self.library.probe_pieces(raw, ctypes.c_size_t(len(raw)), numbers, room, ctypes.byref(size))
        if count < 0:
            return None
        return numbers[:count], ctypes.string_at(room, size.value).decode().split("\n")[:-1]

    def amount(self, text: str) -> tuple[Decimal, str | None] | None:
        raw, found = text.encode(), (ctypes.c_int64 * 3)()
        if not self.library.probe_amount(raw, ctypes.c_size_t(len(raw)), found):
            return None
        return Decimal(found[0]).scaleb(-found[1]), DIMENSIONS[found[2]]

    def day(self, text: str, now: datetime | None, past: bool) -> date | None:
        raw, found = text.encode(), (ctypes.c_int32 * 3)()
        today = None if now is None else (ctypes.c_int32 * 3)(now.year, now.month, now.day)
        is_day = self.library.probe_day(raw, ctypes.c_size_t(len(raw)), today, int(past), found)
        return date(*found) if is_day else None

    def time(self, text: str, day: str = "") -> time | None:
        raw, of, found = text.encode(), day.encode(), (ctypes.c_int32 * 3)()
        sizes = ctypes.c_size_t(len(raw)), ctypes.c_size_t(len(of))
        return time(*found) if self.library.probe_time(raw, sizes[0], of, sizes[1], found) else None


def expected(text: str) -> tuple[list[int], str, list[frozenset[str]]]:
    """The same of Python's own: numbers, lines but for the stems of clauses, and these."""
    found = chunks(text)
    reading = found.reading
    numbers, lines = [LANGUAGES.index(language_of(reading.text)), len(reading.units)], [reading.english]
    for unit, place, clause, stem in zip(reading.units, reading.places, found.clause_of, found.stems, strict=True):
        numbers += [unit.start, unit.end, *place, clause, int(unit.is_word)]
        lines += [unit.lower, stem]
    for kind in KINDS:
        matches = reading.matches.get(kind, ())
        numbers += [len(matches), *(number for match in matches for number in match[1:])]
    numbers.append(len(found.chunks))
    for one in found.chunks:
        numbers += [
            KINDS.index(one.kind),
            one.first,
            one.last,
            len(one.leads),
            one.clause,
            int(one.void),
            int(one.joined),
        ]
    numbers += [len(found.clauses), *map(len, found.clauses)]
    return numbers, "\n".join(lines) + "\n", list(found.clauses)


def difference(core: CorePieces, text: str) -> Any:
    """What differs, None for nothing."""
    told, (numbers, lines, stems) = core.read(text), expected(text)
    assert told is not None
    said = "".join(f"{line}\n" for line in told[1])
    if told[0] != numbers or not said.startswith(lines):
        return text, told[0], numbers, said[: len(lines)], lines
    rest = iter(said[len(lines) :].split("\n"))
    for one in stems:
        if {next(rest) for _ in one} != one:
            return text, one
    return None
