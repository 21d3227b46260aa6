"""Floors that keep a risk: the bound by hand, and kept on decisions that were not fitted on."""

from __future__ import annotations

import numpy as np
import pytest

from edgeret_export.fitting.risk import floors, shipped_floor
from edgeret_export.reference.scoring.calibration import RISKS, Calibration, CalibrationParameters


def at(found: np.ndarray, risk: float) -> float:
    parameters = CalibrationParameters(first_floors=tuple(found.tolist()), later_floors=tuple(found.tolist()))
    return Calibration(parameters).floor(False, None, risk)


def test_the_bound_by_hand() -> None:
    # Nine right answers, then a wrong one, then a right one: (0 + 1) / (9 + 1), (1 + 1) / (10 + 1), (1 + 1) / (11 + 1).
    probability = np.linspace(0.95, 0.45, 11)
    right = np.array([True] * 9 + [False, True])
    found = floors(probability, right)
    assert at(found, 0.1) == pytest.approx(probability[8])
    assert at(found, 0.17) == pytest.approx(probability[10])  # 2 of 12, and no more than 2 of 11 on the way
    assert at(found, 0.09) == pytest.approx(0.91)  # nine answers promise no less than a tenth: calibration must


def test_answers_as_probable_are_taken_together() -> None:
    probability = np.array([0.9] * 10 + [0.5, 0.5])
    right = np.array([True] * 11 + [False])
    assert at(floors(probability, right), 0.1) == pytest.approx(0.9)


def test_what_nothing_was_held_out_for_rests_on_calibration() -> None:
    found = floors(np.zeros(0), np.zeros(0, bool))
    np.testing.assert_allclose(found, 1 - RISKS, atol=1e-6)
    assert at(found, 0.02) == pytest.approx(0.98) and Calibration(CalibrationParameters()).floor(True, None, 0.3) == 0.7


@pytest.mark.parametrize("risk", [0.02, 0.05, 0.1])
def test_the_risk_is_kept_on_others_on_average(risk: float) -> None:
    draw = np.random.default_rng(1)
    wrong, answered = [], []
    for _ in range(60):
        probability = draw.beta(4, 1, (2, 600))
        right = draw.random((2, 600)) < probability**1.5  # surer than it should be
        floor = at(floors(probability[0], right[0]), risk)
        taken = probability[1] >= floor
        wrong.append((~right[1][taken]).sum() / max(1, taken.sum()))
        answered.append(taken.mean())
    assert np.mean(wrong) <= risk + 0.005 and np.mean(answered) > 0


def test_the_floor_that_ships_costs_few_right_answers() -> None:
    probability = np.linspace(0.99, 0.2, 100)
    right = np.arange(100) % 2 == 0  # half are wrong everywhere, so a tenth is far away
    by_risk = floors(probability, right)
    assert shipped_floor(by_risk, probability, right, 0.1) == pytest.approx(at(by_risk, 0.1), abs=1e-6)
    assert (probability[right] < shipped_floor(by_risk, probability, right, None)).mean() <= 0.02


def test_a_named_probability_comes_before_a_risk_that_was_loaded() -> None:
    loaded = Calibration(CalibrationParameters(min_probability=0.2), risk=0.05)
    assert loaded.floor(False, None, None) == pytest.approx(0.95)
    assert loaded.floor(False, 0.3, None) == 0.3
    assert loaded.floor(False, None, 0.1) == pytest.approx(0.9)
    assert Calibration(CalibrationParameters(min_probability=0.2)).floor(False, None, None) == 0.2
