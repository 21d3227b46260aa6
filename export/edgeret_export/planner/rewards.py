"""ToolQP's reward (paper 000, appendix D.4), term by term. Pure functions; knows nothing of models and searches.

R = 5.0 · ΔnDCG@5 + 2.5 · Δrecall@5 + 1.5 · format + 0.6 · stop + 1.0 · similarity(plan, reference).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass

from edgeret.strategies.fusion import peak_rank
from edgeret.types import Hit

CUT = 5
"""Tools that count, from the first."""
WEIGHTS: Mapping[str, float] = {"ndcg": 5.0, "recall": 2.5, "format": 1.5, "stop": 0.6, "plan": 1.0}
"""Of the terms."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What an answer is worth, before the weights: `ndcg` and `recall` are differences in [-1, 1], `format` and `stop`
    0 or 1, `plan` a cosine. The default is what no answer is worth."""

    ndcg: float = 0.0
    recall: float = 0.0
    format: float = 0.0
    stop: float = 0.0
    plan: float = 0.0

    @property
    def total(self) -> float:
        """The reward."""
        return math.fsum(WEIGHTS[name] * value for name, value in asdict(self).items())


def ndcg(ranking: Sequence[str], relevant: Collection[str]) -> float:
    """nDCG@5 of a ranking without repetitions, best first. `relevant` is not empty."""
    gained = sum(1 / math.log2(place + 2) for place, tool in enumerate(ranking[:CUT]) if tool in relevant)
    return gained / sum(1 / math.log2(place + 2) for place in range(min(len(relevant), CUT)))


def recall(ranking: Sequence[str], relevant: Collection[str]) -> float:
    """Recall@5 of a ranking without repetitions. `relevant` is not empty."""
    return sum(tool in relevant for tool in ranking[:CUT]) / len(relevant)


def gains(
    before: Sequence[Sequence[Hit]], more: Sequence[Sequence[Hit]], relevant: Collection[str]
) -> tuple[float, float]:
    """What rankings add to those before: the differences of nDCG@5 and of recall@5 of the ranking that is joined of
    them by peak rank. `before` is not empty."""
    old, new = ([hit.tool for hit in peak_rank(rankings)] for rankings in (before, [*before, *more]))
    return ndcg(new, relevant) - ndcg(old, relevant), recall(new, relevant) - recall(old, relevant)


def stop_reward(stopped: bool, complete: bool) -> float:
    """1 for a search that stops where every sub-goal has its tools, or goes on where one is missing.

    The paper rewards a whole search for its stop. Turn by turn, that would teach to stop at once.
    """
    return float(stopped == complete)
