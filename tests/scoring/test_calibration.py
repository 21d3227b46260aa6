"""Fusion, calibration and abstention: rankings survive, probabilities add up, refusals say why."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.bundle.codec import pack, unpack
from edgeret.errors import BundleError
from edgeret.scoring.calibration import Calibration, CalibrationParameters

CAUTIOUS = Calibration(CalibrationParameters(calibration_map=((0.0, 0.0), (0.5, 0.2), (1.0, 0.9))))
probabilities = st.lists(st.floats(1e-4, 1), min_size=2, max_size=8).map(lambda p: np.array(p, np.float32) / sum(p))


@given(probabilities)
def test_calibration_keeps_sum_and_ranking(p: np.ndarray) -> None:
    found = CAUTIOUS.calibrate(p.copy())
    assert found.sum() == pytest.approx(1, abs=1e-4)
    assert found.min() >= 0
    top = int(p.argmax())
    assert found[top] == found.max()
    rest = [i for i in range(len(p)) if i != top]
    assert (np.argsort(p[rest], kind="stable") == np.argsort(found[rest], kind="stable")).all() or len(set(p)) < len(p)


def test_calibration_follows_the_knots() -> None:
    found = CAUTIOUS.calibrate(np.array([0.75] + [0.25 / 50] * 50, np.float32))
    assert found[0] == pytest.approx(0.55)


def test_fusion_is_log_linear() -> None:
    policy = Calibration(CalibrationParameters(head_weight=0.6, graph_weight=0.4))
    head, graph = np.array([0.7, 0.2, 0.1], np.float32), np.array([0.2, 0.5, 0.3], np.float32)
    expected = head**0.6 * graph**0.4
    np.testing.assert_allclose(policy.fuse(np.log(head), graph.copy()), expected / expected.sum(), rtol=1e-5)


def test_a_novel_tool_competes_by_its_description_and_less_once_called() -> None:
    policy = Calibration(CalibrationParameters(unseen_slope=10, unseen_bias=-3, unseen_called=5))
    head, graph = np.log(np.array([0.6, 0.4], np.float32)), np.array([0.6, 0.4], np.float32)

    def fused(cosine: float, called: bool) -> np.ndarray:
        weights = policy.unseen_weights(np.array([cosine], np.float32))
        return policy.fuse(head.copy(), graph.copy(), weights, np.array([called]))

    near, far, again = fused(0.8, False), fused(0.1, False), fused(0.8, True)
    assert near.argmax() == 2
    assert far.argmax() == 0
    assert again[2] < near[2]


def test_parameters_survive_the_bundle() -> None:
    parameters = CalibrationParameters(head_weight=0.7, calibration_map=((0.0, 0.0), (0.5, 0.25), (1.0, 0.75)))
    assert CalibrationParameters.from_dict(unpack(pack(parameters.to_dict()), "t"), "t") == parameters


@pytest.mark.parametrize(
    "calibration_map", [((0.0, 0.0),), ((0.0, 0.5), (1.0, 0.2)), ((0.5, 0.0), (0.5, 1.0)), ((0.0, 0.0), (1.0, 2.0))]
)
def test_a_calibration_that_does_not_rise_is_refused(calibration_map: tuple) -> None:
    value = {**CalibrationParameters().to_dict(), "calibration_map": np.array(calibration_map, np.float32)}
    with pytest.raises(BundleError, match="does not rise"):
        CalibrationParameters.from_dict(unpack(pack(value), "t"), "t")


@given(st.floats(1e-12, 5e-4), st.integers(1, 40))
def test_the_most_confident_decisions_are_calibrated_too(rest: float, others: int) -> None:
    p = np.array([1 - rest] + [rest / others] * others, np.float32)
    found = CAUTIOUS.calibrate(p)
    assert found[0] == pytest.approx(0.9, abs=0.001)
    assert found.sum(dtype=np.float64) == pytest.approx(1, abs=1e-5)


def test_certainty_is_calibrated_too() -> None:
    found = CAUTIOUS.calibrate(np.array([1, 0, 0], np.float32))
    np.testing.assert_allclose(found, [0.9, 0.05, 0.05], rtol=1e-5)
