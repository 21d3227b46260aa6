"""Plain data that every room shares. This room imports nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

START = "<start>"
"""Pads a history that is shorter than the graph's order. Never a candidate."""
END = "<end>"
"""Closes every plan. A candidate like any tool."""
SEGMENTS = 3
"""Parts of a query that are pooled on their own beside the whole; requests tend to name their steps in order."""

Source = Literal["heads", "search", "planner"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the assistant can call. `parameters` is a JSON Schema; `{}` means that none was given."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a demonstration; an argument `"$out_1"` refers to the output of the plan's first call."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool found by its description; `similarity` is the cosine to the query, in [-1, 1]."""

    tool: str
    similarity: float


class Candidate(NamedTuple):
    """A possible next function (a tool's name or `<end>`) with its calibrated probability."""

    tool: str
    probability: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What comes next, and why.

    `tool` is a tool's name, `<end>` when the plan is complete, or None when edgeret abstained. `probability` is the
    calibrated probability of the best candidate, whether or not it was taken. `source` names what decided.
    `candidates` are sorted, most probable first. `timings_ms` holds milliseconds per stage; a stage that was not
    needed (the encoding, from a task's second step on) is absent.
    """

    tool: str | None
    probability: float
    source: Source
    abstained: bool
    reason: str
    candidates: tuple[Candidate, ...]
    timings_ms: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The decision as JSON-ready data, the command line's `select --json`."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "candidates": [c._asdict() for c in self.candidates], "timings_ms": dict(self.timings_ms)}


@dataclass(frozen=True, slots=True)
class Plan:
    """The decisions up to `<end>`, an abstention or the bound; `outcome` says which."""

    query: str
    steps: tuple[Decision, ...]
    outcome: Literal["complete", "abstained", "bound"]

    @property
    def tools(self) -> tuple[str, ...]:
        """The functions to call, in order."""
        return tuple(d.tool for d in self.steps if d.tool is not None and d.tool != END)

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON-ready data, the command line's `plan --json`."""
        return {
            "query": self.query,
            "outcome": self.outcome,
            "tools": list(self.tools),
            "steps": [d.to_dict() for d in self.steps],
        }
