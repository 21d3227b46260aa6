"""How much a request wants each tool, whenever it is due: hybrid search, by vectors and words. Knows nothing of text,
of order and of what was called."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
from numpy.typing import NDArray

from edgeret.types import SEGMENTS
from edgeret_export.reference.scoring.examples import Examples
from edgeret_export.reference.scoring.prior import ASKED, COSINE, SAID, Evidence, PriorWeights
from edgeret_export.reference.scoring.products import product

FOREIGN = 2.5
"""How many times examples count for a text in another language than English, in which tools are described: their words
say little of it."""


def features(evidence: Evidence, similar: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The evidence for each of the tools with these unit `vectors` (n, dimension), by the names of `SearchWeights`:
    float32 (weights, n). All but the clauses' are at most 10; what leads lies at most at 0. `similar` (2, n) are the
    shares of the name and of the request that their words mean, in place of those that they have in common."""
    shared, n_windows = evidence.shared, evidence.passages.n_windows
    cosines = product(evidence.passages.vectors[1 + SEGMENTS :], vectors)
    return np.stack(
        (
            COSINE * cosines[:n_windows].max(axis=0),
            COSINE * _lead(cosines[n_windows:]),
            similar[0],
            similar[1],
            shared.text,
            shared.parameters,
        )
    )


def relevance(
    evidence: Evidence,
    similar: NDArray[np.float32],
    vectors: NDArray[np.float32],
    weights: PriorWeights,
    examples: Examples | None = None,
    foreign: bool = False,
) -> NDArray[np.float32]:
    """The tools' scores (n,), right up to a constant: a softmax of them shares out what the request wants. `examples`
    are what the tools show, where any does, and `foreign` says that the text is in another language than they."""
    search = np.array(astuple(weights.search), np.float32)
    scores: NDArray[np.float32] = search @ features(evidence, similar, vectors)
    if evidence.values is not None:
        scores += evidence.values.weighed(weights.values)
    if evidence.opposed is not None:
        scores += np.array((weights.tool.opposed, weights.tool.agrees), np.float32) @ evidence.opposed
    if evidence.changing is not None:
        scores -= np.float32(ASKED) * evidence.changing
    if examples is not None:
        rows = evidence.passages
        own = product(np.vstack((rows.vectors[:1], rows.clauses)), vectors).max(axis=0)
        scores += np.float32(FOREIGN if foreign else 1) * examples.gained(rows, own)
    scores[list(evidence.shared.said)] += np.float32(SAID)
    return scores


def _lead(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    """How near each tool comes to leading in some row (rows, n): 0 where it is the best of one, float32 (n,). So a tool
    that one part of a request is all about counts as much as one that the whole of it resembles."""
    behind: NDArray[np.float32] = (cosines - cosines.max(axis=1, keepdims=True)).max(axis=0)
    return behind
