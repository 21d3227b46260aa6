"""Why a decision came out as it did: the numbers, and a few lines that say them. Knows nothing of how anything is
scored, and decides nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import log
from typing import Protocol

from edgeret.core.explained import Explained
from edgeret.errors import InputError
from edgeret.quoting import quoted
from edgeret.runtime.options import DecideOptions
from edgeret.runtime.saved import find_tool
from edgeret.types import END, Candidate, Decision, Explanation, Remedy, Tool, Vote

SHOWN = 0.5
"""What the head must give `<end>` before any call to be told of."""
PULLS = 0.1
"""Nats from which on a part is said to have pulled."""


class Then(Protocol):
    """What was known when a decision was made."""

    options: DecideOptions

    @property
    def query(self) -> str:
        """The user's words."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """All tools that there were, by name."""

    @property
    def advice(self) -> float:
        """What a planner's advice weighs."""

    def candidates(self, k: int | None) -> tuple[Candidate, ...]:
        """The `k` most probable ones, before any advice."""

    def explained(self, compared: Sequence[str], end: float) -> Explained:
        """What the parts say of these candidates; `end` is the end's probability."""

    def floor(self, best: str) -> float:
        """How probable this answer had to be."""

    def remedies(self, tool: str) -> tuple[Remedy, ...]:
        """What would turn it to this tool."""


def explain(then: Then, decision: Decision, instead: str | None) -> Explanation:
    """As `Decision.explain`."""
    before = dict(then.candidates(None))
    # What a planner advised stands in the candidates alone.
    shares = before | dict(decision.candidates)
    compared = _compared(decision, shares, instead, then.tools)
    told = then.explained(compared, shares.get(END, 0.0))
    floor = then.floor(next(iter(before))) if then.options.policy == "auto" else None
    found = Explanation(
        query=then.query,
        tool=decision.tool,
        reason=decision.reason,
        probabilities={name: shares.get(name, 0.0) for name in compared},
        votes=(*told.votes, *_advice(decision, then.advice, before, shares, compared)),
        words=told.words,
        demonstrations=told.demonstrations,
        similarity=told.similarity,
        cluster=told.cluster,
        floor=floor,
        remedies=then.remedies(_to_turn(decision, compared, instead)),
        lines=(),
    )
    return replace(found, lines=tuple(_lines(found)))


def _compared(
    decision: Decision, shares: Mapping[str, float], instead: str | None, tools: Mapping[str, Tool]
) -> list[str]:
    """The best candidate, its rival, and `<end>`; where that is one of both, the best tool beside. Raises InputError
    for a rival that could not be chosen."""
    best = decision.candidates[0].tool
    if instead is not None and instead != END:
        find_tool(tools, instead)
    if instead is not None and instead not in shares:
        raise InputError(
            f"{quoted(instead)} could not be chosen then: it had failed, or was not among the tools given or found"
        )
    others = [name for name in shares if name != best]
    first = others[:1] if instead in (None, best) else [str(instead)]
    further = [name for name in others if name != END][:1]
    return list(dict.fromkeys((best, *first, *([END] if END in shares else ()), *further)))[:3]


def _advice(
    decision: Decision,
    weight: float,
    before: Mapping[str, float],
    after: Mapping[str, float],
    compared: Sequence[str],
) -> Iterator[Vote]:
    """What a planner's advice did, whose own probabilities nobody keeps."""
    if decision.source == "planner":
        numbers = [shares.get(name, 0.0) for name in compared[:2] for shares in (after, before)]
        pull = None
        if len(numbers) == 4 and min(numbers) > 0:
            pull = log(numbers[0] / numbers[1]) - log(numbers[2] / numbers[3])
        yield Vote("planner", weight, dict.fromkeys(compared), pull)


def _to_turn(decision: Decision, compared: Sequence[str], instead: str | None) -> str:
    """Whom remedies are tried for: who was asked about, or the tool that came next to being chosen."""
    best, *others = compared
    if instead is not None:
        return instead
    if decision.abstained and best != END:
        return best
    return next((name for name in others if name != END), END)


def _lines(found: Explanation) -> Iterator[str]:
    """The explanation in words, a line each."""
    (best, most), *others = found.probabilities.items()
    told = f"{found.tool} with {most:.3f}" if found.tool else f"no tool; the best candidate, {best}, has {most:.3f}"
    yield f"Decided: {told}: {found.reason}."
    if others:
        rival, less = others[0]
        times = f"{most / less:.3g} times less likely" if less > 0 else "out of the question"
        further = "".join(f"; {name} with {share:.3f}" for name, share in others[1:])
        yield f"Against it: {rival} with {less:.3f}, {times}{_needed(most, less)}{further}."
        yield f"What told {best} from {rival}, in nats: {_pulled(found.votes, None) or 'hardly anything'}."
    yield from _lines_of_nothing(found.votes)
    yield from _lines_of_words(found.words)
    yield from _lines_of_demonstrations(found)
    if found.floor is not None:
        below = "below" if most < found.floor else "above"
        yield f"The floor: edgeret declines below {found.floor:.3f}, and {most:.3f} is {below} it."
    for remedy in found.remedies:
        how = f"The request quoted in the description of {remedy.tool}"
        if remedy.kind == "learn":
            how = f"One plan learned that {'calls no more' if remedy.tool == END else f'next calls {remedy.tool}'}"
        turns = "it would be chosen" if remedy.turns else "that would not be enough"
        yield f"{how} would give it {remedy.probability:.3f}: {turns}."


def _lines_of_nothing(said: Sequence[Vote]) -> Iterator[str]:
    """What speaks of whether nothing fits, before any call."""
    shares = {vote.part: vote.probabilities.get(END) or 0.0 for vote in said}
    if "familiarity" in shares:
        far, words, shown = shares["familiarity"], shares["prior"], shares.get("head", 0.0)
        told = f", {shown:.3f} by requests that were shown to need no tool" if shown > SHOWN else ""
        yield f"That nothing fits: {far:.3f} by how far demonstrations are, {words:.3f} by the tools' own words{told}."


def _needed(most: float, less: float) -> str:
    return f": with {log(most / less):.1f} nats more it would come first" if most > less > 0 else ""


def _pulled(said: Sequence[Vote], within: str | None) -> str:
    """The parts that pulled, and in brackets what each is made of."""
    parts, told = {vote.part for vote in said}, []
    for vote in said:
        if vote.within == within or (within is None and vote.within not in parts):
            made_of = _pulled(said, vote.part)
            if vote.pull is not None and (made_of or abs(vote.pull) >= PULLS):
                told.append(f"{vote.part} {vote.pull + 0.0:+.1f}" + (f" (of it {made_of})" if made_of else ""))
    return ", ".join(told)


def _lines_of_words(words: Mapping[str, Sequence[str]]) -> Iterator[str]:
    told = [f"{name} has {_listed(said)}" for name, said in words.items() if name]
    strange = words.get("", ())
    if told:
        yield f"Words: {'; '.join(told)}" + (f"; no tool has {_listed(strange)}." if strange else ".")


def _lines_of_demonstrations(found: Explanation) -> Iterator[str]:
    for one in found.demonstrations:
        what = quoted(one.query) if one.query else "a request"
        calls, where = " then ".join(one.calls) or "nothing", "learned here" if one.learned else "demonstrated"
        yield f"Near: {what}, {where}, cosine {one.cosine:.2f}, calls {calls}."
    if found.similarity is not None and not found.demonstrations:
        mostly = ", ".join(f"{name} {share:.2f}" for name, share in found.cluster.items())
        yield f"Near: demonstrations like it (cosine {found.similarity:.2f} to their mean) next call {mostly}."


def _listed(words: Sequence[str]) -> str:
    return ", ".join(quoted(word) for word in words) or "none of them"
