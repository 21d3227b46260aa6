"""Fusion, calibration and abstention: rankings survive, probabilities add up, refusals say why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.bundle.codec import pack, unpack
from edgeret.errors import BundleError
from edgeret_export.reference.scoring.calibration import Calibration, CalibrationParameters

CAUTIOUS = Calibration(CalibrationParameters(calibration_map=((0.0, 0.0), (0.5, 0.2), (1.0, 0.9))))
probabilities = st.lists(st.floats(1e-4, 1), min_size=2, max_size=8).map(lambda p: np.array(p, np.float32) / sum(p))


@given(probabilities)
def test_calibration_keeps_sum_and_ranking(p: np.ndarray) -> None:
    found = CAUTIOUS.calibrate(p.copy(), CAUTIOUS.map)
    assert found.sum() == pytest.approx(1, abs=1e-4)
    assert found.min() >= 0
    top = int(p.argmax())
    assert found[top] == found.max()
    rest = [i for i in range(len(p)) if i != top]
    assert (np.argsort(p[rest], kind="stable") == np.argsort(found[rest], kind="stable")).all() or len(set(p)) < len(p)


def test_calibration_follows_the_knots() -> None:
    found = CAUTIOUS.calibrate(np.array([0.75] + [0.25 / 50] * 50, np.float32), CAUTIOUS.map)
    assert found[0] == pytest.approx(0.55)


def test_fusion_is_log_linear() -> None:
    policy = Calibration(CalibrationParameters(head_weight=0.6, graph_weight=0.4))
    head, graph = np.array([0.7, 0.2, 0.1], np.float32), np.array([0.2, 0.5, 0.3], np.float32)
    expected = head**0.6 * graph**0.4
    found = np.exp(policy.fuse(np.log(head), graph.copy()))
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), rtol=1e-5)


def test_fusion_of_three_is_log_linear_over_all_tools_and_the_graph_shares_what_the_labels_have() -> None:
    policy = Calibration(CalibrationParameters(head_weight=0.5, graph_weight=0.3, memory_weight=0.2))
    full, memory = np.array([0.4, 0.3, 0.2, 0.1], np.float32), np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    graph = np.array([1.0, 3.0], np.float32)  # right up to a factor
    spread = np.array([0.7 * 0.25, 0.7 * 0.75, 0.2, 0.1])
    expected = full**0.5 * spread**0.3 * memory**0.2
    found = np.exp(policy.fuse_all(np.log(full), graph, np.log(memory)))
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), rtol=1e-5)


def test_without_graph_and_memory_the_head_is_all_that_is_fused() -> None:
    policy = Calibration(CalibrationParameters(head_weight=0.5, graph_weight=0.0, memory_weight=0.2))
    full = np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32))
    np.testing.assert_array_equal(policy.fuse_all(full, np.ones(2, np.float32), None), np.float32(0.5) * full)


def test_tools_without_demonstrations_are_shares_of_all_and_biased_by_when_they_came() -> None:
    policy = Calibration(CalibrationParameters(unseen_bias=-3, added_bias=-1))
    scores = np.array([0.0, -np.inf, 0.0, np.log(2)], np.float32)  # a label, `<end>`, and two without demonstrations
    found, best = policy.unseen_scores(scores, 2, np.array([0.0, 0.0, -0.7, 0.0], np.float32))
    np.testing.assert_allclose(found, [np.log(0.25) - 3, np.log(0.5) - 1], rtol=1e-6)
    assert best == pytest.approx(np.log(2))
    nothing, best = policy.unseen_scores(np.full(3, -np.inf, np.float32), 1, np.zeros(3, np.float32))
    assert nothing.tolist() == [-np.inf] * 2 and best == -np.inf


def test_scores_of_undemonstrated_tools_stay_where_powers_are_finite() -> None:
    policy = Calibration(CalibrationParameters(unseen_bias=1e4))
    assert policy.unseen_scores(np.array([0.0, -9.0], np.float32), 1, np.ones(2, np.float32))[0].tolist() == [80]


def test_parameters_survive_the_bundle() -> None:
    points = ((0.0, 0.0), (0.5, 0.25), (1.0, 0.75))
    parameters = CalibrationParameters(head_weight=0.7, memory_weight=0.3, calibration_map=points, prior_map=points)
    found = CalibrationParameters.from_dict(unpack(pack(parameters.to_dict()), "t"), "t")
    for floors in ("first_floors", "later_floors"):
        assert getattr(found, floors) == pytest.approx(getattr(parameters, floors), abs=1e-6)
    same = replace(found, first_floors=parameters.first_floors, later_floors=parameters.later_floors)
    assert same == parameters


@pytest.mark.parametrize(
    "points", [((0.0, 0.0),), ((0.0, 0.5), (1.0, 0.2)), ((0.5, 0.0), (0.5, 1.0)), ((0.0, 0.0), (1.0, 2.0))]
)
@pytest.mark.parametrize("name", ["calibration_map", "prior_map"])
def test_a_calibration_that_does_not_rise_is_refused(points: tuple, name: str) -> None:
    value = {**CalibrationParameters().to_dict(), name: np.array(points, np.float32)}
    with pytest.raises(BundleError, match=f"{name} does not rise"):
        CalibrationParameters.from_dict(unpack(pack(value), "t"), "t")


@given(st.floats(1e-12, 5e-4), st.integers(1, 40))
def test_the_most_confident_decisions_are_calibrated_too(rest: float, others: int) -> None:
    p = np.array([1 - rest] + [rest / others] * others, np.float32)
    found = CAUTIOUS.calibrate(p, CAUTIOUS.map)
    assert found[0] == pytest.approx(0.9, abs=0.001)
    assert found.sum(dtype=np.float64) == pytest.approx(1, abs=1e-5)


def test_certainty_is_calibrated_too() -> None:
    found = CAUTIOUS.calibrate(np.array([1, 0, 0], np.float32), CAUTIOUS.map)
    np.testing.assert_allclose(found, [0.9, 0.05, 0.05], rtol=1e-5)


@given(st.floats(0.1, 1), st.integers(2, 40))
def test_where_next_to_nothing_is_left_for_the_others_they_still_sum_to_one(share: float, others: int) -> None:
    p = np.array([1] + [share * 1e-30 / others] * others, np.float32)
    assert CAUTIOUS.calibrate(p, CAUTIOUS.map).sum(dtype=np.float64) == pytest.approx(1, abs=1e-5)


def test_behind_a_call_the_head_decides_alone() -> None:
    logits = np.array([1.0, -2.0], np.float32)
    policy = Calibration(CalibrationParameters(head_weight=0.1, graph_weight=0.9, later_head_weight=1.5))
    np.testing.assert_allclose(policy.fuse(logits.copy(), None, later=True), 1.5 * logits)
    assert policy.asks_graph(later=False) and not policy.asks_graph(later=True)
    both = Calibration(CalibrationParameters(later_head_weight=0.5, later_graph_weight=2.0))
    found = both.fuse(logits.copy(), np.array([0.5, 0.25], np.float32), later=True)
    np.testing.assert_allclose(found, 0.5 * logits + 2 * np.log([0.5, 0.25]), rtol=1e-6)
    assert both.asks_graph(later=True)
