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
from edgeret.scoring.products import product

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
        self._row_at = np.full(8, -1, np.int64)  # by label + 1; -1 for none, so at both ends
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
        wider = label + 3 - len(self._row_at)
        if wider > 0:
            self._row_at = np.pad(self._row_at, (0, wider + len(self._row_at)), constant_values=-1)
        self._row_at[label + 1] = self.row_of[label] = self.rows
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

    def _features_by_step(self, targets: Sequence[int]) -> list[list[int]]:
        """The same for every step of a plan."""
        found, called, last = [], dict[int, None](), list[int]()
        for k, target in enumerate(targets):
            found.append([min(k, COUNTS - 1), *called, *last])
            row = self.row_of.get(target)
            last = []
            if row is not None:
                called[COUNTS + 2 * row] = None
                last = [COUNTS + 2 * row + 1]
        return found

    def learn(self, lessons: Sequence[Lesson]) -> None:
        """One step along the gradient of all steps of all lessons; the labels of their targets have rows already."""
        features = [step for lesson in lessons for step in self._features_by_step(lesson.targets)]
        lengths = [len(lesson.targets) for lesson in lessons]
        of_plan = np.repeat(np.arange(len(lessons)), lengths)
        place_of: dict[int, int] = {}
        places = [place_of.setdefault(feature, len(place_of)) for step in features for feature in step]
        touched = np.array(list(place_of))
        # What every step takes of the rows of the history that any step touches.
        shares = np.zeros((len(features), len(touched)), np.float32)
        shares[np.repeat(np.arange(len(features)), [len(step) for step in features]), places] = HISTORY
        vectors = np.array([lesson.vector for lesson in lessons])
        scores = product(shares, self.history.take(touched, 0)[:, : self.rows].T)
        scores += (product(vectors, self.weights[: self.rows]) + self.bias[: self.rows])[of_plan]
        np.minimum(scores, _HIGHEST, out=scores)
        np.maximum(scores, _LOWEST, out=scores)
        residuals = self._residuals(lessons, scores, of_plan)
        active = np.flatnonzero(np.abs(residuals).max(axis=0) > LEAST_RESIDUAL)
        if len(active):
            off = residuals.take(active, 1)
            self.squares[active] += np.einsum("ij,ij->j", off, off)
            off *= RATE / np.sqrt(self.squares[active])
            self._move_weights(
                active, np.add.reduceat(off, np.flatnonzero(np.diff(of_plan, prepend=-1)), axis=0), vectors
            )
            self._move_history(active, touched, product(shares.T, off.T))
        self.squares[: self.rows] *= np.float32(DISCOUNT)
        np.maximum(self.squares, 1.0, out=self.squares)

    def _residuals(
        self, lessons: Sequence[Lesson], scores: NDArray[np.float32], of_plan: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Probabilities less 1 for what was right, times the lesson's weight: (steps, rows)."""
        labels = np.concatenate([lesson.offsets.labels for lesson in lessons])
        kept = Offsets(labels, np.concatenate([lesson.offsets.log_p for lesson in lessons]))
        probabilities = kept.probabilities()
        rows = self._row_at.take(labels + 1, mode="clip")
        others = np.maximum(1 - probabilities.sum(axis=1, keepdims=True), LEAST_REST) / max(1, self.rows)
        offsets: NDArray[np.float32] = scores + np.log(others)
        step, place = np.nonzero(rows >= 0)
        row = rows[step, place]
        offsets[step, row] = scores[step, row] + kept.log_p[step, place]
        top = np.maximum(offsets.max(axis=1, keepdims=True), 0.0)
        offsets -= top
        np.exp(offsets, out=offsets)
        without_row = np.where(rows < 0, probabilities, 0).sum(axis=1, keepdims=True) * np.exp(-top)
        offsets /= offsets.sum(axis=1, keepdims=True) + without_row
        right = self._row_at.take([target + 1 for lesson in lessons for target in lesson.targets], mode="clip")
        known = np.flatnonzero(right >= 0)
        offsets[known, right[known]] -= 1
        if any(lesson.weight != 1.0 for lesson in lessons):
            offsets *= np.array([lesson.weight for lesson in lessons], np.float32)[of_plan, None]
        return offsets

    def _move_weights(
        self, active: NDArray[np.int64], steps: NDArray[np.float32], vectors: NDArray[np.float32]
    ) -> None:
        """Moves the active rows by `steps` (plans, active) along the plans' queries (plans, dimension), and keeps them
        in their balls."""
        changed = self.weights[active] - product(steps.T, vectors.T)
        norms = np.sqrt(np.einsum("ij,ij->i", changed, changed))
        if norms.max(initial=0.0) > MAX_NORM:
            changed *= np.minimum(1.0, MAX_NORM / np.maximum(norms, 1e-30)).astype(np.float32)[:, None]
        self.weights[active] = changed
        self.bias[active] = (self.bias[active] - BIAS_RATE * steps.sum(axis=0)).clip(-MAX_NORM, MAX_NORM)

    def _move_history(self, active: NDArray[np.int64], touched: NDArray[np.int64], steps: NDArray[np.float32]) -> None:
        """Moves what the touched features add to the active rows by `steps` (touched, active)."""
        place = (touched[:, None], active)
        self.history[place] = (self.history[place] - steps).clip(-MAX_NORM, MAX_NORM)
