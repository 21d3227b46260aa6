"""Calls whose request does not say what they must be given, made of calls whose request says it: demonstrations name
everything, and what learns from them alone would never ask. Knows nothing of heads."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping

from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.words import COMMON
from edgeret.types import Call, Tool, references
from edgeret_export.fitting.argument_cases import plain_text, spans_of
from edgeret_export.fitting.argument_pool import Step
from edgeret_export.reference.arguments.features import MOST_UNITS_READ, options
from edgeret_export.reference.arguments.reader import wanted_of
from edgeret_export.reference.inputs.chunks import chunks
from edgeret_export.reference.inputs.parameters import Parameter

SHARE = 0.4
"""Of how many plans one call is made anew, where one can be."""
LEAST_UNITS, MOST_BEFORE = 2, 2
"""What has to be left of a request, and how many small words in front of a value go along with it."""


def unsaid(tools: Mapping[str, Tool], plans: Iterable[Demonstration], chance: random.Random) -> list[Step]:
    """Of SHARE of the plans one call each, without a value that it must have, and the request without its words. Half
    of these lose the small words in front, too: "on Friday", or "Friday" alone."""
    found = []
    for plan in plans:
        if chance.random() >= SHARE:
            continue
        places = [(i, one) for i, call in enumerate(plan.calls) for one in _needed(tools[call.tool], call)]
        if not places:
            continue
        i, one = chance.choice(places)
        step = _without(tools, plan, i, one, chance.random() < 0.5)
        if step is not None:
            found.append(step)
    return found


def _needed(tool: Tool, call: Call) -> list[Parameter]:
    """What must be given, and is given words or a number."""
    return [
        one
        for one in wanted_of(tool)
        if one.required
        and not one.many
        and not options(one)
        and isinstance(value := call.arguments.get(one.name), str | int | float)
        and not references({"": value})
    ]


def _without(tools: Mapping[str, Tool], plan: Demonstration, i: int, one: Parameter, whole: bool) -> Step | None:
    """The call without this argument; None where its words stand twice or not at all, where an earlier call took it,
    or where another argument of the call would lose its words."""
    call, before, tool = plan.calls[i], plan.calls[:i], tools[plan.calls[i].tool]
    value, written = call.arguments[one.name], chunks(plan.query)
    units = written.reading.units
    if len(units) > MOST_UNITS_READ or any(value in earlier.arguments.values() for earlier in before):
        return None
    spans = spans_of(value, one, written)
    if len(spans) != 1:
        return None
    first, last = spans[0][0], spans[0][0] + spans[0][1] + 1
    for _ in range(MOST_BEFORE if whole else 0):
        if first and units[first - 1].lower in COMMON:
            first -= 1
    query = _SPACES.sub(" ", plan.query[: units[first].start] + plan.query[units[last - 1].end :]).strip()
    if len(units) - (last - first) < LEAST_UNITS or plain_text(value) in plain_text(query):
        return None
    left = {name: given for name, given in call.arguments.items() if name != one.name}
    kept = chunks(query)
    for other in wanted_of(tool):
        given = left.get(other.name)
        if spans_of(given, other, written) and not spans_of(given, other, kept):
            return None
    return tool, query, before, Call(call.tool, left)


_SPACES = re.compile(r"\s+")
