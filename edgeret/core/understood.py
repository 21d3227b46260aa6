"""What the library reads in words by the rules of their language. Knows nothing of bundles."""

from __future__ import annotations

import ctypes as c
from collections.abc import Mapping, Sequence

from edgeret.core.library import INT, Text, ask, the_library
from edgeret.records import dataclass

LANGUAGES: Mapping[str, str] = {"en": "English", "de": "German", "fr": "French", "es": "Spanish", "zh": "Chinese"}
"""Those whose rules are known, by their codes, as `er_language` counts them; with their names in English."""
KINDS = (
    *("url", "email", "path", "channel", "iban", "money", "time", "date", "duration", "phone", "quoted", "number"),
    "percent",
)
"""Of values, as ER_VALUE_URL and the like count them."""
_CODES = tuple(LANGUAGES)
_MOST_CLAUSES = 24


class _Span(c.Structure):
    """`er_span`."""

    _fields_ = (("begin", c.c_uint32), ("end", c.c_uint32))


class _Understood(c.Structure):
    """`er_understood`."""

    _fields_ = (
        *(("size", c.c_size_t), ("language", c.c_int), ("sure", INT), ("only_asks", INT), ("values", c.c_uint32)),
        *(("clause_count", c.c_uint32), ("part_count", c.c_uint32)),
        *(("clauses", _Span * _MOST_CLAUSES), ("parts", _Span * _MOST_CLAUSES)),
    )


@dataclass(frozen=True, slots=True)
class Words:
    """`language` is a code of LANGUAGES, English where there is doubt; `sure` where nobody doubts that it is this one,
    and not English. `clauses` are the characters from one up to another that are compared with tools, at least one;
    `parts` are texts that a search may look for one by one, beside the whole. `values` are among KINDS."""

    language: str
    sure: bool
    only_asks: bool
    values: tuple[str, ...]
    clauses: Sequence[tuple[int, int]]
    parts: tuple[str, ...]


def language_of(text: str) -> tuple[str, bool]:
    """The language of a text, as `Words.language`, and whether that is sure; a fifth of the work. Raises as `words_of`
    does."""
    told, written = _Understood(_Understood.only_asks.offset), text.encode("utf-8", "replace")
    ask(the_library().quick.er_understand, Text(written, len(written)), c.byref(told))
    return _CODES[told.language], bool(told.sure)


def words_of(text: str) -> Words:
    """Reads a text. Raises InputError for one of more than 20,000 characters."""
    told = _Understood(c.sizeof(_Understood))
    written = text.encode("utf-8", "replace")
    ask(the_library().quick.er_understand, Text(written, len(written)), c.byref(told))
    clauses, parts = (
        [(one.begin, one.end) for one in spans[:count]]
        for spans, count in ((told.clauses, told.clause_count), (told.parts, told.part_count))
    )
    return Words(
        _CODES[told.language],
        *(bool(told.sure), bool(told.only_asks), kinds_of(told.values)),
        *(clauses, tuple(text[begin:end] for begin, end in parts)),
    )


def kinds_of(bits: int) -> tuple[str, ...]:
    """The kinds that are told as bits."""
    return tuple(kind for number, kind in enumerate(KINDS) if bits >> number & 1)
