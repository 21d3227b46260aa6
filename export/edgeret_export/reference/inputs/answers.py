"""A request as it is read: one of a few words may be an answer, "el viernes", which is too short to tell a language by.
Knows nothing of tools."""

from __future__ import annotations

from datetime import datetime

from edgeret_export.reference.inputs.dates import day_of, time_of
from edgeret_export.reference.inputs.language import language_of
from edgeret_export.reference.inputs.language_rules import ENGLISH
from edgeret_export.reference.inputs.units import Reading, read

MOST_UNITS = 6
"""Of an answer."""
_OTHERS = ("de", "fr", "es")
_IDLE = frozenset(("", "the", "on", "at", "by", "to", "for", "of", "in"))
_NOW = datetime(2000, 1, 1)


def read_request(text: str) -> Reading:
    """The units and values of a request. A few words that seem to be English, and are a day or a time in another
    language and not in English, are in that one."""
    found = read(text)
    if not 0 < len(found.units) <= MOST_UNITS or language_of(found.text) != ENGLISH or _is_english(found):
        return found
    for language in _OTHERS:
        other = read(text, language)
        if any(unit.known != unit.text for unit in other.units) and _is_when(other):
            return other
    return found


def _is_when(reading: Reading) -> bool:
    """Whether all words but small ones are days and times."""
    of = [match for kind in ("date", "time", "moment") for match in reading.matches.get(kind, ())]
    return bool(of) and all(
        not unit.is_word or unit.lower in _IDLE or any(match.first <= i < match.last for match in of)
        for i, unit in enumerate(reading.units)
    )


def _is_english(reading: Reading) -> bool:
    """Whether all is a day or a time that English words name."""
    said = [
        (kind, reading.words(match.first, match.last))
        for kind in ("date", "time")
        for match in reading.matches.get(kind, ())
    ]
    return _is_when(reading) and all(
        day_of(words, _NOW) is not None if kind == "date" else time_of(words) is not None for kind, words in said
    )
