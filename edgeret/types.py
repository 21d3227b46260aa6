"""Plain data that every room shares. This room imports nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, field
from typing import Any, Literal, NamedTuple, Protocol

from edgeret.arguments import REFERENCE as REFERENCE
from edgeret.arguments import Argument as Argument
from edgeret.arguments import Arguments as Arguments
from edgeret.arguments import ArgumentSource as ArgumentSource
from edgeret.arguments import references as references
from edgeret.degraded import Degraded as Degraded
from edgeret.errors import InputError
from edgeret.records import dataclass

START = "<start>"
"""Pads a history that is shorter than the graph's order. Never a candidate."""
END = "<end>"
"""Closes every plan. A candidate like any tool."""
MOST_TEXTS = 4
"""Of one search: the user's own words, and what each of a few tools should do."""
MOST_EXAMPLES = 5
"""Sentences that a tool shows. Two or three say most of what any number does, and whoever lists everybody's words is
not found for all of them."""
SEGMENTS = 3
"""Parts of a query that are pooled on their own beside the whole; requests tend to name their steps in order."""
SPELLING_BUCKETS = 1024
"""Numbers that say how a query is spelt."""

Source = Literal["heads", "prior", "planner"]
Stage = Literal["static", "full", "planner"]
IndexKind = Literal["auto", "exact", "hnsw"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the assistant can call. `parameters` is a JSON Schema; `{}` means that none was given. `examples` are
    sentences by which a user may ask for it. `risk` is the share of its calls that may be wrong, None for what holds
    for all tools; `confirm` asks for a person's word before it is called."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[str, ...] = ()
    risk: float | None = None
    confirm: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The tool as JSON-ready data; `examples`, `risk` and `confirm` only where they say something."""
        told: dict[str, Any] = {"name": self.name, "description": self.description, "parameters": self.parameters}
        if self.examples:
            told["examples"] = list(self.examples)
        if self.risk is not None:
            told["risk"] = self.risk
        return {**told, "confirm": True} if self.confirm else told


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
    the query wants this tool is thought to be, 0 to 1 over all tools; None where a strategy gives ranks alone.
    `needed_for` is the tool that needs this one called first, None for a tool that was found for itself; the share of
    one that is needed is that tool's times how sure it is."""

    tool: str
    similarity: float
    share: float | None = None
    needed_for: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The hit as JSON-ready data; `needed_for` only where it says something."""
        told: dict[str, Any] = {"tool": self.tool, "similarity": self.similarity, "share": self.share}
        return told if self.needed_for is None else {**told, "needed_for": self.needed_for}


class Need(NamedTuple):
    """A tool that must have been called before another one, `needed_for`, and how sure that is, 0 to 1."""

    tool: str
    needed_for: str
    sureness: float


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
class Alternative:
    """One of two or three tools that share what is left. `distinction` are words of its own definition that the others
    lack, the most telling first and separated by commas; `example` is a short request that called it, None where none
    is kept. Both are for asking the user back: "pause or volume?"."""

    tool: str
    probability: float
    distinction: str
    example: str | None = None


@dataclass(frozen=True, slots=True)
class Vote:
    """What one part of a decision says. `probabilities` are its own ones of the candidates that are compared; None
    where it says nothing of one. `weight` is what its logarithms count for, 0 where it was not asked. `pull` is what it
    adds to the log-odds of the first candidate against the second, in nats; None where it says nothing of either. A
    part may be `within` another one, whose word then holds its own."""

    part: str
    weight: float
    probabilities: Mapping[str, float | None]
    pull: float | None = None
    within: str | None = None


@dataclass(frozen=True, slots=True)
class Demonstrated:
    """A demonstration near the request, by the `cosine` of both queries: the tools that it calls in order, and its
    words, None where they were not kept. `learned` if it was learned on this device."""

    calls: tuple[str, ...]
    cosine: float
    query: str | None
    learned: bool


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would be decided after a change: `kind` "learn" is one plan learned whose next call is `tool`, "describe"
    the request quoted in that tool's description. `probability` is what `tool` would have, and `turns` says whether
    it would be chosen."""

    kind: Literal["learn", "describe"]
    tool: str
    probability: float
    turns: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a decision came out as it did. `str` gives it as a few lines.

    `probabilities` are those of the candidates that are compared: the best, its rival (the runner-up, or the tool that
    was asked about), and `<end>`. `votes` are the parts' own words. `words` are the words of the request that each of
    these tools has, and under "" those that no tool has. `demonstrations` are the nearest first; `similarity` is the
    cosine to the nearest cluster of them, and `cluster` what these requests mostly called, in shares. `floor` is the
    probability below which edgeret would have declined, None where nothing was. `remedies` are tried out, not guessed.
    """

    query: str
    tool: str | None
    reason: str
    probabilities: Mapping[str, float]
    votes: tuple[Vote, ...]
    words: Mapping[str, tuple[str, ...]]
    demonstrations: tuple[Demonstrated, ...]
    similarity: float | None
    cluster: Mapping[str, float]
    floor: float | None
    remedies: tuple[Remedy, ...]
    lines: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON-ready data, the key "explanation" of `select --explain --json`."""
        return {name: _plain(getattr(self, name)) for name in self.__slots__}

    def __str__(self) -> str:
        """The lines."""
        return "\n".join(self.lines)


class Why(Protocol):
    """What a decision remembers of how it was made."""

    def alternatives(self, decision: Decision) -> tuple[Alternative, ...]:
        """As `Decision.alternatives`."""

    def explain(self, decision: Decision, instead: str | None) -> Explanation:
        """As `Decision.explain`."""

    def arguments(self, decision: Decision) -> Arguments:
        """As `Decision.arguments` and `Decision.missing`."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What a decision that was copied or sent remembers: what it was asked before."""

    found: tuple[Alternative, ...]
    read: Arguments = Arguments({}, {})

    def arguments(self, decision: Decision) -> Arguments:
        """Those of the one that it was made from."""
        return self.read

    def alternatives(self, decision: Decision) -> tuple[Alternative, ...]:
        """Those of the one that it was made from."""
        return self.found

    def explain(self, decision: Decision, instead: str | None) -> Explanation:
        """Raises InputError."""
        raise InputError("this decision was copied or sent; explain the one that task.next() gave, where it gave it")


@dataclass(frozen=True, slots=True)
class Decision:
    """What comes next, and why.

    `tool` is a tool's name, `<end>` when the plan is complete, or None when edgeret abstained. `probability` is the
    calibrated probability of the best candidate, whether or not it was taken. `source` names what decided: the "heads",
    with all that was demonstrated and learned; the "prior", the tools alone; or the "planner". `candidates` are sorted,
    most probable first. `timings_ms` holds milliseconds per stage; a stage that was not needed (the encoding, from a
    task's second step on) is absent. `usage` is what asking a planner cost. `stage` is the last one that was asked: the
    table of token vectors, the full encoder, or a planner. `confirm` says that the tool's definition asks for a
    person's word before it is called. `left_aside` are the user's own words for wishes that no call is for, where a
    plan ends all the same. `degraded` says what did not work and was done without. `why` is what `alternatives` and
    `explain` look up.
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
    confirm: bool = False
    left_aside: tuple[str, ...] = ()
    why: Why | None = field(default=None, repr=False, compare=False)
    degraded: tuple[Degraded, ...] = ()

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Two or three tools that share what is left, the most probable first: ask the user which one is meant. Empty
        where one candidate stands clear. Worked out when somebody looks."""
        return () if self.why is None else self.why.alternatives(self)

    def explain(self, instead: str | None = None) -> Explanation:
        """Why it came out so, with what was known then, however the task goes on: which part said what, against the
        runner-up or the tool that should have come `instead`, and what would turn it. Costs what a few decisions do.

        Raises InputError for a tool that could not be chosen, and for a decision that another process made.
        """
        if self.why is None:
            raise InputError("this decision was not made by task.next(), which alone knows why")
        return self.why.explain(self, instead)

    @property
    def arguments(self) -> Mapping[str, Argument]:
        """The call's arguments by name, as the request and the calls before it give them, each with how sure that
        is. By rules, without a planner. Empty where there is nothing to call. Worked out when somebody looks."""
        return self._read().given

    @property
    def missing(self) -> Mapping[str, str]:
        """A question for the user for each argument that the call must have and nobody gave, by name; also for one of
        `arguments` that is likelier wrong than right."""
        return self._read().missing

    def _read(self) -> Arguments:
        return self.why.arguments(self) if self.why is not None and self.is_call else Arguments({}, {})

    @property
    def is_call(self) -> bool:
        """Whether there is a function to call: neither the plan's end nor an abstention."""
        return self.tool is not None and self.tool != END

    def __getstate__(self) -> list[Any]:
        """What is copied or sent: not what the process alone has."""
        state = [getattr(self, name) for name in self.__slots__]
        state[-2] = None if self.why is None else Sent(self.alternatives, self._read())
        return state

    def to_dict(self) -> dict[str, Any]:
        """The decision as JSON-ready data, the command line's `select --json`; `usage`, `left_aside` and
        `degraded` only where they say something."""
        fields = {name: _plain(getattr(self, name)) for name in self.__slots__ if name != "why"}
        told = {name: one for name, one in fields.items() if one or name not in ("usage", "left_aside", "degraded")}
        return {**told, "alternatives": _plain(self.alternatives)}


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A decision and the call that it led to, None at the end; `missing` are required arguments that neither the query
    nor earlier outputs gave, and `filling` is what asking a planner for the arguments cost. `given` says of each
    argument where it is from and how sure it is."""

    decision: Decision
    call: Call | None = None
    missing: tuple[str, ...] = ()
    filling: Usage | None = None
    given: Mapping[str, Argument] = field(default_factory=dict)


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
                "given": {name: argument.to_dict() for name, argument in step.given.items()},
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


def _plain(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, str | int | float | None):  # most are, and the abstract classes below take their time
        return value
    if isinstance(value, Candidate):
        return value._asdict()
    if hasattr(value, "__slots__") and not isinstance(value, Mapping | Sequence):
        return {name: _plain(getattr(value, name)) for name in value.__slots__}
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, Sequence) else value
