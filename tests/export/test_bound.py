"""What a sample shows: the bound on numbers worked out by hand, and how often it is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from edgeret_export.encoders.bound import lower_bound, share_exceeds


def test_the_bound_is_students_with_one_difference_of_none_added() -> None:
    # With the added 0: mean 0.2, deviations ±0.2 and 0 twice, s² = 0.08 / 3, error √(0.08 / 3) / 2 = 0.0816497,
    # and a table gives 2.353 for 95 % and 3.182 for 97.5 % at three degrees of freedom.
    differences = np.array([0.2, 0.4, 0.2])
    assert lower_bound(differences) == pytest.approx(0.2 - 2.353363 * 0.0816497, abs=1e-5)
    assert lower_bound(differences, 0.975) == pytest.approx(0.2 - 3.182446 * 0.0816497, abs=1e-5)


def test_few_differences_show_nothing_even_if_they_are_equal() -> None:
    assert lower_bound(np.array([])) == 0
    assert lower_bound(np.array([0.5])) < 0
    assert lower_bound(np.array([0.5, 0.5])) < 0


def test_a_loss_on_every_one_of_five_is_shown() -> None:
    assert lower_bound(np.full(5, 0.37)) > 0.1


def test_no_difference_at_all_shows_no_loss() -> None:
    assert lower_bound(np.zeros(500)) == 0


@pytest.mark.parametrize("count", [5, 50, 500])
def test_the_bound_is_above_the_mean_in_few_samples(count: int) -> None:
    # Rank changes of one tool in five: a third lost, a tenth won, most unchanged.
    steps, chances = np.array([0.37, 0.13, 0.07, 0.0, -0.07, -0.13]), [0.02, 0.05, 0.08, 0.75, 0.06, 0.04]
    mean = float(steps @ chances)
    rng = np.random.default_rng(count)
    above = [lower_bound(rng.choice(steps, count, p=chances)) > mean for _ in range(1000)]
    assert np.mean(above) <= 0.065


def test_a_real_loss_is_seen_with_enough_queries() -> None:
    rng = np.random.default_rng(1)
    seen = [lower_bound(rng.choice([0.37, 0.0, -0.37], 500, p=[0.1, 0.87, 0.03])) > 0.005 for _ in range(200)]
    assert np.mean(seen) > 0.6


def test_a_share_is_tested_exactly() -> None:
    # Two of two when one in twenty may: chance 1 / 400. One of two: 1 - 0.95² = 0.0975. Two of ten: 0.0861.
    assert share_exceeds(2, 2, 0.05)
    assert not share_exceeds(1, 2, 0.05)
    assert not share_exceeds(2, 10, 0.05)
    assert share_exceeds(3, 10, 0.05)
    assert not share_exceeds(0, 0, 0.05)
