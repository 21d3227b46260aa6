"""A language model's answer as JSON of a given shape: from a model in this process, or whatever keeps to `Answerer`.

Nothing is parsed by luck: what a model may write is given by a grammar, and checked again. Knows nothing of tools.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, Protocol, runtime_checkable

from edgeret.planner.chat import Prompt
from edgeret.planner.lazy import LazyPlanner
from edgeret.planner.model import Planner
from edgeret.planner.turn import BusyError
from edgeret.records import dataclass
from edgeret.types import Usage

Shape = str | Sequence["Shape"] | Mapping[str, "Shape"]
"""What an answer looks like: "text", "flag", a list of one shape, or fields by name, in this order."""
MAX_CHARS = 300
"""Characters of a text in an answer."""
MAX_ITEMS = 8
"""Items of a list in an answer."""
_NO_USAGE = Usage(0, 0, 0, 0, 0.0)
_HALF = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair, which JSON can spell and no tokenizer takes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one answer: tokens, and the moment (of `time.perf_counter`) when it must be there. `temperature` 0
    takes the most likely token, and what is above draws with `seed`."""

    max_tokens: int = 256
    deadline: float = math.inf
    temperature: float = 0.0
    seed: int = 0

    @property
    def seconds_left(self) -> float:
        """Until the deadline, at least 0."""
        return max(0.0, self.deadline - perf_counter())


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wrote: the `value`, of the shape that was asked for, or None with the `problem` in words."""

    value: Any
    usage: Usage
    problem: str | None = None


class Answerer(Protocol):
    """A language model that answers in JSON."""

    def answer(self, prompt: Prompt, shape: Shape, limits: Limits) -> Answer:
        """The answer to a prompt. What a model writes raises nothing. Raises PlannerError or MissingExtraError where it
        cannot be asked at all."""


@runtime_checkable
class Judge(Protocol):
    """A language model that says how likely texts are."""

    def likelihoods(self, prompts: Sequence[Prompt], text: str, limits: Limits) -> tuple[Sequence[float], Usage]:
        """The log-likelihood of a text as the reply to each of the prompts, as many as there was time for. Raises
        PlannerError or MissingExtraError."""

    def replies(
        self, asked: Sequence[tuple[Prompt, Sequence[str]]], limits: Limits, *, keep: bool
    ) -> tuple[Sequence[Sequence[float]], Usage]:
        """The log-likelihood of each text as the whole reply to the prompt before it, which have one constant part; for
        as many prompts as there was time for. Raises as `likelihoods` does."""


class LocalAnswerer:
    """The planner in this process, under a grammar; where it is loaded when it is first asked, nobody waits for that
    beyond a deadline."""

    def __init__(self, planner: Planner | LazyPlanner) -> None:
        self._planner = planner

    def answer(self, prompt: Prompt, shape: Shape, limits: Limits) -> Answer:
        """As `Answerer.answer`."""
        try:
            text, finished, usage = self._by(limits.deadline).write(
                prompt, grammar_of(shape), limits.max_tokens, limits.deadline, limits.temperature, limits.seed
            )
        except BusyError as busy:
            return Answer(None, _NO_USAGE, str(busy) or "the planner answers others")
        if not finished:
            return Answer(None, usage, f"cut off after {len(text)} characters")
        return read_answer(text, shape, usage)

    def likelihoods(self, prompts: Sequence[Prompt], text: str, limits: Limits) -> tuple[Sequence[float], Usage]:
        """As `Judge.likelihoods`."""
        try:
            return self._by(limits.deadline).likelihoods(prompts, text, limits.deadline)
        except BusyError:
            return (), _NO_USAGE

    def replies(
        self, asked: Sequence[tuple[Prompt, Sequence[str]]], limits: Limits, *, keep: bool
    ) -> tuple[Sequence[Sequence[float]], Usage]:
        """As `Judge.replies`."""
        try:
            return self._by(limits.deadline).replies(asked, limits.deadline, keep=keep)
        except BusyError:
            return (), _NO_USAGE

    def _by(self, deadline: float) -> Planner:
        """Raises BusyError where it is still being loaded then, and as `LazyPlanner.get`."""
        found = self._planner.get_by(deadline) if isinstance(self._planner, LazyPlanner) else self._planner
        if found is None:
            raise BusyError("the planner is still being loaded")
        return found


def read_answer(text: str, shape: Shape, usage: Usage) -> Answer:
    """An answer's text as the value of its shape, whoever wrote it. Problems are in our words alone."""
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return Answer(None, usage, "no JSON")
    problem = misfit(value, shape)
    return Answer(None if problem else value, usage, problem)


def _once(fields: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. A ValueError if it says anything twice: which of the two is meant is anybody's guess."""
    found = dict(fields)
    if len(found) < len(fields):
        raise ValueError("a field stands twice")
    return found


def misfit(value: Any, shape: Shape) -> str | None:
    """How a value is not of a shape, in words; None if it is."""
    if shape == "flag":
        return None if isinstance(value, bool) else "no true or false"
    if isinstance(shape, str):
        if not isinstance(value, str) or len(value) > MAX_CHARS:
            return f"no text of at most {MAX_CHARS} characters"
        return "half a character in a text" if _HALF.search(value) else None
    if isinstance(shape, Mapping):
        if not isinstance(value, dict) or value.keys() != shape.keys():
            return f"no object with {', '.join(shape)}"
        return next((found for key, part in shape.items() if (found := misfit(value[key], part))), None)
    if not isinstance(value, list) or len(value) > MAX_ITEMS:
        return f"no list of at most {MAX_ITEMS}"
    return next((found for item in value if (found := misfit(item, shape[0]))), None)


def schema_of(shape: Shape) -> dict[str, Any]:
    """A shape as JSON Schema, for endpoints."""
    if shape == "flag":
        return {"type": "boolean"}
    if isinstance(shape, str):
        return {"type": "string", "maxLength": MAX_CHARS}
    if isinstance(shape, Mapping):
        fields = {key: schema_of(part) for key, part in shape.items()}
        return {"type": "object", "properties": fields, "required": list(shape), "additionalProperties": False}
    return {"type": "array", "items": schema_of(shape[0]), "maxItems": MAX_ITEMS}


def grammar_of(shape: Shape) -> str:
    """A shape as GBNF for llama.cpp, with the rule `root`: JSON on one line."""
    rules: list[str] = []
    root = _rule(shape, rules)
    # JSON's control characters are left out, and its escapes: a backslash in a search text is noise.
    text = f'text ::= "\\"" [^"\\\\\\x00-\\x1f\\x7f]{{0,{MAX_CHARS}}} "\\""'
    return "\n".join((f"root ::= {root}", *rules, text, 'next ::= "," " "?', ""))


def _rule(shape: Shape, rules: list[str]) -> str:
    """The rule's name or body for a shape; what a list repeats becomes one of the `rules`, which are counted once."""
    if shape == "flag":
        return '("true" | "false")'
    if isinstance(shape, str):
        return "text"
    if isinstance(shape, Mapping):
        fields = " next ".join(f'"\\"{key}\\":" " "? {_rule(part, rules)}' for key, part in shape.items())
        return f'"{{" {fields} "}}"'
    body, name = _rule(shape[0], rules), f"item{len(rules)}"
    rules.append(f"{name} ::= {body}")
    more = ""
    for _ in range(MAX_ITEMS - 1):
        more = f"(next {name} {more})?"
    return f'"[" ({name} {more})? "]"'
