"""Online logistic regression over an offset: what is learned is added to the log-probabilities that were there.

Knows nothing of text, files, or where the offset comes from. A label has a row from when it was called, or taken to be
probable, for the first time: thousands of tools that nobody uses cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeret.scoring.offsets import LEAST_REST, Offsets

RATE = np.float32(3.0)
"""Step of a label: RATE / sqrt(sum of its squared residuals)."""
BIAS_RATE = np.float32(0.3)
"""The bias moves by this part of it."""
HISTORY = np.float32(0.5)
"""What a row of the history counts for, in what it adds and in how it moves."""
LEAST_RESIDUAL = 1e-3
"""Labels whose probability is off by less are left alone."""
COUNTS = 6
"""Numbers of calls made that are told apart; the last stands for all above."""
MAX_NORM = 20.0
"""Longest row, and largest other weight: whatever is shown a thousand times, the rows stay in this ball."""
MAX_SCORE = 20.0
"""What is learned moves a log-probability by at most this."""
DISCOUNT = 0.9995
"""Sums of squared residuals shrink by this at every plan, so that steps never get too small to unlearn a habit."""
MAX_ROWS = 512
"""Labels with a row. Rows of the history are as many squared: 2 MB at this bound."""
MAX_PROBABLE_ROWS = 320
"""From here on, only labels that are called get one."""
_HALVES = np.full(2 * MAX_ROWS, HISTORY)
_HIGHEST, _LOWEST = np.array(MAX_SCORE, np.float32), np.array(-MAX_SCORE, np.float32)  # numpy takes arrays soonest


@dataclass(frozen=True, slots=True)
class Lesson:
    """A plan to learn: the unit vector of its query (dimension,), what was called at every step, and its offsets.

    The history of step k is `targets[:k]`. `weight` in (0, 1] scales all that is learned from it.
    """

    vector: NDArray[np.float32]
    targets: Sequence[int]
    offsets: Offsets
    weight: float = 1.0


class Increments:
    """W·q + b + 0.5·(rows of the history), for labels that have a row. One thread at a time."""

    def __init__(self, dimension: int) -> None:
        """Adds nothing yet."""
        self.dimension = dimension
        self.rows = 0
        self.row_of: dict[int, int] = {}
        self.labels = np.zeros(8, np.int64)
        self.weights = np.zeros((8, dimension), np.float32)
        self.bias = np.zeros(8, np.float32)
        self.squares = np.zeros(8, np.float32)
        # A row for every feature: COUNTS, then two for every label, whether it was called and whether it was the last.
        self.history = np.zeros((COUNTS + 16, 8), np.float32)

    def allocate(self, label: int, demonstrations: int, called: bool) -> None:
        """Gives a label a row if it has none and there is room; the row moves the less, the more demonstrations of the
        label the offset was fitted on."""
        if label in self.row_of or self.rows >= (MAX_ROWS if called else MAX_PROBABLE_ROWS):
            return
        if self.rows == len(self.labels):
            more = self.rows
            for name in ("labels", "weights", "bias", "squares"):
                column = getattr(self, name)
                setattr(self, name, np.concatenate((column, np.zeros_like(column))))
            self.history = np.pad(self.history, ((0, 2 * more), (0, more)))
        self.row_of[label] = self.rows
        self.labels[self.rows] = label
        self.squares[self.rows] = 1.0 + demonstrations
        self.rows += 1

    def query_scores(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """W·q + b, float32 (rows,), of a query's unit vector: once a query."""
        scores: NDArray[np.float32] = self.weights[: self.rows] @ vector
        scores += self.bias[: self.rows]
        return scores

    def scores(self, query_scores: NDArray[np.float32], history: Sequence[int]) -> NDArray[np.float32]:
        """What a step adds to the log-probabilities of the labels with rows: float32 (rows,).

        `query_scores` are those of the query; rows that were made since are left out.
        """
        features = self._features(history)
        # Whole rows are taken: to take a part of each costs twice as much.
        total: NDArray[np.float32] = _HALVES[: len(features)].dot(self.history.take(features, 0))[: len(query_scores)]
        total += query_scores
        np.minimum(total, _HIGHEST, out=total)
        return np.maximum(total, _LOWEST, out=total)

    def _features(self, history: Sequence[int]) -> list[int]:
        """Rows of `history` that a step adds; the number of calls made is always one."""
        features = [min(len(history), COUNTS - 1)]
        for label in set(history):
            row = self.row_of.get(label)
            if row is not None:
                features.append(COUNTS + 2 * row)
                if label == history[-1]:
                    features.append(COUNTS + 2 * row + 1)
        return features

    def learn(self, lessons: Sequence[Lesson]) -> None:
        """One step along the gradient of all steps of all lessons; the labels of their targets have rows already."""
        steps = [(number, k) for number, lesson in enumerate(lessons) for k in range(len(lesson.targets))]
        features = [self._features(lessons[number].targets[:k]) for number, k in steps]
        query_scores = self.weights[: self.rows] @ np.stack([lesson.vector for lesson in lessons], axis=1)
        query_scores += self.bias[: self.rows, None]
        of_plan = np.array([number for number, _ in steps])
        flat = np.concatenate(features)
        starts = np.cumsum([0, *(len(step) for step in features[:-1])])
        scores = np.add.reduceat(self.history[flat, : self.rows], starts, axis=0)
        scores *= HISTORY
        scores += query_scores.T[of_plan]
        np.clip(scores, -MAX_SCORE, MAX_SCORE, out=scores)
        residuals = self._residuals(lessons, scores, of_plan)
        active = np.flatnonzero(np.abs(residuals).max(axis=0) > LEAST_RESIDUAL)
        off = residuals[:, active]
        self.squares[active] += np.einsum("ij,ij->j", off, off)
        off *= RATE / np.sqrt(self.squares[active])
        self._move(lessons, of_plan, features, active, off)
        self.squares[: self.rows] *= np.float32(DISCOUNT)
        np.maximum(self.squares, 1.0, out=self.squares)

    def _residuals(
        self, lessons: Sequence[Lesson], scores: NDArray[np.float32], of_plan: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Probabilities less 1 for what was right, times the lesson's weight: (steps, rows)."""
        labels = np.concatenate([lesson.offsets.labels for lesson in lessons])
        log_p = np.concatenate([lesson.offsets.log_p for lesson in lessons]).astype(np.float32)
        probabilities = np.concatenate([lesson.offsets.probabilities() for lesson in lessons])
        rows = np.array([[self.row_of.get(label, -1) for label in step] for step in labels.tolist()])
        others = np.maximum(1 - probabilities.sum(axis=1), LEAST_REST) / max(1, self.rows)
        offsets = np.repeat(np.log(others)[:, None], self.rows, axis=1).astype(np.float32)
        step, place = np.nonzero(rows >= 0)
        offsets[step, rows[step, place]] = log_p[step, place]
        offsets += scores
        top = np.maximum(offsets.max(axis=1, keepdims=True), 0.0)
        offsets -= top
        np.exp(offsets, out=offsets)
        without_row = np.where(rows < 0, probabilities, 0).sum(axis=1, keepdims=True) * np.exp(-top)
        offsets /= offsets.sum(axis=1, keepdims=True) + without_row
        targets = [self.row_of.get(target, -1) for lesson in lessons for target in lesson.targets]
        right = np.array(targets)
        offsets[np.flatnonzero(right >= 0), right[right >= 0]] -= 1
        offsets *= np.array([lesson.weight for lesson in lessons], np.float32)[of_plan, None]
        return offsets

    def _move(
        self,
        lessons: Sequence[Lesson],
        of_plan: NDArray[np.int64],
        features: Sequence[Sequence[int]],
        active: NDArray[np.int64],
        steps: NDArray[np.float32],
    ) -> None:
        """Moves the active rows by `steps` (steps, active), and keeps them in their balls."""
        starts = np.flatnonzero(np.diff(of_plan, prepend=-1))
        by_plan = np.add.reduceat(steps, starts, axis=0)
        changed = self.weights[active] - by_plan.T @ np.stack([lesson.vector for lesson in lessons])
        norms = np.sqrt(np.einsum("ij,ij->i", changed, changed))
        if norms.max(initial=0.0) > MAX_NORM:
            changed *= np.minimum(1.0, MAX_NORM / np.maximum(norms, 1e-30)).astype(np.float32)[:, None]
        self.weights[active] = changed
        self.bias[active] = (self.bias[active] - BIAS_RATE * steps.sum(axis=0)).clip(-MAX_NORM, MAX_NORM)
        moved, place = np.unique(np.concatenate(features), return_inverse=True)
        member = np.zeros((len(moved), len(features)), np.float32)
        member[place, np.repeat(np.arange(len(features)), [len(step) for step in features])] = HISTORY
        block = self.history[moved[:, None], active] - member @ steps
        self.history[moved[:, None], active] = block.clip(-MAX_NORM, MAX_NORM, out=block)
