"""Increments move towards what was called, within bounds, for labels that were touched."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from edgeret_export.reference.scoring.increments import (
    MAX_NORM,
    MAX_PROBABLE_ROWS,
    MAX_ROWS,
    MAX_SCORE,
    Increments,
    Lesson,
)
from edgeret_export.reference.scoring.offsets import Offsets, keep

D = 16
LABELS = 12


def unit(seed: int) -> NDArray[np.float32]:
    vector = np.random.default_rng(seed).normal(size=D).astype(np.float32)
    return vector / np.linalg.norm(vector)


def flat(targets: list[int], labels: int = LABELS) -> Offsets:
    return keep(np.full((len(targets), labels), -np.log(labels), np.float32), np.arange(labels), targets)


def lesson(seed: int, targets: list[int], weight: float = 1.0) -> Lesson:
    return Lesson(unit(seed), targets, flat(targets), weight)


def allocated(labels: int = LABELS) -> Increments:
    increments = Increments(D)
    for label in range(labels):
        increments.allocate(label, 0, called=True)
    return increments


def learn(increments: Increments, *lessons: Lesson, labels: int = LABELS) -> None:
    scores = increments.query_scores(np.array([lesson.vector for lesson in lessons]))
    increments.learn(lessons, scores, labels)


def right(increments: Increments, seed: int, targets: list[int]) -> list[bool]:
    scores = increments.query_scores(unit(seed))
    return [bool(increments.scores(scores, targets[:k]).argmax() == t) for k, t in enumerate(targets)]


def test_a_few_lessons_teach_a_plan_with_its_order() -> None:
    increments = allocated()
    plans = [(0, [1, 2, 3, 0]), (1, [3, 1, 0]), (2, [2, 0])]
    for _ in range(8):
        learn(increments, *(lesson(seed, targets) for seed, targets in plans))
    assert all(all(right(increments, seed, targets)) for seed, targets in plans)


def test_the_step_is_that_of_the_formula() -> None:
    increments = allocated(2)
    increments.squares[:] = 4.0
    learn(increments, Lesson(unit(0), [1], Offsets(np.array([[0, 1]], np.int32), np.log([[0.5, 0.5]]).astype("f2"))))
    step = 0.5 * 3 / np.sqrt(4.25)
    assert np.allclose(increments.weights[1], step * unit(0), atol=1e-3)
    assert np.allclose(increments.weights[0], -step * unit(0), atol=1e-3)
    assert np.allclose(increments.bias[:2], [-0.3 * step, 0.3 * step], atol=1e-3)
    assert np.allclose(increments.history[0, :2], [-0.5 * step, 0.5 * step], atol=1e-3)
    assert not increments.history[1:].any()


def test_labels_that_are_already_right_are_left_alone() -> None:
    increments = allocated(3)
    log_p = np.log([[0.9998, 0.0001, 0.0001]]).astype(np.float16)
    learn(increments, Lesson(unit(0), [0], Offsets(np.array([[0, 1, 2]], np.int32), log_p)))
    assert not increments.weights.any()


def test_a_label_that_the_offset_was_fitted_on_moves_less() -> None:
    increments = Increments(D)
    increments.allocate(0, 0, called=True)
    increments.allocate(1, 99, called=True)
    learn(increments, lesson(0, [0]))
    assert abs(increments.bias[1]) < 0.2 * abs(increments.bias[0])


def test_a_lesson_of_half_the_weight_teaches_less() -> None:
    whole, half = allocated(), allocated()
    learn(whole, lesson(0, [1, 0]))
    learn(half, lesson(0, [1, 0], 0.25))
    assert 0 < np.abs(half.weights).max() < 0.5 * np.abs(whole.weights).max()


def test_thousands_of_labels_cost_no_more_than_the_bound() -> None:
    increments = Increments(D)
    for label in range(5000):
        increments.allocate(label, 0, called=False)
    assert increments.rows == MAX_PROBABLE_ROWS
    for label in range(5000):
        increments.allocate(label, 0, called=True)
    assert increments.rows == MAX_ROWS


def test_a_label_without_room_for_a_row_keeps_its_share_of_the_probability() -> None:
    increments = Increments(D)
    increments.allocate(0, 0, called=True)
    log_p = np.log([[0.5, 0.5]]).astype(np.float16)
    learn(increments, Lesson(unit(0), [1], Offsets(np.array([[0, 1]], np.int32), log_p)))
    step = 0.5 * 3 / np.sqrt(1.25)
    assert np.allclose(increments.weights[0], -step * unit(0), atol=1e-3)


def test_a_thousand_contradictions_leave_the_rows_in_their_ball_and_ever_smaller_steps() -> None:
    increments = allocated()
    moved = []
    for i in range(1000):
        before = increments.weights.copy()
        learn(increments, lesson(0, [1 + i % 2, 0]))
        moved.append(np.abs(increments.weights - before).max())
    assert np.linalg.norm(increments.weights, axis=1).max() < MAX_NORM
    assert all(later < sooner for sooner, later in pairwise(np.reshape(moved, (10, 100)).mean(axis=1)[:4]))


def test_rows_never_leave_their_ball_and_scores_their_range() -> None:
    increments = allocated()
    increments.weights[1] = 100 * unit(0)
    increments.bias[1] = 100.0
    learn(increments, lesson(0, [2, 0]))
    assert np.linalg.norm(increments.weights[1]) < MAX_NORM * 1.001 and increments.bias[1] <= MAX_NORM
    increments.bias[2] = 1000.0
    assert np.abs(increments.scores(increments.query_scores(unit(0)), [1])).max() <= MAX_SCORE


def test_a_query_prepared_before_a_new_label_came_still_serves() -> None:
    increments = allocated(3)
    scores = increments.query_scores(unit(0))
    for label in range(3, 30):
        increments.allocate(label, 0, called=True)
    assert increments.scores(scores, [29]).shape == (3,)
