"""The base's log-probabilities of a plan's steps, kept short for replay. Knows nothing of who learns from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.records import dataclass

KEPT = 8
"""Labels that are kept of every step. 16 were 0.001 better, within noise, for another 0.5 MB at 10,000 steps."""
LEAST_LOG = np.float32(-30.0)
"""What less probable candidates are taken to be, so that a weight times a logarithm stays finite."""
LEAST_REST = 1e-4
"""What all labels that were not kept have together, at least."""
LEAST = 1e-30
"""Keeps a logarithm and a quotient finite."""
_LEAST_REST, _LEAST_LOG = np.array(LEAST_REST, np.float32), np.array(LEAST_LOG)  # numpy takes arrays soonest


@dataclass(frozen=True, slots=True)
class Offsets:
    """The most probable labels of every step of a plan, and their log-probabilities: both (steps, KEPT).

    Label -1 stands for none, whose log-probability is LEAST_LOG. What is missing to 1 belongs to all labels alike.
    """

    labels: NDArray[np.int32]
    log_p: NDArray[np.float16]

    @staticmethod
    def of(labels: NDArray[np.int32], log_p: NDArray[np.float16]) -> Offsets:
        """Copies of arrays that somebody kept, whatever they say of none."""
        return Offsets(labels.copy(), np.where(labels < 0, LEAST_LOG, log_p).astype(np.float16))

    def shared(self, labels: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Probabilities of the labels, float32 (steps, KEPT), 0 for none, and what each of so many labels has that was
        not kept, (steps, 1)."""
        probabilities = np.exp(self.log_p, dtype=np.float32)
        rest = np.float32(1) - probabilities.sum(axis=1, keepdims=True)
        return probabilities, np.maximum(rest, _LEAST_REST, out=rest) / np.float32(labels)

    def dense(self, labels: int) -> NDArray[np.float32]:
        """Log-probabilities of all labels: float32 (steps, labels)."""
        _, rest = self.shared(labels)
        log_p = np.empty((len(rest), labels + 1), np.float32)  # the last is for none
        log_p[:] = np.log(rest)
        log_p[np.arange(len(rest))[:, None], self.labels] = self.log_p
        return log_p[:, :labels]


def joined(offsets: Sequence[Offsets]) -> Offsets:
    """The offsets of several plans, one behind the other."""
    if len(offsets) == 1:
        return offsets[0]
    return Offsets(np.concatenate([o.labels for o in offsets]), np.concatenate([o.log_p for o in offsets]))


def ordered(log_p: NDArray[np.float32]) -> NDArray[np.int64]:
    """All candidates of log-probabilities (steps, n) so that the most probable ones, KEPT if there are so many, are the
    last, and the least of these the first of them: their places, (steps, n)."""
    return log_p.argpartition(max(0, log_p.shape[1] - KEPT), axis=1)


def keep(log_p: NDArray[np.float32], positions: NDArray[np.int64], targets: Sequence[int]) -> Offsets:
    """What is kept of log-probabilities (steps, n) of candidates that labels stand for (names,), -1 for none: the most
    probable ones, and what was right at every step, `targets`."""
    steps, candidates = log_p.shape
    labels_at = np.full(candidates + 1, -1, np.int32)  # what stands nowhere is written to the end
    labels_at[positions] = np.arange(len(positions), dtype=np.int32)
    labels_at[candidates] = -1
    kept = min(KEPT, candidates)
    top = ordered(log_p)[:, candidates - kept :]
    right = positions.take(targets)
    for step, (place, found) in enumerate(zip(right.tolist(), top.tolist(), strict=True)):
        if place not in found:
            top[step, 0] = place
    labels = labels_at.take(top)
    short = np.maximum(log_p[np.arange(steps)[:, None], top], _LEAST_LOG).astype(np.float16)
    if kept < KEPT:
        lacking = ((0, 0), (0, KEPT - kept))
        labels, short = np.pad(labels, lacking, constant_values=-1), np.pad(short, lacking)
    short[labels < 0] = LEAST_LOG
    return Offsets(labels, short)
