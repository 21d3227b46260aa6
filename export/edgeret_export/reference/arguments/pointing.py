"""What a request points at instead of naming it: "that game", "news of it". Knows nothing of tools and of signs."""

from __future__ import annotations

from collections.abc import Sequence

from edgeret_export.reference.inputs.chunks import Chunk
from edgeret_export.reference.inputs.parameters import Parameter, shape_of
from edgeret_export.reference.inputs.units import Unit

_BEFORE = frozenset(("that", "this", "these", "those", "same"))
"""What stands in front of what it points at."""
_POINTING = _BEFORE | {"it"}
_SUBJECT_WORDS = (
    "i we you he she they it there the a an my our your his her their its no not nobody somebody everybody everyone "
    "everything all both if when what where how who"
)
_SUBJECTS = frozenset(_SUBJECT_WORDS.split(" "))
"""What a clause begins with behind a "that" that points at nothing: "say that the key is gone"."""


def points(units: Sequence[Unit]) -> bool:
    """Whether a request points at anything."""
    return any(unit.lower in _POINTING for unit in units)


def is_pointed_at(units: Sequence[Unit], chunk: Chunk, kind: str) -> bool:
    """Whether a chunk, as the value of a `kind` of parameter, is "that game", or the news of "news of that show":
    which one, was said elsewhere. Not what somebody is told, nor who did what: "the mail that Mei sent"."""
    if not _BEFORE.isdisjoint(chunk.leads[:1]):
        first = units[chunk.first]
        is_told = kind == "text" and chunk.last - chunk.first > 1
        is_clause = not first.text[0].islower() or first.lower.replace("’", "'").partition("'")[0] in _SUBJECTS
        return chunk.leads[0] != "that" or not (is_clause or is_told)
    return chunk.last + 1 < len(units) and units[chunk.last].lower == "of" and units[chunk.last + 1].lower in _POINTING


_ID_WORDS = frozenset(("id", "ids", "identifier", "uuid", "guid"))


def is_other_name(parameter: Parameter, chunk: Chunk, said: str) -> bool:
    """Whether a run of capitals is what something is called, for a parameter that takes its number: the restaurant of
    "cancel my table at Chez Anna" is no booking's id. "SEA" may be one, and what is like an example."""
    if parameter.kind != "id" or chunk.kind != "name" or _ID_WORDS.isdisjoint(parameter.stems):
        return False
    is_worded = any(mark.islower() for mark in said) and not any(mark.isdecimal() for mark in said)
    return is_worded and shape_of(said) not in parameter.shapes
