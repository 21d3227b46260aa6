"""Two or three tools that share what is left, and what tells them apart. Knows nothing of how anything is scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Protocol

from edgeret.errors import BundleError
from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import forms
from edgeret.planner.exemplars import Exemplars
from edgeret.runtime.learned_plan import LearnedPlan
from edgeret.types import END, Alternative, Candidate, Decision, Tool

MOST = 3
"""Alternatives: nobody is asked to choose between more."""
SHARE = 0.2
"""Of the best tool's probability, what another one must have."""
TOGETHER = 0.5
"""Of what all tools have, what these must have together: where many share it, asking about three of them helps nobody.
With demonstrations (desktop, terse, Home Assistant, CLINC150 with 10 an intent, 500 plans of UltraTool) 34 of 100
requests whose first tool is wrong then have the right one among the alternatives, and 16 of 100 whose first is right
have any; from tools alone, 20 and 40; of foreign requests 3. A share of 0.1 gave 46 and 26; of 0.33, 23 and 9."""
MOST_WORDS = 4
SHORT = 80
"""Characters of an example at most."""


class Plans(Protocol):
    """What was learned."""

    @property
    def count(self) -> int:
        """How many plans are stored."""

    @property
    def plans(self) -> Sequence[LearnedPlan]:
        """Those."""


def alternatives(
    decision: Decision,
    listed: Callable[[int], Sequence[Candidate]],
    tools: Mapping[str, Tool],
    exemplars: Exemplars,
    learned: Plans,
) -> tuple[Alternative, ...]:
    """As `Decision.alternatives`, however many candidates the decision has: `listed` gives so many as there were. The
    examples of requests are those of `exemplars` and of what was `learned`."""
    # A planner's advice stands in the candidates, and nowhere else.
    known = decision.source == "planner" or len(decision.candidates) > MOST + 1
    shared = sharing(decision.candidates if known else listed(MOST + 2))
    if not shared:
        return ()
    apart = told_apart([tools[candidate.tool] for candidate in shared])
    return tuple(
        Alternative(name, probability, ", ".join(words), example(name, words, exemplars, learned))
        for (name, probability), words in zip(shared, apart, strict=True)
    )


def sharing(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The tools that share what is left, of the most probable candidates; none where one candidate stands clear."""
    tools = [candidate for candidate in candidates if candidate.tool != END]
    nothing = next((candidate.probability for candidate in candidates if candidate.tool == END), 0.0)
    found = [candidate for candidate in tools if candidate.probability >= SHARE * tools[0].probability][:MOST]
    together = sum(candidate.probability for candidate in found)
    return found if len(found) > 1 and together >= max(TOGETHER * (1 - nothing), nothing) else []


def told_apart(tools: Sequence[Tool]) -> list[list[str]]:
    """For every tool the words that are its own, those of its name first, then in the order of its definition. Where
    one has none, words that say nothing of a request serve: "on" and "off"."""
    said = [_words(_texts(tool)) for tool in tools]
    own, plain = (_own(each) for each in zip(*said, strict=True))
    return [words or bare for words, bare in zip(own, plain, strict=True)]


def _own(said: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """For every tool the words, by their stems, that no other one has."""
    others = [{stem for j, other in enumerate(said) if j != i for stem in other} for i in range(len(said))]
    return [
        [word for stem, word in mine.items() if stem not in known][:MOST_WORDS]
        for mine, known in zip(said, others, strict=True)
    ]


def _texts(tool: Tool) -> tuple[str, ...]:
    """What a tool says: its name, its description, and its parameters."""
    properties = tool.parameters.get("properties")
    told = [name_in_words(tool.name), tool.description]
    for key, value in properties.items() if isinstance(properties, Mapping) else ():
        about = value.get("description") if isinstance(value, Mapping) else None
        told += [name_in_words(str(key)), about if isinstance(about, str) else ""]
    return tuple(told)


@lru_cache(256)
def _words(texts: tuple[str, ...]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The words by their stems, as they are first written; and every word by itself."""
    found: dict[str, str] = {}
    for text in texts:
        for stem, word in forms(text).items():
            found.setdefault(stem, word)
    return found, {word: word for word in " ".join(texts).lower().split()}


def example(tool: str, own: Sequence[str], exemplars: Exemplars, learned: Plans) -> str | None:
    """A short request that is known to call this tool alone, or first: one of three words or more before shorter ones,
    which tell little, and with words of its `own` before others."""
    shown = []
    if learned.count:
        shown = [(plan.query, plan.calls) for plan in learned.plans if plan.query is not None]
    with suppress(BundleError):  # whoever prompts with these is told; an example is no reason to fail
        shown += [(each.query, tuple(call.tool for call in each.calls)) for each in exemplars.beginning(tool)]
    fit = [
        (len(calls), len(query.split()) < 3, not any(word in query.lower() for word in own), len(query), query)
        for query, calls in shown
        if calls[:1] == (tool,) and len(query) <= SHORT
    ]
    return min(fit)[-1] if fit else None
