"""What the head for arguments is told of a request's units and of a tool's parameters, beside their vectors: numbers.
Knows nothing of weights and of vectors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import COMMON, words
from edgeret.types import Tool
from edgeret_export.reference.inputs.chunks import Chunk, Chunks
from edgeret_export.reference.inputs.parameters import Parameter
from edgeret_export.reference.inputs.units import PATTERNS

KINDS = (
    *("email", "url", "phone", "id", "path", "duration", "when", "text", "place", "person", "number", "boolean"),
    *("choice", "command", ""),
)
"""The kinds of parameters that the head fills, in the order of its features."""
CHUNK_KINDS = (
    *PATTERNS,
    *("addressee", "command", "chunk", "head", "tail", "joined", "rest", "told", "clause", "sentence"),
)
"""The kinds of chunks that a span may be the same as."""
MATCHED, PLAIN_FEATURES, PARAMETER_FEATURES, RELATIONS = len(PATTERNS), 20, len(KINDS) + 9, 3
UNIT_FEATURES = 3 * MATCHED + PLAIN_FEATURES
MOST_UNITS_READ = 400
"""Units that the head reads; whose request has more, has all its arguments from the rules alone."""
_ENDS = frozenset(".!?;:")
_ANDS = frozenset(("and", "or", "und", "oder", "et", "ou", "y", "o", "&"))


def request_features(found: Chunks) -> NDArray[Any]:
    """What every unit of a request has of UNIT_FEATURES whatever is called, float32 (units, UNIT_FEATURES)."""
    units, reading = found.reading.units, found.reading
    n = len(units)
    table = np.zeros((n, UNIT_FEATURES), np.float32)
    for kind, matches in reading.matches.items():
        if kind not in _NUMBER_OF:
            continue
        at = 3 * _NUMBER_OF[kind]
        for match in matches:
            table[match.first, at] = table[match.last - 1, at + 1] = 1.0
            table[match.first : match.last, at + 2] = 1.0
    rows = []
    for i, unit in enumerate(units):
        text = unit.text
        rows.append(
            (
                *(text[0].isdecimal(), text[0].isupper(), not unit.is_word, i == 0, i == n - 1, i / n),
                i > 0 and units[i - 1].end < unit.start,
                i + 1 < n and unit.end < units[i + 1].start,
                *(text == ",", text in _ENDS, unit.lower in _ANDS, len(text) / 10.0, unit.lower in COMMON),
                i > 0 and found.clause_of[i] != found.clause_of[i - 1],
            )
        )
    table[:, 3 * MATCHED : 3 * MATCHED + _OWN] = rows
    return table


_OWN, _SAID, _TAKEN, _NEAR = 14, 15, 17, 19
"""Which plain features are of a call: whether a unit is in its tool's name, whether it and what is before it are values
of earlier calls, and of earlier ones of the same tool, and how much its clause speaks of the tool."""


def unit_features(
    of_request: NDArray[Any],
    found: Chunks,
    own: Sequence[bool],
    near: Sequence[float],
    said: Sequence[str],
    taken: Sequence[str],
) -> NDArray[Any]:
    """Features of every unit of a request, float32 (units, UNIT_FEATURES), from its `request_features`. Of a call's
    tool `own` says which units are in its name, and `near` how much each clause speaks of it. `said` are values of
    earlier calls in lower case, and `taken` those of earlier calls of the same tool."""
    table = of_request.copy()
    plain = table[:, 3 * MATCHED :]
    plain[:, _OWN], plain[:, _NEAR] = own, [near[clause] for clause in found.clause_of]
    units, lower = found.reading.units, found.reading.text.lower() if said or taken else ""
    for at, values in ((_SAID, said), (_TAKEN, taken)):
        for value in values:
            start = lower.find(value) if len(value) > 1 else -1
            if start < 0:
                continue
            end = start + len(value)
            for i, unit in enumerate(units):
                if unit.start < end and start < unit.end:
                    plain[i, at] = 1.0
                if unit.start >= end:
                    plain[i, at + 1] = 1.0
    return table


_NUMBER_OF = {kind: i for i, kind in enumerate(PATTERNS)}


def parameter_features(wanted: Sequence[Parameter]) -> NDArray[Any]:
    """Features of parameters, float32 (parameters, PARAMETER_FEATURES)."""
    table = np.zeros((len(wanted), PARAMETER_FEATURES), np.float32)
    for row, one in zip(table, wanted, strict=True):
        if one.kind in _KIND_OF:
            row[_KIND_OF[one.kind]] = 1.0
        row[len(KINDS) :] = (
            *(one.many, one.required, "default" in one.whole, bool(one.described), one.part == "day"),
            *(one.part == "time", one.unit is not None, bool(one.shapes), bool(one.schema.get("format"))),
        )
    return table


_KIND_OF = {kind: i for i, kind in enumerate(KINDS)}


def relations(stems: Sequence[str], lower: Sequence[str], wanted: Sequence[Parameter]) -> NDArray[Any]:
    """Which units, by stem and in lower case, have words of a parameter's name, of its description, or lead to such a
    one, float32 (parameters, units, RELATIONS)."""
    table = np.zeros((len(wanted), len(stems), RELATIONS), np.float32)
    for of_one, one in zip(table, wanted, strict=True):
        for i, stem in enumerate(stems):
            if stem:
                of_one[i, 0] = stem in one.stems
                of_one[i, 1] = stem in one.told
            of_one[i, 2] = lower[i] in one.led
    return table


def places_of(found: Sequence[Chunk], longest: int) -> NDArray[np.int64]:
    """Of each chunk its kind's number, its first unit and its length less one, int64 (chunks, 3); not of those longer
    than `longest`."""
    places = [
        (_CHUNK_OF[one.kind], one.first, one.last - one.first - 1)
        for one in found
        if one.kind in _CHUNK_OF and 0 < one.last - one.first <= longest
    ]
    return np.array(places, np.int64).reshape(-1, 3)


_CHUNK_OF = {kind: i for i, kind in enumerate(CHUNK_KINDS)}


def parameter_text(one: Parameter) -> str:
    """What stands for a parameter before the encoder."""
    return f"{name_in_words(one.name)}: {one.described}" if one.described else name_in_words(one.name)


def function_text(tool: Tool) -> str:
    """What stands for a tool beside its parameters."""
    return f"{name_in_words(tool.name)}: {tool.description}"


def options(one: Parameter) -> list[Any]:
    """The values that a parameter chooses between: of its schema, or true and false; none where it takes words."""
    if one.kind == "boolean":
        return [True, False]
    listed = one.schema.get("enum")
    return listed if one.kind == "choice" and isinstance(listed, list) and len(listed) <= MOST_OPTIONS else []


MOST_OPTIONS = 400
OPTION_FEATURES = 4


def option_text(one: Parameter, value: Any) -> str:
    """What stands for one of a parameter's options before the encoder."""
    if isinstance(value, bool):
        return f"{'' if value else 'not '}{name_in_words(one.name)}"
    return name_in_words(value) if isinstance(value, str) else str(value)


def option_features(
    one: Parameter, values: Sequence[Any], said: frozenset[str], lower: str, by_rule: Any
) -> NDArray[Any]:
    """Of each option the share of its stems that the request says, whether it says all, whether it says it in
    these very words, and whether it is what is chosen `by_rule`, float32 (options, OPTION_FEATURES)."""
    table = np.zeros((len(values), OPTION_FEATURES), np.float32)
    for row, value in zip(table, values, strict=True):
        if isinstance(value, bool):
            wanted: Collection[str] = one.stems
        else:
            text = option_text(one, value)
            wanted = set(words(text)) or {text.lower()}
            row[2] = len(text) > 1 and text.lower() in lower
        share = len(said.intersection(wanted)) / len(wanted) if wanted else 0.0
        row[0], row[1] = share, share == 1.0
        row[3] = type(value) is type(by_rule) and value == by_rule
    return table
