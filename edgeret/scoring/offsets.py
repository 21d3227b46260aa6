"""The base's log-probabilities of a plan's steps, kept short for replay. Knows nothing of who learns from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KEPT = 8
"""Labels that are kept of every step. 16 were 0.001 better, within noise, for another 0.5 MB at 10,000 steps."""
LEAST_LOG = np.float32(-30.0)
"""What less probable candidates are taken to be, so that a weight times a logarithm stays finite."""
LEAST_REST = 1e-4
"""What all labels that were not kept have together, at least."""


@dataclass(frozen=True, slots=True)
class Offsets:
    """The most probable labels of every step of a plan, and their log-probabilities: both (steps, KEPT).

    Label -1 stands for none. What is missing to 1 belongs to all other labels alike.
    """

    labels: NDArray[np.int32]
    log_p: NDArray[np.float16]

    def probabilities(self) -> NDArray[np.float32]:
        """Of the labels, float32 (steps, KEPT), 0 for none."""
        return np.where(self.labels >= 0, np.exp(self.log_p.astype(np.float32)), np.float32(0))

    def dense(self, labels: int) -> NDArray[np.float32]:
        """Log-probabilities of all labels: float32 (steps, labels)."""
        kept = self.log_p.astype(np.float32)
        known = self.labels >= 0
        rest = np.maximum(1 - np.exp(kept).sum(axis=1, where=known), LEAST_REST) / labels
        log_p = np.empty((len(kept), labels), np.float32)
        log_p[:] = np.log(rest)[:, None]
        step, place = known.nonzero()
        log_p[step, self.labels[step, place]] = kept[step, place]
        return log_p


def keep(log_p: NDArray[np.float32], positions: NDArray[np.int64], targets: Sequence[int]) -> Offsets:
    """What is kept of log-probabilities (steps, n) of candidates that labels stand for (names,), -1 for none: the most
    probable ones, and what was right at every step, `targets`."""
    labels_at = np.full(log_p.shape[1], -1, np.int32)
    here = np.flatnonzero(positions >= 0)
    labels_at[positions[here]] = here
    steps, candidates = log_p.shape
    kept = min(KEPT, candidates)
    top = np.argpartition(log_p, candidates - kept, axis=1)[:, candidates - kept :]
    right = positions[np.array(targets)]
    lacking = np.flatnonzero((top != right[:, None]).all(axis=1))
    top[lacking, 0] = right[lacking]  # argpartition puts the least of them first
    labels = np.full((steps, KEPT), -1, np.int32)
    labels[:, :kept] = labels_at[top]
    short = np.full((steps, KEPT), LEAST_LOG, np.float16)
    short[:, :kept] = np.maximum(np.take_along_axis(log_p, top, axis=1), LEAST_LOG)
    return Offsets(labels, short)
