"""The mixture finds the better expert, and the guard mutes what does harm."""

from __future__ import annotations

import numpy as np
import pytest

from edgeret_export.reference.scoring.mixture import MAX_WEIGHT, Guard, Mixture, normalise


def experts(*right: int) -> np.ndarray:
    """At every step the first expert knows, the second is wrong, the third knows nothing: (3, steps, 4)."""
    log_p = np.log(np.full((3, len(right), 4), 0.1, np.float32))
    for step, label in enumerate(right):
        log_p[0, step, label] = np.log(0.7)
        log_p[1, step, (label + 1) % 4] = np.log(0.7)
    return log_p


def mixed(mixture: Mixture, given: np.ndarray) -> np.ndarray:
    return normalise(np.stack([mixture.combine(given[:, step]) for step in range(given.shape[1])]))


def test_what_it_combines_are_probabilities() -> None:
    assert np.exp(mixed(Mixture((0.4, 0.5, 0.1)), experts(2, 0))).sum(axis=1) == pytest.approx([1, 1])
    assert np.exp(normalise(np.array([[1000.0, 0.0]], np.float32))).tolist() == [[1, 0]]


def test_the_weight_moves_to_the_expert_that_is_right() -> None:
    mixture = Mixture((0.1, 0.8, 0.1))
    for step in range(200):
        given = experts(step % 4)
        mixture.learn(given, mixed(mixture, given), [0], [step % 4])
    assert mixture.weights[0] > 0.5 and mixture.weights[1] == 0


def test_a_step_follows_the_gradient_of_the_log_probability() -> None:
    mixture, given, nudge = Mixture((0.4, 0.5, 0.1)), experts(1), 1e-3
    before = mixed(mixture, given)
    gradient = []
    for i in range(3):
        weights = np.array([0.4, 0.5, 0.1])
        weights[i] += nudge
        gradient.append((mixed(Mixture(weights.tolist()), given)[0, 1] - before[0, 1]) / nudge)
    expected = np.array(gradient)
    mixture.learn(given, before, [0], [1])
    moved = mixture.weights - np.array([0.4, 0.5, 0.1])
    assert np.allclose(moved, 0.1 * expected / np.sqrt(1 + expected**2), atol=1e-3)


def test_weights_stay_bounded_whatever_is_shown() -> None:
    mixture = Mixture((0.4, 0.5, 0.1))
    given = np.array([[[0, -1e4]], [[-1e4, 0]], [[0, -1e-3]]], np.float32)
    for step in range(2000):
        mixture.learn(given, mixed(mixture, given), [0], [step % 2 if step < 1000 else 0])
        assert ((mixture.weights >= 0) & (mixture.weights <= MAX_WEIGHT)).all()


def test_the_guard_mutes_what_is_worse_than_the_base_until_it_is_better_again() -> None:
    guard = Guard()
    for _ in range(4):
        guard.judge(-1.0)
    assert not guard.muted  # too few to say
    for _ in range(4):
        guard.judge(-1.0)
    assert guard.muted and guard.gain == pytest.approx(-1)
    judged = 0
    while guard.muted:
        guard.judge(1.0)
        judged += 1
    assert 2 < judged < 10


def test_the_guard_lets_noise_pass_where_something_is_gained() -> None:
    rng = np.random.default_rng(0)
    muted = []
    for _ in range(500):
        guard = Guard()
        for gain in rng.normal(0.5, 1.0, 20):
            guard.judge(gain)
        muted.append(guard.muted)
    assert np.mean(muted) < 0.05


def test_one_plan_that_was_won_by_far_hides_no_losses() -> None:
    guard = Guard()
    guard.judge(1000.0)
    for _ in range(20):
        guard.judge(-1.0)
    assert guard.muted


def test_before_anything_was_judged_nothing_was_gained() -> None:
    assert Guard().gain == 0
