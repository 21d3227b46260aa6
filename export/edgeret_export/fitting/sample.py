"""Which plans heads are fitted and judged on, where demonstrations are very many. Fits nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeret_export.fitting.decisions import Decisions

MOST_PLANS = 50_000
"""Demonstrations that heads are fitted and judged on; of more, so many are drawn, while the graph counts all. Beside
its vector a plan takes 10 kB, and 4 ms of every fit (docs/decisions)."""
OF_EVERY_LABEL = 10
"""Plans that a label keeps at least, or all that it has: a head that never saw a tool would hold it for impossible."""


def sample_plans(decisions: Decisions, plans: int, seed: int) -> NDArray[np.bool_] | None:
    """The plans that heads see, bool (plans,), at most MOST_PLANS unless labels need more; None where that is all of
    them. The same seed draws the same plans."""
    if plans <= MOST_PLANS:
        return None
    rank = np.random.default_rng(seed).permutation(plans)
    of_label = np.unique(np.stack((decisions.target_label, rank[decisions.plan[decisions.target_row]])), axis=1)
    label, ranks = of_label  # sorted by label, then by rank
    first = np.flatnonzero(np.diff(label, prepend=-1))
    needed = np.zeros(plans, bool)
    needed[ranks[np.arange(len(label)) - np.repeat(first, np.diff(first, append=len(label))) < OF_EVERY_LABEL]] = True
    # Those first, and then the others as they were drawn.
    order = np.argsort(~needed, kind="stable")[: max(MOST_PLANS, int(needed.sum()))]
    chosen = np.zeros(plans, bool)
    chosen[order] = True
    return chosen[rank]
