"""What a learner makes of a query, kept as long as it has learned no more. Learns nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from edgeret.records import dataclass
from edgeret_export.reference.learned_then import LearnedThen
from edgeret_export.reference.scoring.experts import Query
from edgeret_export.reference.scoring.learner import Learner


@dataclass(frozen=True, slots=True)
class Known:
    """What a learner makes of a query, as long as it has learned no more: `nearest` is the cosine of the nearest stored
    plan that calls a tool, None for none; `then` what is worth remembering of it, None where nothing counts."""

    learner: Learner
    learned: int
    query: Query
    nearest: float | None
    then: LearnedThen | None


@dataclass(frozen=True, slots=True)
class Places:
    """Where a learner's `names` stand by a mapping: `found` (names,), -1 for nowhere. `complete` says whether all that
    the mapping holds are among them."""

    names: list[str]
    position: Mapping[str, int]
    found: NDArray[np.int64]
    complete: bool
