"""What a call's arguments are, and which of them stand for outputs. Plain data; `edgeret.types` has all of it too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal, NamedTuple

from edgeret.records import dataclass

ArgumentSource = Literal["text", "choice", "output", "rule", "earlier", "default", "planner"]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call as the request gives it. `source` is where it is from: a "choice" of the schema, a Boolean
    among them; the "output" of an earlier call; a "rule" that found it in the request; an "earlier" call's argument of
    that name; or the schema's "default". `span` says where its words begin and end in the
    request, None where it is not from there. `confidence` is the share of such arguments that are right.
    `alternatives` are other values that may be meant, the likeliest first."""

    value: Any
    source: ArgumentSource
    span: tuple[int, int] | None
    confidence: float
    alternatives: tuple[Any, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The argument as JSON-ready data."""
        return {
            **asdict(self),
            "span": None if self.span is None else list(self.span),
            "alternatives": [*self.alternatives],
        }


class Arguments(NamedTuple):
    """What a call's arguments are, by name in the schema's order, and a question for each one that the call must
    have and nobody gave, or whose value is likelier wrong than right."""

    given: Mapping[str, Argument]
    missing: Mapping[str, str]

    def sure(self, least: float) -> dict[str, Any]:
        """The values that are at least so sure, by name."""
        return {name: one.value for name, one in self.given.items() if one.confidence >= least}


REFERENCE = re.compile(r"\$out_([1-9][0-9]{0,8})")
"""A string that stands for the output of the plan's k-th call."""


def references(arguments: Any) -> tuple[int, ...]:
    """Which calls' outputs are referred to anywhere in `arguments`: the distinct k of all strings "$out_k", sorted.

    Every mapping, list and tuple is visited once, so that one which holds itself is no trap.
    """
    found: set[int] = set()
    waiting = [arguments]
    visited: dict[int, Any] = {}  # the containers are kept, so that no other one gets the number of one that is gone
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if match := REFERENCE.fullmatch(value):
                found.add(int(match[1]))
        elif isinstance(value, Mapping | list | tuple) and id(value) not in visited:
            visited[id(value)] = value
            waiting += value.values() if isinstance(value, Mapping) else value
    return tuple(sorted(found))
