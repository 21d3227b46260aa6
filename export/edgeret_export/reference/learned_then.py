"""What a decision remembers of what had been learned when it was made. Knows nothing of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.scoring.experts import Query
from edgeret_export.reference.scoring.learner import Learner
from edgeret_export.reference.scoring.memory import Neighbours


class LearnedThen(NamedTuple):
    """A query by a `learner` that had `learned` so many plans over labels called `names`: the mixture's `weights` (3,),
    the query's `neighbours` and the cosine of the `nearest` that calls a tool, None for none; what the increments add
    to it (rows,), and how far all that was trusted, 0 to 1."""

    learner: Learner
    learned: int
    names: Sequence[str]
    weights: NDArray[np.float32]
    neighbours: Neighbours
    nearest: float | None
    scores: NDArray[np.float32]
    trust: float


def then_of(learner: Learner, query: Query, nearest: float | None) -> LearnedThen | None:
    """What to remember of a query, without the arrays that serve its steps; None where nothing that was learned moves
    its decisions."""
    if learner.guard.muted or query.trust <= 0:
        return None
    so_far = learner, learner.learned, learner.names
    return LearnedThen(*so_far, learner.mixture.weights, query.neighbours, nearest, query.scores, query.trust)
