"""Calls with arguments as the head for arguments is fitted on them: what it is told of each, and which of its answers
are right. Knows nothing of the head's weights."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery
from edgeret.types import Call, Tool, references
from edgeret_export.reference.arguments.features import MOST_UNITS_READ, options, parameter_features
from edgeret_export.reference.arguments.reader import Said, features_of, said_in, texts_of, wanted_of
from edgeret_export.reference.arguments.spans import Suitor
from edgeret_export.reference.inputs.chunks import Chunks, chunks
from edgeret_export.reference.inputs.parameters import Parameter
from edgeret_export.reference.inputs.units import PATTERNS
from edgeret_export.reference.inputs.value_forms import EXTREMES, MISSING, form
from edgeret_export.reference.scoring.argument_shape import LONGEST


class Case(NamedTuple):
    """One call. `vectors` are those of its request's units, float16 (units, dimension); `texts` are what stands for the
    function, for its parameters and, behind them, for their options, of which each parameter has a number in `counts`.

    `right_spans` are (parameter, first unit, length less one), `right_options` (parameter, option); `absent` says of
    which parameters "nobody said it" is right.
    """

    vectors: NDArray[np.float16]
    units: NDArray[np.float32]
    relations: NDArray[np.float32]
    chunks: NDArray[np.int64]
    texts: Sequence[str]
    parameters: NDArray[np.float32]
    counts: Sequence[int]
    options: NDArray[np.float32]
    right_spans: Sequence[tuple[int, int, int]]
    right_options: Sequence[tuple[int, int]]
    absent: Sequence[bool]
    many: Sequence[bool]
    tool: str


def cases(
    tools: Mapping[str, Tool],
    query: str,
    calls: Sequence[Call],
    encode: Callable[[str], EncodedQuery],
    others: Callable[[Tool, Sequence[Parameter]], Sequence[Parameter]] | None = None,
) -> Iterator[Case]:
    """The cases of one request. `others` gives parameters of other tools to stand beside a call's own: nobody said
    them."""
    found = chunks(query)
    reading = found.reading
    if not reading.units or len(reading.units) > MOST_UNITS_READ:
        return
    said = said_in(found, encode(query))
    for i, call in enumerate(calls):
        tool = tools[call.tool]
        wanted = wanted_of(tool)
        if not wanted:
            continue
        beside = [] if others is None else others(tool, wanted)
        suitor = Suitor(found, tool, calls[:i], None)
        yield case(tool, (*wanted, *beside), call.arguments, calls[:i], suitor, found, said)


def case(
    tool: Tool,
    wanted: Sequence[Parameter],
    arguments: Mapping[str, Any],
    before: Sequence[Call],
    suitor: Suitor,
    found: Chunks,
    said: Said,
) -> Case:
    """One case of these parameters."""
    told = features_of(tool, wanted, before, suitor, found, said)
    listed = [options(one) for one in wanted]
    spans: list[tuple[int, int, int]] = []
    chosen: list[tuple[int, int]] = []
    absent = []
    for p, one in enumerate(wanted):
        given = arguments.get(one.name)
        values = [] if references({"": given}) else values_of(one, given)
        own: list[tuple[int, int]] = []
        if listed[p]:
            picked = [k for k, value in enumerate(listed[p]) if any(_same(value, other) for other in values)]
            chosen += [(p, k) for k in picked]
        else:
            picked = []
            own = [span for value in values for span in spans_of(value, one, found)]
            spans += [(p, first, length) for first, length in own]
        absent.append(not picked and not own)
    return Case(
        said.vectors.astype(np.float16),
        told.units,
        told.relations,
        told.chunks,
        texts_of(tool, wanted),
        parameter_features(wanted),
        [len(values) for values in listed],
        told.options,
        spans,
        chosen,
        absent,
        [one.many for one in wanted],
        tool.name,
    )


def halves(text: str) -> tuple[str, ...]:
    """The name and the description in what stands for a function or a parameter; none where only one of them is."""
    name, _, described = text.partition(": ")
    return (name, described) if described else ()


def shortened(one: Case, share: float, chance: random.Random) -> Case:
    """The case with a share of its function and parameters told by their names, or by their descriptions, alone."""
    count = 1 + len(one.counts)
    told = [
        chance.choice(found) if chance.random() < share and (found := halves(text)) else text
        for text in one.texts[:count]
    ]
    return one._replace(texts=[*told, *one.texts[count:]])


def values_of(one: Parameter, given: Any) -> list[Any]:
    """What was given to a parameter, a value each: those of a list, and what stands inside its objects where that is
    all that they hold."""
    if given is None:
        return []
    listed = given if isinstance(given, list) else [given]
    if not one.inside:
        return listed
    alone = {one.inside}
    return [value[one.inside] if isinstance(value, dict) and value.keys() == alone else value for value in listed]


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    return plain_text(value) == plain_text(other)


def _means(said: str, one: Parameter, value: Any) -> bool:
    return bool(form(said, "number", one, None) == value)


_IGNORED = re.compile(r"[\s,./\-_*^'\"“”]+")


def plain_text(value: Any) -> str:
    """A value without case, spaces and marks that say little."""
    return _IGNORED.sub("", str(value).lower())


def spans_of(value: Any, one: Parameter, found: Chunks) -> list[tuple[int, int]]:
    """First units and lengths less one of the spans that are a value: its words, or what is written so in the
    parameter's form."""
    reading = found.reading
    units = reading.units
    own: set[tuple[int, int]] = set()
    if isinstance(value, dict | list) or value is None or isinstance(value, bool):
        return []
    if one.kind == "number" or not isinstance(value, str) or one.kind in ("when", "duration"):
        for kind in PATTERNS:
            for match in reading.matches.get(kind, ()):
                told = form(reading.words(match.first, match.last), kind, one, None)
                if told is not MISSING and told == value and match.last - match.first <= LONGEST:
                    own.add((match.first, match.last - match.first - 1))
    if one.kind == "number":
        own.update((at, 0) for at, unit in enumerate(units) if unit.lower in EXTREMES and _means(unit.text, one, value))
    wanted = plain_text(value)
    if not wanted:
        return sorted(own)
    parts = [plain_text(unit.text) for unit in units]
    for first in range(len(units)):
        if not parts[first] or not wanted.startswith(parts[first]):
            continue
        told = ""
        for last in range(first, min(first + LONGEST, len(units))):
            told += parts[last]
            if told == wanted:
                own.add((first, last - first))
                break
            if not wanted.startswith(told):
                break
    return sorted(own)
