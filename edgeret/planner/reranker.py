"""What the planner's word does to a ranking. Its worth was fitted on held-out demonstrations, and may be nothing.

Knows nothing of where a ranking came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeret.fields import get_number
from edgeret.planner.chat import Prompt
from edgeret.records import dataclass
from edgeret.types import Candidate, Usage

if TYPE_CHECKING:
    from edgeret.planner.model import Planner


UNMEASURED = 0.5
"""How sure a planner's arguments are where nobody measured it."""


@dataclass(frozen=True, slots=True)
class RerankParameters:
    """What the planner's word is worth, fitted on held-out decisions.

    log p = log p_heads + `weight`·s where heads decide too, log p = `scale`·s where the planner decides alone, with s
    the mean log-likelihood of an answer's tokens. `ask_below`: the heads' confidence from which they are not asked.
    `filling`: the share of right ones among the arguments that it gave where none was read; 0: it is not asked for any.
    """

    weight: float = 0.0
    scale: float = 1.0
    ask_below: float = 0.0
    filling: float = UNMEASURED

    def to_dict(self) -> dict[str, float]:
        """The parameters as plain data."""
        return asdict(self)

    @staticmethod
    def from_dict(value: Mapping[str, Any], where: str) -> RerankParameters:
        """Reads them back. Raises BundleError."""
        return RerankParameters(
            weight=get_number(value, "weight", 0.0, 1e3, where),
            scale=get_number(value, "scale", 0.0, 1e3, where),
            ask_below=get_number(value, "ask_below", 0.0, 1.0, where),
            filling=get_number({"filling": UNMEASURED, **value}, "filling", 0.0, 1.0, where),
        )


def rerank(
    planner: Planner,
    prompt: Prompt,
    candidates: Sequence[Candidate],
    parameters: RerankParameters,
    alone: bool,
    deadline: float = inf,
) -> tuple[list[Candidate], Usage]:
    """The candidates with their probabilities after the planner was asked, most probable first, and what that cost.
    `alone`: by the planner's word only. Raises PlannerError, and BusyError where there is no time for it before the
    `deadline` (of `time.perf_counter`).
    """
    scores = planner.score(prompt, [candidate.tool for candidate in candidates], deadline)
    likelihood = scores.log_likelihood / scores.lengths
    before = np.array([candidate.probability for candidate in candidates])
    if alone:
        logits = parameters.scale * likelihood
    else:
        logits = np.log(np.maximum(before, 1e-12)) + parameters.weight * likelihood
    shares = np.exp(logits - logits.max())
    # What lies outside the mask was not asked about and stays. Candidates found by description are judged one by
    # one and may have more than 1 between them; weighed against each other, they share it.
    shares *= min(1.0, before.sum()) / shares.sum()
    order = np.argsort(-shares, kind="stable")
    return [Candidate(candidates[i].tool, float(shares[i])) for i in order], scores.usage
