"""Distributions to Decision: fusion, calibration, abstention. Knows nothing of text, vectors or files.

Heads rank; whether anything fits at all is asked separately, since the best of bad candidates still ranks first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from edgeret.codec import get, get_array
from edgeret.errors import BundleError
from edgeret.types import END

PolicyName = Literal["auto", "heads", "planner"]
POLICIES: tuple[PolicyName, ...] = ("auto", "heads", "planner")
_FLOOR = 1e-12


@dataclass(frozen=True, slots=True)
class PolicyParameters:
    """Everything that was fitted on held-out demonstrations.

    Fusion: log p = `head_weight`·log p_head + `graph_weight`·log p_graph (+ const). A tool without demonstrations
    gets `novel_slope`·cos + `novel_bias` − `novel_called`·[called already] instead. `knots` (n, 2) map the fused
    confidence to the calibrated one. A query whose cosine to the nearest cluster is below `familiar_cosine` is unlike
    anything demonstrated; description search then decides, right with probability
    sigmoid(`search_slope`·cos + `search_bias`). Below `min_probability` edgeret abstains.
    """

    head_weight: float = 0.8
    graph_weight: float = 0.2
    novel_slope: float = 14.0
    novel_bias: float = -10.0
    novel_called: float = 6.0
    familiar_cosine: float = -1.0
    search_slope: float = 10.0
    search_bias: float = -5.0
    min_probability: float = 0.2
    knots: tuple[tuple[float, float], ...] = ((0.0, 0.0), (1.0, 1.0))

    def to_dict(self) -> dict[str, Any]:
        """The parameters as plain data for the manifest; `knots` as an array."""
        return {**asdict(self), "knots": np.array(self.knots, np.float32)}

    @staticmethod
    def from_dict(value: Mapping[str, Any], where: str) -> PolicyParameters:
        """Reads them back. Raises BundleError when one is missing or of another type."""
        numbers = {
            name: float(get(value, name, (int, float), where)) for name in PolicyParameters.__slots__ if name != "knots"
        }
        knots = get_array(value, "knots", "<f4", (None, 2), where)
        rising = len(knots) >= 2 and bool((np.diff(knots[:, 0]) > 0).all() and (np.diff(knots[:, 1]) >= 0).all())
        if not rising or knots.min() < 0 or knots.max() > 1:
            raise BundleError(f"{where}: the calibration map does not rise from 0 to 1; build the bundle again")
        return PolicyParameters(**numbers, knots=tuple((float(x), float(y)) for x, y in knots))


class Policy:
    """Fuses, calibrates and decides. Immutable and thread-safe."""

    def __init__(self, parameters: PolicyParameters) -> None:
        self.parameters = parameters
        knots = np.array(parameters.knots, np.float64)
        self._x, self._y = knots[:, 0].copy(), knots[:, 1].copy()

    def fuse(
        self,
        head: NDArray[np.float32],
        graph: NDArray[np.float32],
        novel: NDArray[np.float32] | None = None,
        novel_called: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.float32]:
        """Calibrated probabilities over labels, then novel tools: float32 (labels + novel,), summing to 1.

        `head` are logits or log-probabilities and `graph` probabilities, both (labels,); `novel` are the cosines
        (novel,) of the tools without demonstrations and `novel_called` marks those that the history holds.
        """
        p = self.parameters
        fused = np.log(graph + np.float32(_FLOOR))
        fused *= np.float32(p.graph_weight)
        fused += np.float32(p.head_weight) * head
        fused -= fused.max()
        np.exp(fused, out=fused)
        fused /= fused.sum()
        if novel is not None and len(novel):
            # The labels' share is normalised by now, so that a fixed bias means the same for every query.
            scores = np.float32(p.novel_slope) * novel + np.float32(p.novel_bias)
            if novel_called is not None:
                scores = scores - np.float32(p.novel_called) * novel_called
            fused = np.concatenate((fused, np.exp(np.minimum(scores, np.float32(80)))))
            fused /= fused.sum()
        return self.calibrate(fused)

    def calibrate(self, probabilities: NDArray[np.float32]) -> NDArray[np.float32]:
        """Maps the largest probability through the calibration and scales the rest to fill up to 1, in place.

        The ranking stays as it is: the largest never falls below the runner-up.
        """
        top = int(probabilities.argmax())
        target = float(np.interp(probabilities[top], self._x, self._y))
        if len(probabilities) == 1:
            return probabilities
        probabilities[top] = 0.0
        # Summed, and not 1 - confidence: near certainty that difference has no digits left.
        rest = float(probabilities.sum(dtype=np.float64))
        if rest < 1e-30:
            probabilities += np.float32(1e-30)
            probabilities[top] = 0.0
            rest = 1e-30 * (len(probabilities) - 1)
        runner_up = float(probabilities.max()) / rest
        target = max(target, runner_up / (1.0 + runner_up) + 1e-6)  # where both would be equal
        probabilities *= np.float32((1.0 - target) / rest)
        probabilities[top] = target
        return probabilities

    def familiar(self, similarity: float) -> bool:
        """Whether a query with this cosine to its nearest cluster resembles the demonstrations."""
        return similarity >= self.parameters.familiar_cosine

    def search_confidence(self, similarity: float) -> float:
        """Probability that the tool found by its description, at this cosine, is the right one."""
        p = self.parameters
        return float(1.0 / (1.0 + np.exp(-(p.search_slope * similarity + p.search_bias))))

    def refusal(self, best: str, probability: float, first_step: bool, min_probability: float | None) -> str | None:
        """Why edgeret abstains from `best`, or None if it does not."""
        if first_step and best == END:
            return "no tool fits: requests like this one were solved by calling nothing"
        floor = self.parameters.min_probability if min_probability is None else min_probability
        if probability < floor:
            return f"unsure: the best candidate, {best}, has probability {probability:.3f}, below {floor:.3f}"
        return None
