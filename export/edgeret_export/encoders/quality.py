"""What an encoder finds in a tool set: nDCG@5 of search with the whole request, and with its clauses. Knows nothing of
how the encoder came about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.inputs.tool_text import tool_text
from edgeret.strategies.base import DEPTH
from edgeret.strategies.clauses import MAX_CLAUSES
from edgeret.strategies.fusion import peak_rank
from edgeret.types import Hit
from edgeret_export.encoders.pairs import TOOL_FORM, ToolSet, Vectors
from edgeret_export.encoders.parity import ndcg5
from edgeret_export.encoders.questions import sample
from edgeret_export.reference.inputs.clauses import split_clauses


class Examination:
    """The requests of a set, at most 1,024 of them evenly spaced, that call something."""

    def __init__(self, tool_set: ToolSet) -> None:
        position = {tool.name: i for i, tool in enumerate(tool_set.tools)}
        solved = [d for d in tool_set.demonstrations if d.calls]
        chosen = [solved[i] for i in sample(len(solved))] if solved else []
        self.name = tool_set.name
        self._tools = [tool_text(tool, TOOL_FORM) for tool in tool_set.tools]
        self._relevant = [frozenset(position[call.tool] for call in d.calls) for d in chosen]
        self._views = [(d.query, *split_clauses(d.query)[:MAX_CLAUSES]) for d in chosen]

    def measure(self, vectors: Vectors) -> dict[str, float]:
        """nDCG@5, means over the requests, of `dense` search and of the `clauses` strategy."""
        texts = list(dict.fromkeys(text for views in self._views for text in views))
        row = {text: i for i, text in enumerate(texts)}
        scores = vectors.queries(texts) @ vectors.tools(self._tools).T
        dense = scores[[row[views[0]] for views in self._views]]
        clauses = np.stack([_fused(scores[[row[text] for text in views]]) for views in self._views])
        return {
            "dense": round(float(ndcg5(dense, self._relevant).mean()), 6),
            "clauses": round(float(ndcg5(clauses, self._relevant).mean()), 6),
        }


def _fused(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the clauses strategy makes of the views' scores (views, tools): the negative rank of each tool, float32
    (tools,), minus infinity where no view ranks it."""
    rankings = []
    for row in scores:
        top = np.argsort(-row, kind="stable")[:DEPTH].tolist()
        rankings.append([Hit(str(tool), float(row[tool])) for tool in top])
    fused = np.full(scores.shape[1], -np.inf, np.float32)
    for rank, hit in enumerate(peak_rank(rankings)):
        fused[int(hit.tool)] = -rank
    return fused


def mean_of(figures: Sequence[dict[str, float]]) -> float:
    """One figure for several sets: the mean over sets and both ways to search."""
    return float(np.mean([list(found.values()) for found in figures]))
