"""What the teacher of ToolQP's trajectories is asked: a plan, then queries, with more told the less they find (paper
000, section 3.2, figure 15). Knows nothing of searches. The names of the tools that are needed are kept from it.

Deviations: a sub-goal for every tool, in the order of the request's tools; answers are JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from edgeret.inputs.tool_text import name_in_words
from edgeret.planner.answers import Answerer, Limits, Shape
from edgeret.planner.chat import Prompt, Turn
from edgeret.strategies.toolqp import PLAN_TOKENS, TURN_TOKENS
from edgeret.types import Tool

LEVELS = 5
"""Of what is told for a query: 1 the sub-goal, 2 what the tool does, 3 what the last query found instead, 4 what the
plan finds, 5 all about the tool but its name."""
PLAN_TRIES = 3
_TEMPERATURE = 0.8
_MOST_CHARS = 1_500
"""Of what is told of one tool."""
_PLANNING = (
    Turn(
        "system",
        "You prepare lessons in searching a library of tools. You see a user's request and what the tools do that it "
        "needs, in order. Say in one sentence what the request takes, and for each tool its sub-goal in a few words: "
        'what it does for this request, without naming the tool. Answer in JSON: {"plan": …, "goal_1": …}.',
    ),
    Turn(
        "user",
        "Request: Book a table near my hotel in Rome and tell Ana where.\nTool 1: Lists restaurants around a place.\n"
        "Tool 2: Sends a text to somebody in the address book.",
    ),
    Turn(
        "assistant",
        '{"plan":"Find a restaurant near the hotel, then send its address.","goal_1":"search restaurants near a place",'
        '"goal_2":"send a message to a contact"}',
    ),
)
_ASKING = (
    Turn(
        "system",
        "You write queries that search a library of tools. Describe the tool that the sub-goal needs: what it does and "
        "which parameters it likely takes, but not their values in this request. Make up no tool's name. Answer in "
        'JSON: {"query": …}.',
    ),
    Turn(
        "user",
        "Request: Book a table near my hotel in Rome and tell Ana where.\nPlan: Find a restaurant near the hotel, then "
        "send its address.\nSub-goal: search restaurants near a place",
    ),
    Turn("assistant", '{"query":"search restaurants near a location, by place, cuisine and distance"}'),
)
_QUERY: Mapping[str, Shape] = {"query": "text"}
_EXAMPLES = frozenset(
    text.strip(" .").lower() for turns in (_PLANNING, _ASKING) for text in json.loads(turns[-1].text).values()
)
"""What the examples answer, which weak teachers repeat."""
_UNWRITABLE = re.compile(r'["\\\x00-\x1f\x7f]+')
"""What the grammar of a served planner does not let it write."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan: its sentence, and sub-goals with the tools that each needs."""

    plan: str
    goals: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Need:
    """What a query is wanted for: a sub-goal of a plan; `done` are the queries of those before, by sub-goal."""

    request: str
    planned: Planned
    goal: str
    done: Mapping[str, str]

    @property
    def targets(self) -> tuple[str, ...]:
        """The tools that the query should find."""
        return self.planned.goals[self.goal]


@dataclass(frozen=True, slots=True)
class Observed:
    """A search as the teacher sees it: the first tools found, without those that it should find."""

    query: str
    found: Sequence[str]


class Teacher:
    """A language model that writes plans and queries for requests whose tools are known."""

    def __init__(self, answerer: Answerer, tools: Mapping[str, Tool]) -> None:
        """`tools` by name."""
        self._answerer, self._tools = answerer, tools

    def plan(self, request: str, needed: Sequence[str], random: Random) -> Planned | None:
        """A plan for the tools `needed`; None where the teacher gives none without a blank, a tool's name or an
        example. Raises PlannerError where it cannot be asked at all."""
        told = [f"Tool {i}: {self._description(name, needed)}" for i, name in enumerate(needed, 1)]
        prompt = Prompt(_PLANNING, Turn("user", "\n".join((f"Request: {request}", *told))))
        keys = [f"goal_{i}" for i in range(1, len(needed) + 1)]
        shape: Mapping[str, Shape] = {"plan": "text", **dict.fromkeys(keys, "text")}
        for attempt in range(PLAN_TRIES):
            answer = self._ask(prompt, shape, PLAN_TOKENS, _TEMPERATURE if attempt else 0.0, random)
            texts = {} if answer is None else {key: written(answer[key]) for key in shape}
            if texts and all(_usable(text, needed, request) for text in texts.values()):
                goals: dict[str, tuple[str, ...]] = {}
                for key, name in zip(keys, needed, strict=True):
                    goals[texts[key]] = (*goals.get(texts[key], ()), name)
                return Planned(texts["plan"], goals)
        return None

    def query(self, need: Need, told: Sequence[str], random: Random) -> str | None:
        """A query drawn at random; None where the teacher's answer is none, an example, or holds the name of a tool
        that it should find. Raises PlannerError where it cannot be asked at all."""
        answer = self._ask(Prompt(_ASKING, Turn("user", "\n".join(told))), _QUERY, TURN_TOKENS, _TEMPERATURE, random)
        text = "" if answer is None else written(answer["query"])
        return text if _usable(text, need.targets, need.request) else None

    def told(self, need: Need, level: int, seen: Sequence[Observed]) -> list[str]:
        """The lines that a query is asked by at a level from 1 to LEVELS; `seen` are searches that did not find it."""
        planned, targets = need.planned, need.targets
        lines = [f"Request: {need.request}", f"Plan: {planned.plan}"]
        lines += [f"Done: {goal} (query: {query})" for goal, query in need.done.items()]
        lines.append(f"Sub-goal: {need.goal}")
        if level >= 2:
            lines += [f"What the tool does: {self._description(name, targets)}" for name in targets]
        lines += [f"Searched: {each.query}\nFound, and not what is needed: {', '.join(each.found)}" for each in seen]
        if level >= LEVELS:
            lines += [f"All about the tool: {self._documentation(name, targets)}" for name in targets]
            lines.append("Write the query with words of its description and of its parameters.")
        return lines

    def _ask(
        self, prompt: Prompt, shape: Mapping[str, Shape], most_tokens: int, temperature: float, random: Random
    ) -> Mapping[str, str] | None:
        limits = Limits(most_tokens, temperature=temperature, seed=random.getrandbits(31))
        found: Mapping[str, str] | None = self._answerer.answer(prompt, shape, limits).value
        return found

    def _description(self, name: str, secret: Sequence[str]) -> str:
        return without_names(" ".join(self._tools[name].description.split()), secret)[:_MOST_CHARS]

    def _documentation(self, name: str, secret: Sequence[str]) -> str:
        tool = self._tools[name]
        told = {"description": tool.description, "parameters": dict(tool.parameters)}
        return without_names(json.dumps(told, ensure_ascii=False), secret)[:_MOST_CHARS]


def _usable(text: str, names: Sequence[str], said: str) -> bool:
    return bool(text) and text.strip(" .").lower() not in _EXAMPLES and not holds_name(text, names, said)


def written(text: str) -> str:
    """A teacher's text as a served planner could have written it: one line, without quotes and backslashes."""
    return " ".join(_UNWRITABLE.sub(" ", text).split())


def holds_name(text: str, names: Sequence[str], said: str = "") -> bool:
    """Whether a text gives one of the names away, in any spelling. It may say a name's words where `said`, the request,
    does so too, and a name of one word is a word like others: it is only given away by a text that says nothing else.
    """
    return any(_gives_away(text, _spelling(name), said) for name in names)


def without_names(text: str, names: Sequence[str]) -> str:
    """The text with an ellipsis for every name of several words."""
    for spelling in map(_spelling, names):
        text = spelling.pattern.sub("…", text) if spelling.several else text
    return text


def _gives_away(text: str, spelling: _Spelling, said: str) -> bool:
    if not spelling.several:
        return spelling.pattern.fullmatch(text.strip(" .!")) is not None
    found = [match.group() for match in spelling.pattern.finditer(text)]
    return any(" " not in each for each in found) or (bool(found) and not spelling.pattern.search(said))


@dataclass(frozen=True, slots=True)
class _Spelling:
    """What matches a name however its words are joined, and whether it has several."""

    pattern: re.Pattern[str]
    several: bool


@lru_cache(maxsize=4096)
def _spelling(name: str) -> _Spelling:
    words = re.findall(r"[^\W_]+", name_in_words(name))
    pattern = r"(?<![^\W_])" + r"[\W_]*".join(map(re.escape, words)) + r"(?![^\W_])" if words else r"(?!)"
    return _Spelling(re.compile(pattern, re.IGNORECASE), len(words) > 1)
