"""What bounds the reading of arguments from a request: where the true values stand, and what is read where a head
points at each of them. Knows no bundle and no fitted head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import EncodedQuery
from edgeret.errors import InputError
from edgeret.inputs.demonstrations import Demonstration
from edgeret.terminal.progress import track
from edgeret.types import Call, Tool, references
from edgeret_bench.metrics import share
from edgeret_export.fitting.argument_cases import spans_of, values_of
from edgeret_export.fitting.compared import same
from edgeret_export.reference.arguments.features import MOST_UNITS_READ, options
from edgeret_export.reference.arguments.filling import Filling
from edgeret_export.reference.arguments.reader import wanted_of
from edgeret_export.reference.arguments.spans import Suitor
from edgeret_export.reference.inputs.chunks import Chunks, chunks
from edgeret_export.reference.inputs.parameters import Parameter
from edgeret_export.reference.scoring.argument_head import LogShares
from edgeret_export.reference.scoring.argument_joining import Joining
from edgeret_export.reference.scoring.argument_shape import LONGEST

WITHIN, BEYOND = ("words", "option", "output", "earlier"), ("other type", "no option", "nested", "nowhere")
"""Where a value may be had without making it up, and where not: a number written as text where the schema takes
numbers, what is no option of those that there are, objects, and what no words of the request say."""
NEVER = -12.0


def place_of(one: Parameter | None, value: Any, before: Sequence[Call], found: Chunks) -> str:
    """Where a true value is had from: one of WITHIN or BEYOND."""
    if references({"": value}):
        return "output"
    if one is None:
        return "nested"
    values = values_of(one, value)
    if listed := options(one):
        return "option" if all(any(same(own, each) for own in listed) for each in values) else "no option"
    if values and all(spans_of(each, one, found) for each in values):
        is_number = one.schema.get("type") in ("number", "integer")
        return "other type" if is_number and any(isinstance(each, str) for each in values) else "words"
    said = [other for call in before for other in call.arguments.values()]
    return "earlier" if any(same(value, other) for other in said) else "nowhere"


@dataclass
class Pointer:
    """Stands where a head does, and points at the true values of `truth`: at all spans that say one, at options, and
    at "nobody said it" for what is in no words."""

    joining: Joining
    traits: Mapping[str, float]
    truth: Mapping[str, Any]
    counts: Mapping[tuple[str, str], Mapping[str, Sequence[int]]]

    def log_shares(
        self,
        tool: Tool,
        _calls: Sequence[Call],
        _suitor: Suitor,
        found: Chunks,
        _query: str,
        _encoded: EncodedQuery | None,
    ) -> tuple[Mapping[str, int], LogShares] | None:
        """As `ArgumentReader` does, from the truth."""
        wanted, length = wanted_of(tool), len(found.reading.units)
        if not wanted or not 0 < length <= MOST_UNITS_READ:
            return None
        spans = np.full((len(wanted), length, LONGEST), NEVER, np.float32)
        chosen: list[NDArray[np.float32]] = []
        for number, one in enumerate(wanted):
            given = self.truth.get(one.name)
            values = [] if references({"": given}) else values_of(one, given)
            chosen.append(
                np.array(
                    [0.0 if any(same(own, each) for each in values) else NEVER for own in options(one)], np.float32
                )
            )
            if not len(chosen[-1]):
                for first, longer in (place for each in values for place in spans_of(each, one, found)):
                    spans[number, first, longer] = 0.0
        said = [max(float(own.max(initial=NEVER)), float(row.max())) for own, row in zip(chosen, spans, strict=True)]
        absent = np.array([NEVER if most == 0.0 else 0.0 for most in said], np.float32)
        return {one.name: i for i, one in enumerate(wanted)}, LogShares(spans, chosen, absent)


def run(
    tools: Mapping[str, Tool], demonstrations: Sequence[Demonstration], pool: Mapping[str, float]
) -> dict[str, Any]:
    """Functions and earlier calls given. `places` counts the true arguments by where they are had from; `calls_within`
    is the share of calls all of whose arguments are WITHIN, which no reader that keeps the schema and makes nothing up
    can pass. `pointed` are calls and arguments as they are read where a head knows every value's place, joined by
    `pool` with the rules. Raises InputError where no call has arguments."""
    places: Counter[str] = Counter()
    found = right = wanted = 0
    within: list[bool] = []
    whole: list[bool] = []
    for one in track(demonstrations, "reach", len(demonstrations)):
        written = chunks(one.query)
        for i, call in enumerate(one.calls):
            tool, before = tools[call.tool], one.calls[:i]
            named = {each.name: each for each in wanted_of(tool)}
            own = [place_of(named.get(name), value, before, written) for name, value in call.arguments.items()]
            places.update(own)
            within.append(all(place in WITHIN for place in own))
            pointer: Any = Pointer(Joining(pool), {}, call.arguments, {})
            read = Filling(tool, None, one.query, before, tools, None, None, pointer).found()
            good = {name: same(call.arguments.get(name), each.value) for name, each in read.items()}
            whole.append(all(good.values()) and read.keys() == call.arguments.keys())
            found, right, wanted = found + len(read), right + sum(good.values()), wanted + len(call.arguments)
    if not wanted:
        raise InputError("no demonstration has arguments to look for; give some whose calls have them")
    return {
        "n_calls": len(whole),
        "n_arguments": wanted,
        "places": {place: places[place] for place in (*WITHIN, *BEYOND)},
        "calls_within": share(within),
        "pointed": {"calls_right": share(whole), "precision": right / max(found, 1), "recall": right / wanted},
    }
