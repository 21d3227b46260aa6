"""What a request says of its tools before any call, in numpy: where no library does it in one call (first.c). Knows
nothing of later steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.scoring.flow import Pairs
from edgeret_export.reference.scoring.prior import COSINE, Overlaps, Prior


def static_scores(
    prior: Prior,
    overlaps: Overlaps,
    window: NDArray[np.float32],
    clause: NDArray[np.float32],
    gives: Callable[[Pairs], NDArray[np.float32]],
) -> NDArray[np.float32]:
    """The part of the scores that no call changes, float32 (n,), 0 at `<end>`, without the tools said: from the best
    window's and the best clause's cosines (n,), and how much each tool `gives` to what is wanted."""
    weights = prior.weights.tool
    static: NDArray[np.float32] = np.float32(weights.name) * overlaps.name
    static += np.float32(weights.parameters) * overlaps.parameters
    static += np.float32(weights.coverage) * overlaps.coverage
    static += np.float32(weights.text) * overlaps.text
    static += np.float32(weights.window * COSINE) * window
    if weights.clause:
        static += np.float32(weights.clause * COSINE) * clause
    if prior.named.any:
        static += np.float32(weights.gives) * gives(prior.named)
    if prior.keyed.any:
        static += np.float32(weights.key_gives) * gives(prior.keyed)
    static[prior.end] = 0.0
    return static


def scores_before_any_call(
    prior: Prior,
    thirds: NDArray[np.float32],
    static: NDArray[np.float32],
    first_clause: NDArray[np.float32],
    window: NDArray[np.float32],
) -> NDArray[np.float32]:
    """The scores before any call, float32 (n,), as of all steps, without what only later ones need: nothing is behind
    the first clause, and all windows lie ahead. `thirds` are the cosines of the request's parts (SEGMENTS, n)."""
    weights = prior.weights.tool
    scores: NDArray[np.float32] = thirds[0] * np.float32(1.5)
    scores -= thirds.sum(axis=0) * np.float32(0.5)
    scores *= COSINE
    scores *= np.float32(weights.third)
    scores += static if prior.owed is None else static + prior.owed
    scores += np.float32(weights.next_clause * COSINE) * first_clause
    scores += np.float32(weights.later * COSINE) * window
    return scores
