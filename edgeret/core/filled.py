"""A call's arguments as the library reads them out of a request. Knows nothing of how they are read."""

from __future__ import annotations

import ctypes as c
import json
from collections.abc import Sequence
from datetime import datetime
from operator import is_
from struct import Struct
from typing import Any

from edgeret.arguments import Argument, Arguments, ArgumentSource
from edgeret.types import Call

FEW = 8
"""Values, and questions, that there is room for at first. A call with more is read twice."""
_SOURCES: Sequence[ArgumentSource] = ("rule", "choice", "output", "earlier", "default")
"""As `er_argument_source` counts them."""
_STRING = 4
"""`er_type`: what is no string is JSON."""
_ARGUMENT = Struct("@PNiPNiIIdiPNiPNiPNI0P")
"""`er_argument`: name, value, source, begin, end, confidence, three alternatives, how many of them there are."""
_MISSING = Struct("@PNPN")
"""`er_missing`: name and question."""
_OPTIONS = Struct("@NPN9iNN")
"""`er_arguments_options`, and how many values and questions there is room for."""
_GIVEN = Struct("@NN")
_COUNT = _GIVEN.size // 2
_COUNTS, _VALUES = _OPTIONS.size - _GIVEN.size, _OPTIONS.size
"""Where they and the values stand in a reader's room. Questions stand behind these."""
_TEXT, _TEXTS = Struct("@PN"), 3
"""`er_text`, and how many `er_made_call` has of it: tool, arguments and result."""
_NO_CLOCK = (0,) * 8
_string_at = c.string_at
_encoded = json.JSONEncoder(ensure_ascii=False).encode
_decoded = json.JSONDecoder().raw_decode  # of what the library wrote, without space around it


class Reader:
    """One task's room for its calls' arguments: what the library is told of earlier calls, and what it gives. Kept from
    one call to the next, so that little is made and written anew: all of it takes a hundred microseconds."""

    __slots__ = ("_made", "_most", "_questions", "_room", "_texts", "_told", "rooms")

    def __init__(self) -> None:
        self._made, self._told = bytearray(1), list[Call]()
        self._texts: list[bytes] = []
        self._furnish(FEW, FEW)

    def _furnish(self, values: int, questions: int) -> None:
        self._most, self._questions = (values, questions), _VALUES + values * _ARGUMENT.size
        self._room = bytearray(self._questions + questions * _MISSING.size)
        at = _address(self._room)
        self.rooms = at, at + _VALUES, at + _COUNTS, at + self._questions, at + _COUNTS + _COUNT
        """Where options, values, how many they are, questions, and how many these are."""

    def ready(self, calls: Sequence[Call], now: datetime | None, rules_alone: bool) -> None:
        """Writes down the options of `er_arguments`."""
        if len(self._told) != len(calls) or not all(map(is_, self._told, calls)):
            self._tell(calls)
        clock = _NO_CLOCK if now is None else _clock(now)
        made = _address(self._made), len(calls)
        _OPTIONS.pack_into(self._room, 0, _COUNTS, *made, *clock, rules_alone, *self._most)

    def _tell(self, calls: Sequence[Call]) -> None:
        """Records of calls, `er_made_call`, and behind them their texts."""
        known = len(self._told)
        if len(calls) < known or not all(map(is_, self._told, calls)):
            known = 0
        texts = self._texts[: known * _TEXTS]
        for call in calls[known:]:
            result = b"" if call.result is None else _json(call.result)
            texts += (call.tool.encode(), _json(call.arguments), result)
        self._told, self._texts = [*calls], texts
        room = _TEXT.size * len(texts)
        made = self._made = bytearray(room) + b"".join(texts) or bytearray(1)  # which has an address
        at = _address(made) + room
        for i, text in enumerate(texts):
            _TEXT.pack_into(made, i * _TEXT.size, at, len(text))
            at += len(text)

    def read(self) -> Arguments | None:
        """What the library wrote, while its texts live; None where it had no room for all, which it has now."""
        room, most, given, missing = self._room, self._most, {}, {}
        values, questions = _GIVEN.unpack_from(room, _COUNTS)
        if values > most[0] or questions > most[1]:
            self._furnish(max(values, FEW), max(questions, FEW))
            return None
        for at in range(_VALUES, _VALUES + values * _ARGUMENT.size, _ARGUMENT.size):
            name, length, kind, text, size, source, begin, end, sure, *others, count = _ARGUMENT.unpack_from(room, at)
            words = (begin, end) if end else None
            more = tuple([_value(*others[i : i + 3]) for i in range(0, 3 * count, 3)]) if count else ()
            given[_text(name, length)] = Argument(_value(kind, text, size), _SOURCES[source], words, sure, more)
        for at in range(self._questions, self._questions + questions * _MISSING.size, _MISSING.size):
            name, length, text, size = _MISSING.unpack_from(room, at)
            missing[_text(name, length)] = _text(text, size)
        return Arguments(given, missing)


def _clock(now: datetime) -> tuple[int, ...]:
    ahead = now.utcoffset()
    zone = (0, 0) if ahead is None else (1, round(ahead.total_seconds() / 60))
    return now.year, now.month, now.day, now.hour, now.minute, now.second, *zone


def _json(value: Any) -> bytes:
    return _encoded(value).encode("utf-8", "replace")


def _address(of: bytearray) -> int:
    return c.addressof(c.c_char.from_buffer(of))


def _text(at: int, length: int) -> str:
    return _string_at(at, length).decode() if length else ""


def _value(kind: int, at: int, length: int) -> Any:
    text = _string_at(at, length).decode() if length else ""
    return text if kind == _STRING else _decoded(text)[0]
