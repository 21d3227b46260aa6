"""Online logistic regression over an offset: what is learned is added to the log-probabilities that were there.

Knows nothing of text, files, or where the offset comes from. A label has a row from when it was called, or taken to be
probable, for the first time: thousands of tools that nobody uses cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgeret.records import dataclass
from edgeret_export.reference.scoring.offsets import LEAST, Offsets, joined
from edgeret_export.reference.scoring.products import product

RATE = np.float32(3.0)
"""Step of a label: RATE / sqrt(sum of its squared residuals)."""
BIAS_RATE = np.float32(0.3)
"""The bias moves by this part of it."""
LEAST_RESIDUAL = 1e-3
"""Labels whose probability is off by less are left alone."""
COUNTS = 6
"""Numbers of calls made that are told apart; the last stands for all above."""
MAX_NORM = 20.0
"""Longest row, and largest other weight: whatever is shown a thousand times, the rows stay in this ball."""
DISCOUNT = 0.9995
"""Sums of squared residuals shrink by this at every plan, so that steps never get too small to unlearn a habit."""
MAX_ROWS = 512
"""Labels with a row. Rows of the history are as many squared: 2 MB at this bound."""
MAX_PROBABLE_ROWS = 320
"""From here on, only labels that are called get one."""
HISTORY = np.float32(0.5)
"""What a row of the history counts for, in what it adds and in how it moves."""
MAX_SCORE = 20.0
"""What is learned moves a log-probability by at most this."""
_HALVES = np.full(2 * MAX_ROWS, HISTORY)
_HIGHEST, _LOWEST = np.array(MAX_SCORE, np.float32), np.array(-MAX_SCORE, np.float32)  # numpy takes arrays soonest
_LARGEST, _DISCOUNT, _ONE, _LEAST = (np.array(number, np.float32) for number in (MAX_NORM, DISCOUNT, 1.0, LEAST))


@dataclass(frozen=True, slots=True)
class Lesson:
    """A plan to learn: the unit vector of its query (dimension,), what was called at every step, and its offsets.

    The history of step k is `targets[:k]`. `weight` in (0, 1] scales all that is learned from it.
    """

    vector: NDArray[np.float32]
    targets: Sequence[int]
    offsets: Offsets
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Seen:
    """Lessons as the increments saw them. `query_scores` (lessons, rows) are those of their queries. Per step:
    `of_plan`, its lesson; `shares` (steps, t), what it takes of the rows of the history in `touched` (t,); and `scores`
    (steps, rows + 1), what is added to its log-probabilities; the last column is 0, for labels without a row."""

    lessons: Sequence[Lesson]
    of_plan: NDArray[np.int64]
    query_scores: NDArray[np.float32]
    touched: NDArray[np.int64]
    shares: NDArray[np.float32]
    scores: NDArray[np.float32]


class Increments:
    """W·q + b + 0.5·(rows of the history), for labels that have a row. One thread at a time."""

    def __init__(self, dimension: int) -> None:
        """Adds nothing yet."""
        self.dimension = dimension
        self.rows = 0
        self.row_of: dict[int, int] = {}
        self.row_at = np.full(8, -1, np.int64)  # by label + 1; -1 for none, so at both ends
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
        wider = label + 3 - len(self.row_at)
        if wider > 0:
            self.row_at = np.pad(self.row_at, (0, wider + len(self.row_at)), constant_values=-1)
        self.row_at[label + 1] = self.row_of[label] = self.rows
        self.labels[self.rows] = label
        self.squares[self.rows] = 1.0 + demonstrations
        self.rows += 1

    def query_scores(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """W·q + b, float32 (rows,), of a query's unit vector (dimension,), or (queries, rows) of several: once a
        query."""
        weights = self.weights[: self.rows]
        scores = weights @ vectors if vectors.ndim == 1 else product(vectors, weights)
        scores += self.bias[: self.rows]
        return scores

    def scores(self, query_scores: NDArray[np.float32], history: Sequence[int]) -> NDArray[np.float32]:
        """What a step adds to the log-probabilities of the labels with rows: float32 (rows,).

        `query_scores` are those of the query; rows that were made since are left out.
        """
        features = self.features(history)
        # Whole rows are taken: to take a part of each costs twice as much.
        total: NDArray[np.float32] = _HALVES[: len(features)].dot(self.history.take(features, 0))[: len(query_scores)]
        total += query_scores
        np.minimum(total, _HIGHEST, out=total)
        return np.maximum(total, _LOWEST, out=total)

    def added_to(self, seen: Seen, labels: int) -> NDArray[np.float32]:
        """What the increments add to all labels at the steps they saw: float32 (steps, labels)."""
        row_of = self.row_at[1 : labels + 1]
        if len(row_of) < labels:
            row_of = np.pad(row_of, (0, labels - len(row_of)), constant_values=-1)
        return seen.scores.take(row_of, axis=1, mode="wrap")

    def features(self, history: Sequence[int]) -> list[int]:
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
        """`features` for every step of a plan."""
        found, called, last = [], dict[int, None](), list[int]()
        for k, target in enumerate(targets):
            found.append([min(k, COUNTS - 1), *called, *last])
            row = self.row_of.get(target)
            last = []
            if row is not None:
                called[COUNTS + 2 * row] = None
                last = [COUNTS + 2 * row + 1]
        return found

    def seen(self, lessons: Sequence[Lesson], query_scores: NDArray[np.float32]) -> Seen:
        """What the increments make of every step of some lessons, before they learn from them; `query_scores`
        (lessons, rows) are those of their queries."""
        features = [step for lesson in lessons for step in self._features_by_step(lesson.targets)]
        of_plan = np.arange(len(lessons)).repeat([len(lesson.targets) for lesson in lessons])
        place_of: dict[int, int] = {}
        places = [place_of.setdefault(feature, len(place_of)) for step in features for feature in step]
        steps = [k for k, step in enumerate(features) for _ in step]
        touched = np.array(list(place_of))
        shares = np.zeros((len(features), len(touched)), np.float32)
        shares[steps, places] = HISTORY
        # One column more than there are rows: for labels without one, to which nothing is added.
        scores = np.zeros((len(features), self.rows + 1), np.float32)
        adds = scores[:, : self.rows]
        adds += product(shares, self.history.take(touched, 0)[:, : self.rows].T)
        adds += query_scores if len(lessons) == 1 else query_scores[of_plan]
        np.minimum(scores, _HIGHEST, out=scores)
        np.maximum(scores, _LOWEST, out=scores)
        return Seen(lessons, of_plan, query_scores, touched, shares, scores)

    def learn(
        self, lessons: Sequence[Lesson], query_scores: NDArray[np.float32], labels: int, seen: Seen | None = None
    ) -> None:
        """One step along the gradient of all steps of some lessons; the labels of their targets have rows, if there is
        room. `query_scores` (lessons, rows) are those of their queries, `labels` is how many there are in all, and
        `seen` what the increments make of the lessons, if that is known."""
        seen = self.seen(lessons, query_scores) if seen is None else seen
        residuals = self._residuals(seen, labels)
        active = np.maximum(residuals.max(axis=0), -residuals.min(axis=0)) > LEAST_RESIDUAL
        active = active.nonzero()[0]
        if len(active):
            off = residuals.take(active, 1)
            squares = self.squares.take(active)
            squares += np.einsum("ij,ij->j", off, off)
            self.squares[active] = squares
            off *= RATE / np.sqrt(squares)
            self._move_weights(active, off, seen)
            self._move_history(active, seen.touched, product(seen.shares.T, off.T))
        self.squares *= _DISCOUNT
        np.maximum(self.squares, _ONE, out=self.squares)

    def _residuals(self, seen: Seen, labels: int) -> NDArray[np.float32]:
        """Probabilities less 1 for what was right, times the lesson's weight: (steps, rows)."""
        lessons, rows = seen.lessons, self.rows
        kept = joined([lesson.offsets for lesson in lessons])
        probabilities, rest = kept.shared(labels)
        row = self.row_at.take(kept.labels + 1, mode="clip")
        # The last column is of all labels without a row, which are -1 here.
        log_rest, step = np.log(rest), np.arange(len(row))
        logits = seen.scores + log_rest
        logits[step[:, None], row] += kept.log_p - log_rest
        without = np.where(row < 0, probabilities, 0).sum(axis=1) + rest[:, 0] * np.float32(labels - rows)
        logits[:, rows] = np.log(np.maximum(without, _LEAST))
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        right = self.row_at.take([target + 1 for lesson in lessons for target in lesson.targets], mode="clip")
        logits[step, right] -= 1
        residuals = logits[:, :rows]
        if any(lesson.weight != 1.0 for lesson in lessons):
            residuals *= np.array([lesson.weight for lesson in lessons], np.float32)[seen.of_plan, None]
        return residuals

    def _move_weights(self, active: NDArray[np.int64], off: NDArray[np.float32], seen: Seen) -> None:
        """Moves the active rows by `off` (steps, active) along the plans' queries, and keeps them in their balls."""
        lessons = seen.lessons
        if len(lessons) == 1:
            steps, vectors = off.sum(axis=0, keepdims=True), lessons[0].vector[None]
        else:
            steps = np.add.reduceat(off, np.append(0, np.diff(seen.of_plan).nonzero()[0] + 1), axis=0)
            vectors = np.array([lesson.vector for lesson in lessons])
        changed = self.weights.take(active, 0)
        changed -= product(steps.T, vectors.T)
        norms = np.einsum("ij,ij->i", changed, changed)
        if norms.max() > MAX_NORM**2:
            changed *= np.minimum(1.0, MAX_NORM / np.sqrt(np.maximum(norms, 1e-30))).astype(np.float32)[:, None]
        self.weights[active] = changed
        bias = self.bias.take(active)
        bias -= BIAS_RATE * steps.sum(axis=0)
        self.bias[active] = _bounded(bias)

    def _move_history(self, active: NDArray[np.int64], touched: NDArray[np.int64], steps: NDArray[np.float32]) -> None:
        """Moves what the touched features add to the active rows by `steps` (touched, active)."""
        place = (touched[:, None], active)
        self.history[place] = _bounded(self.history[place] - steps)


def _bounded(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Weights within MAX_NORM, in place."""
    np.minimum(weights, _LARGEST, out=weights)
    return np.maximum(weights, -_LARGEST, out=weights)
