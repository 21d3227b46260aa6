"""A call's arguments as the library reads them out of a request. Knows nothing of how they are read."""

from __future__ import annotations

import ctypes as c
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from struct import Struct
from typing import Any, Protocol

from edgeret.arguments import Argument, Arguments, ArgumentSource
from edgeret.core.library import INT, Text
from edgeret.types import Call

MOST_GIVEN, MOST_MISSING = 64, 400
"""Values that a call is given at most, and questions."""
_SOURCES: Sequence[ArgumentSource] = ("rule", "choice", "output", "earlier", "default")
"""As `er_argument_source` counts them."""
_STRING = 4
"""`er_type`: what is no string is JSON."""
_ARGUMENT = Struct("@PNiPNiIIdiPNiPNiPNI0P")
"""`er_argument`: name, value, source, begin, end, confidence, three alternatives, how many of them there are."""
_ALTERNATIVES = 9
"""Where these begin, three fields each."""
_MISSING = Struct("@PNPN")
"""`er_missing`: name and question."""
_string_at = c.string_at
_decoded = json.JSONDecoder().raw_decode  # of what the library wrote, without space around it


class Asked(Protocol):
    """A request that was begun."""

    def told_of_arguments(
        self, tool: str, options: Options
    ) -> AbstractContextManager[tuple[bytes | memoryview, bytes | memoryview]]:
        """The records of `er_arguments`, of what is given and of what is missing, whose texts live meanwhile."""


class Made(c.Structure):
    """`er_made_call`."""

    _fields_ = (("tool", Text), ("arguments", Text), ("result", Text))


class Options(c.Structure):
    """`er_arguments_options`."""

    _fields_ = (
        *(("size", c.c_size_t), ("calls", c.c_void_p), ("call_count", c.c_size_t)),
        *((part, INT) for part in ("year", "month", "day", "hour", "minute", "second", "zoned", "zone", "rules_alone")),
    )


def arguments(
    task: Asked, tool: str, calls: Sequence[Call], now: datetime | None = None, rules_alone: bool = False
) -> Arguments:
    """The arguments of a call of `tool` behind these `calls`, as `er_arguments` reads them. `now` is what "tomorrow" is
    counted from; `rules_alone` leaves aside what the bundle has for arguments. Raises InputError and BundleError."""
    options = Options(c.sizeof(Options), rules_alone=int(rules_alone))
    if now is not None:
        options.year, options.month, options.day = now.year, now.month, now.day
        options.hour, options.minute, options.second = now.hour, now.minute, now.second
        if (ahead := now.utcoffset()) is not None:
            options.zoned, options.zone = 1, round(ahead.total_seconds() / 60)
    made = (Made * len(calls))(*map(_made, calls))
    if calls:
        options.calls, options.call_count = c.addressof(made), len(calls)
    with task.told_of_arguments(tool, options) as (values, questions):
        given = dict(map(_argument, _ARGUMENT.iter_unpack(values)))
        missing = {_text(*one[:2]): _text(*one[2:]) for one in _MISSING.iter_unpack(questions)}
    return Arguments(given, missing)


def _made(call: Call) -> Made:
    return Made(Text.of(call.tool), _json(call.arguments), Text() if call.result is None else _json(call.result))


def _json(value: Any) -> Text:
    told = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return Text(told, len(told))


def _argument(one: Sequence[Any]) -> tuple[str, Argument]:
    name, length, kind, at, size, source, begin, end, sure = one[:_ALTERNATIVES]
    count = one[-1]
    return _text(name, length), Argument(
        _value(kind, at, size),
        _SOURCES[source],
        (begin, end) if end else None,
        sure,
        tuple([_value(*one[i : i + 3]) for i in range(_ALTERNATIVES, _ALTERNATIVES + 3 * count, 3)]) if count else (),
    )


def _text(at: int, length: int) -> str:
    return _string_at(at, length).decode() if length else ""


def _value(kind: int, at: int, length: int) -> Any:
    text = _string_at(at, length).decode() if length else ""
    return text if kind == _STRING else _decoded(text)[0]


def sizes() -> tuple[int, int]:
    """Bytes of an argument, and of a missing one."""
    return _ARGUMENT.size, _MISSING.size
