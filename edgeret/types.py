"""Plain data that every room shares. This room imports nothing of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, field
from typing import Any, Literal, NamedTuple

from edgeret.records import dataclass

START = "<start>"
"""Pads a history that is shorter than the graph's order. Never a candidate."""
END = "<end>"
"""Closes every plan. A candidate like any tool."""
SEGMENTS = 3
"""Parts of a query that are pooled on their own beside the whole; requests tend to name their steps in order."""
SPELLING_BUCKETS = 1024
"""Numbers that say how a query is spelt."""

Source = Literal["heads", "search", "planner"]
Stage = Literal["static", "full", "planner"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the assistant can call. `parameters` is a JSON Schema; `{}` means that none was given."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """One call; an argument `"$out_1"` refers to the output of the plan's first call. `result` is what the call gave,
    as text or other JSON; None if nobody said."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: Any = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation: what the user said, and the calls that it led to; none where it asked for nothing."""

    query: str
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """A tool that was tried and did not work, when `after` calls had been made. `retried` says that it may be chosen
    again all the same."""

    tool: str
    reason: str
    after: int
    retried: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool found by its description; `similarity` is the cosine to the query, in [-1, 1]. `share` is how much of what
    the query wants this tool is thought to be, 0 to 1 over all tools; None where a strategy gives ranks alone."""

    tool: str
    similarity: float
    share: float | None = None


class Candidate(NamedTuple):
    """A possible next function (a tool's name or `<end>`) with its calibrated probability."""

    tool: str
    probability: float


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer of the planner cost: tokens of the prompt's constant and variable part, tokens of prompt and
    answers that were read, tokens of the prompt that were in the cache already, and milliseconds."""

    constant_tokens: int
    variable_tokens: int
    tokens_evaluated: int
    tokens_reused: int
    ms: float

    def __add__(self, other: Usage) -> Usage:
        """What both cost together."""
        return Usage(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Decision:
    """What comes next, and why.

    `tool` is a tool's name, `<end>` when the plan is complete, or None when edgeret abstained. `probability` is the
    calibrated probability of the best candidate, whether or not it was taken. `source` names what decided.
    `candidates` are sorted, most probable first. `timings_ms` holds milliseconds per stage; a stage that was not
    needed (the encoding, from a task's second step on) is absent. `usage` is what asking a planner cost. `stage` is the
    last one that was asked: the table of token vectors, the full encoder, or a planner. `left_aside` are the user's
    own words for wishes that no call is for, where a plan ends all the same.
    """

    tool: str | None
    probability: float
    source: Source
    abstained: bool
    reason: str
    candidates: Sequence[Candidate]
    timings_ms: Mapping[str, float]
    usage: Usage | None = None
    stage: Stage = "full"
    left_aside: tuple[str, ...] = ()

    @property
    def is_call(self) -> bool:
        """Whether there is a function to call: neither the plan's end nor an abstention."""
        return self.tool is not None and self.tool != END

    def to_dict(self) -> dict[str, Any]:
        """The decision as JSON-ready data, the command line's `select --json`; `usage` only if a planner was asked, and
        `left_aside` only if something was."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        if not fields["left_aside"]:
            del fields["left_aside"]
        usage = fields.pop("usage")
        if usage is not None:
            fields["usage"] = asdict(usage)
        return {**fields, "candidates": [c._asdict() for c in self.candidates], "timings_ms": dict(self.timings_ms)}


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A decision and the call that it led to, None at the end; `missing` are required arguments that neither the query
    nor earlier outputs gave, and `filling` is what asking a planner for the arguments cost."""

    decision: Decision
    call: Call | None = None
    missing: tuple[str, ...] = ()
    filling: Usage | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps up to `<end>`, an abstention, the bound, a call that repeats itself, or a cancellation; `outcome` says
    which."""

    query: str
    steps: tuple[PlanStep, ...]
    outcome: Literal["complete", "abstained", "bound", "repeated", "cancelled"]

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls, in order, with their arguments."""
        return tuple(step.call for step in self.steps if step.call is not None)

    @property
    def tools(self) -> tuple[str, ...]:
        """The functions to call, in order."""
        return tuple(call.tool for call in self.calls)

    @property
    def links(self) -> tuple[tuple[int, int], ...]:
        """The plan as a DAG: (i, j) where call j takes the output of call i, counted from 0."""
        return tuple((k - 1, j) for j, call in enumerate(self.calls) for k in references(call.arguments) if k <= j)

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON-ready data, the command line's `plan --json`."""
        steps = [
            {
                **step.decision.to_dict(),
                "arguments": None if step.call is None else dict(step.call.arguments),
                "missing": list(step.missing),
                "filling": None if step.filling is None else asdict(step.filling),
            }
            for step in self.steps
        ]
        return {
            "query": self.query,
            "outcome": self.outcome,
            "tools": list(self.tools),
            "links": [list(link) for link in self.links],
            "steps": steps,
        }


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
