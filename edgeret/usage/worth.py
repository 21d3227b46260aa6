"""What to demonstrate next: the few requests whose plans would mend most of what went wrong. Knows nothing of encoders:
words tell which requests are alike, and nothing but the log is needed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.records import dataclass
from edgeret.usage.read import Asked
from edgeret.usage.redaction import WITHHELD

MOST_REQUESTS, MOST_TERMS = 2_000, 8_000
"""Requests that are compared, the latest ones, each with each; and what they say most, of words and pairs of words."""
ALONE = 0.25
"""What two requests have in common that miss the same tool, whatever their words are."""
_WORD = re.compile(r"\[\w+\]|\w+")


@dataclass(frozen=True, slots=True)
class Worth:
    """A request to demonstrate: its words, the plan that its user took, the tools in it that were missed, what was
    decided instead of the first of them, how many wrong decisions are like its own, and the share of all wrong ones
    that this and those named before it stand for."""

    query: str
    calls: tuple[str, ...]
    missed: tuple[str, ...]
    decided: str | None
    like: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}


def worth_most(asked: Sequence[Asked], most: int = 10) -> list[Worth]:
    """At most so many requests, the one that is worth most first; those with words whose plan is known and in which
    something was decided wrong. Each one counts for what those before it do not stand for."""
    usable = [one for one in asked if one.query not in (None, WITHHELD) and one.plan and one.ended and _missed(one)]
    usable = usable[-MOST_REQUESTS:]
    wrong = [(place, tool) for place, one in enumerate(usable) for tool in _missed(one)]
    if not wrong:
        return []
    alike = _alike([str(one.query) for one in usable])
    columns = np.array([place for place, _ in wrong])
    plans = [set(_missed(one)) for one in usable]
    tools = {tool: np.array([tool in plan for plan in plans]) for tool in {tool for _, tool in wrong}}
    serves = np.stack([tools[tool] for _, tool in wrong], axis=1)
    # gains[i, j]: how much of wrong decision j a demonstration of request i mends.
    gains = np.where(serves, ALONE + (1 - ALONE) * alike[:, columns], 0.0).astype(np.float32)
    stood, found, taken = np.zeros(len(wrong), np.float32), [], set()
    for _ in range(min(most, len(usable))):
        more = np.maximum(gains - stood, 0).sum(axis=1)
        more[[place for place, one in enumerate(usable) if one.query in taken]] = -1
        best = int(more.argmax())
        if more[best] <= 0:
            break
        one = usable[best]
        taken.add(one.query)
        like = int(np.count_nonzero(gains[best] > stood))
        stood = np.maximum(stood, gains[best])
        missed = _missed(one)
        first = next(step for step in one.steps.values() if step.answer == "corrected")
        share = float(stood.sum() / len(wrong))
        found.append(Worth(str(one.query), one.plan or (), missed, first.tool, like, round(share, 4)))
    return found


def _missed(asked: Asked) -> tuple[str, ...]:
    """The tools that users called where another one, or none, had been decided."""
    return tuple(str(step.called) for step in asked.steps.values() if step.answer == "corrected")


def _alike(texts: Sequence[str]) -> NDArray[np.float32]:
    """Cosines of texts by their words and pairs of words, rare ones counting more: float32 (texts, texts)."""
    bags = [_bag(text) for text in texts]
    spread = Counter(term for bag in bags for term in set(bag))
    # Who says what nobody else says is alike to nobody, so these terms only take room.
    shared = [term for term, count in spread.most_common(MOST_TERMS) if count > 1]
    number = {term: i for i, term in enumerate(shared)}
    rows = np.zeros((len(texts), max(len(number), 1)), np.float32)
    for row, bag in zip(rows, bags, strict=True):
        for term in bag:
            if term in number:
                row[number[term]] += np.log(len(texts) / spread[term]) + 1
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.maximum(norms, 1e-9)
    found: NDArray[np.float32] = rows @ rows.T
    np.fill_diagonal(found, 1.0)
    return found


def _bag(text: str) -> list[str]:
    words = _WORD.findall(text.lower())
    return [*words, *(f"{a} {b}" for a, b in pairwise(words))]
