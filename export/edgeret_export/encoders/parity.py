"""The parity gate: an exported encoder must give its fp32 original's vectors, and find the same tools.

It refuses what is shown, not what is found: with a hundred queries, nDCG@5 moves by more than its limit by chance. What
shows nothing either way is asked more. The original here is the fp32 export, which `original` compares with torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import MIN_COSINE
from edgeret_export.encoders.bound import CONFIDENCE, lower_bound, share_exceeds, upper_bound
from edgeret_export.encoders.questions import LOOKS, Questions

MAX_NDCG_LOSS = 0.005
MAX_SHARE_BELOW = 0.05
"""Of texts whose cosine is below MIN_COSINE. The least of thousands of cosines says how many texts there were. Faithful
int8 has none below (of 768 real texts the least was 0.9925), a damaged encoder nearly all."""


_AT_ONCE = 256

Found = tuple[NDArray[np.float32], NDArray[np.float32]]
"""What one encoder made of a group of questions, and of the tools: (texts, dimension) and (tools, dimension)."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """What one encoder made of all texts: of demonstrations' queries, of texts made from tools, and of the tools, each
    float32 (texts, dimension)."""

    requests: NDArray[np.float32]
    made: NDArray[np.float32]
    tools: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Loss:
    """nDCG@5 of both encoders, means over `observations`, and what the loss at least (`shown`) and `at_most` is."""

    observations: int
    ndcg5_reference: float
    ndcg5_exported: float
    shown: float
    at_most: float


@dataclass(frozen=True, slots=True)
class Parity:
    """What the gate measured: cosines of the export to its original over `texts`, how many are `below` the floor of
    `precision`, and what was lost on demonstrations' queries and on texts made from the tools. `size_mb` is in 10^6
    bytes, `time_ratio` the time of a text as a multiple of the original's."""

    precision: str
    size_mb: float
    time_ratio: float
    texts: int
    below: int
    cosine_mean: float
    cosine_min: float
    demonstrations: Loss
    tools: Loss

    def to_dict(self) -> dict[str, Any]:
        """The figures, rounded, for manifest and report; without the time, for a build gives the same bytes twice."""
        return {key: _rounded(value) for key, value in asdict(self).items() if key != "time_ratio"}

    def cost(self) -> str:
        """What the precision costs, for people."""
        return f"{self.precision}, {self.size_mb:.1f} MB, {self.time_ratio:.2f} times the time of fp32 a text"


def compare(
    precision: str,
    size: int,
    time_ratio: float,
    reference: Vectors,
    exported: Vectors,
    requests: Questions,
    made: Questions,
    *,
    own_tools: bool = True,
) -> Parity:
    """The figures of an export in `precision` of `size` bytes, which takes `time_ratio` times the original's time.

    Both `Vectors` belong to the questions, row by row. Without `own_tools` the exported tools' are another encoder's,
    and their cosines say nothing of this one.
    """
    pairs = (
        (reference.requests, exported.requests),
        (reference.made, exported.made),
        *([(reference.tools, exported.tools)] if own_tools else []),
    )
    cosines = np.concatenate([np.einsum("ij,ij->i", np.float64(a), np.float64(b)) for a, b in pairs])
    groups = sum(any(questions.relevant) for questions in (requests, made))
    return Parity(
        precision=precision,
        size_mb=size / 1e6,
        time_ratio=time_ratio,
        texts=len(cosines),
        below=int((cosines < MIN_COSINE[precision]).sum()),
        cosine_mean=float(cosines.mean()),
        cosine_min=float(cosines.min()),
        demonstrations=loss_of(
            requests, (reference.requests, reference.tools), (exported.requests, exported.tools), groups
        ),
        tools=loss_of(made, (reference.made, reference.tools), (exported.made, exported.tools), groups),
    )


def loss_of(questions: Questions, reference: Found, exported: Found, groups: int) -> Loss:
    """What one of so many `groups` of questions loses by the export."""
    before, after = (_ndcg5_of(found, questions.relevant) for found in (reference, exported))
    asked = ~np.isnan(before)
    if not asked.any():
        return Loss(0, 1.0, 1.0, 0.0, 0.0)
    _, observation = np.unique(questions.observation[asked], return_inverse=True)
    counts = np.bincount(observation)
    means = [np.bincount(observation, values[asked]) / counts for values in (before, after)]
    lost, looks = means[0] - means[1], 1 + sum(look < len(counts) for look in LOOKS[:-1])
    # Either group may refuse, at every look, so each gets its part of the error that all may make together.
    shown = lower_bound(lost, 1 - (1 - CONFIDENCE) / (max(1, groups) * looks))
    return Loss(len(counts), float(means[0].mean()), float(means[1].mean()), shown, upper_bound(lost))


def decided(loss: Loss) -> bool:
    """Whether more questions of this group could change nothing."""
    return loss.shown > MAX_NDCG_LOSS or loss.at_most <= MAX_NDCG_LOSS


def problems(parity: Parity) -> list[str]:
    """What the gate objects to, with the figures; none means that it passed."""
    floor = MIN_COSINE[parity.precision]
    found = []
    if share_exceeds(parity.below, parity.texts, MAX_SHARE_BELOW):
        found.append(
            f"{parity.below} of {parity.texts} texts have a cosine to the original below {floor} "
            f"(the least {parity.cosine_min:.5f}), at most {MAX_SHARE_BELOW:.0%} may"
        )
    for what, loss in (("demonstrations", parity.demonstrations), ("texts made from the tools", parity.tools)):
        if loss.shown > MAX_NDCG_LOSS:
            found.append(
                f"nDCG@5 fell from {loss.ndcg5_reference:.4f} to {loss.ndcg5_exported:.4f} on {loss.observations} "
                f"{what}, which shows a loss of {loss.shown:.4f} at least; at most {MAX_NDCG_LOSS} allowed"
            )
    return found


def ndcg5(scores: NDArray[np.float32], relevant: Sequence[frozenset[int]]) -> NDArray[np.float64]:
    """nDCG@5 of every row of scores (queries, tools) with the relevant tools' positions, float64 (queries,); nan where
    none is. Equal scores keep the tools' order."""
    # Tools with the same text have the same score up to rounding, and must not change places by it.
    top = np.argsort(-np.round(scores, 6), axis=1, kind="stable")[:, :5]
    discounts = 1 / np.log2(np.arange(2, 7))
    ideal = np.concatenate(([np.nan], np.cumsum(discounts)))
    gains = np.array(
        [
            sum(discounts[place] for place, tool in enumerate(row) if tool in tools)
            for row, tools in zip(top.tolist(), relevant, strict=True)
        ]
    )
    result: NDArray[np.float64] = gains / ideal[[min(len(tools), 5) for tools in relevant]]
    return result


def _ndcg5_of(found: Found, relevant: Sequence[frozenset[int]]) -> NDArray[np.float64]:
    """The same from the vectors, some queries at a time: of 44,000 tools the scores of 4,096 would fill 2 GB."""
    queries, tools = found
    parts = [
        ndcg5(queries[at : at + _AT_ONCE] @ tools.T, relevant[at : at + _AT_ONCE])
        for at in range(0, len(queries), _AT_ONCE)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return round(value, 6) if isinstance(value, float) else value
