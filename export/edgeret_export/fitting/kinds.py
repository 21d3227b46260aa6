"""Folds that leave out whole kinds of requests that no tool fits. Knows nothing of tools."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

KINDS = 12
"""Of requests that no tool fits. Twelve of the desktop example's 640 share a subject: cooking, payments, devices."""
FEWEST = 100
"""Such requests from which on there are kinds; of fewer each would be a handful."""
MOST_SEEN = 20_000
"""Such requests that kinds are found in; with more these are a sample, and all others go to the nearest kind."""


def leave_kinds_out(
    folds: NDArray[np.intp], vectors: NDArray[np.float32], none_fits: NDArray[np.bool_], seed: int
) -> NDArray[np.intp]:
    """The folds (plans,), with requests that no tool fits (plans,) moved so that those with like `vectors` (plans,
    dimension) share one; as they are where such requests are few.

    Users wish for what nobody thought of. Folds at random ask only about kinds that the other folds demonstrate, where
    a table of token vectors seems to know as well as a large encoder that nothing fits, and it does not.
    """
    rows = np.flatnonzero(none_fits)
    if len(rows) < FEWEST:
        return folds
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(seed)
    seen = rows if len(rows) <= MOST_SEEN else np.sort(rng.choice(rows, MOST_SEEN, replace=False))
    with threadpool_limits(1):  # several threads add floats in any order
        kinds = KMeans(KINDS, n_init=1, random_state=seed).fit(vectors[seen]).predict(vectors[rows])
    sizes = np.bincount(kinds, minlength=KINDS)
    fold_of, held = np.zeros(KINDS, np.intp), np.zeros(folds.max() + 1, np.intp)
    for kind in np.argsort(-sizes, kind="stable").tolist():
        fold_of[kind] = held.argmin()
        held[fold_of[kind]] += sizes[kind]
    moved = folds.copy()
    moved[rows] = fold_of[kinds]
    return moved
