"""What a decision remembers of what had been learned when it was made. Knows nothing of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeret.scoring.experts import Query
from edgeret.scoring.learner import Learner
from edgeret.scoring.memory import Neighbours


class LearnedThen(NamedTuple):
    """A query by a `learner` that had `learned` so many plans over labels called `names`: the mixture's `weights` (3,),
    the query's `neighbours`, what the increments add to it (rows,), and how far all that was trusted, 0 to 1."""

    learner: Learner
    learned: int
    names: Sequence[str]
    weights: NDArray[np.float32]
    neighbours: Neighbours
    scores: NDArray[np.float32]
    trust: float


def then_of(learner: Learner, query: Query) -> LearnedThen | None:
    """What to remember of a query, without the arrays that serve its steps; None where nothing that was learned moves
    its decisions."""
    if learner.guard.muted or query.trust <= 0:
        return None
    weights = learner.mixture.weights
    return LearnedThen(learner, learner.learned, learner.names, weights, query.neighbours, query.scores, query.trust)
