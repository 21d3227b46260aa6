"""What a head's fit takes for the bend of its loss is what it says, and leads to the same lowest point."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret_export.fitting import curvature
from edgeret_export.fitting.curvature import FREE, LEAST_BEND, SURER, Curvature, Moments

LABELS, PAIRS, SHARED, D, COUNTS = 3, 4, 2, 5, 2


def given_by(seed: int, bias: float) -> tuple[Moments, np.ndarray, np.ndarray]:
    """Moments of five features, two numbers of calls and the constant; where the parameters lie, and penalties."""
    rng = np.random.default_rng(seed)
    rows, shared = rng.normal(size=(40, D + COUNTS + 1)).astype(np.float32), rng.normal(size=(9, SHARED))
    labels = rng.dirichlet(np.ones(LABELS)).astype(np.float32)
    moments = Moments(labels, rng.random(PAIRS).astype(np.float32), rows.T @ rows / 40, shared.T @ shared)
    bounds = np.cumsum([0, D * LABELS, PAIRS, COUNTS * LABELS, LABELS, SHARED])
    penalty = np.full(bounds[-1], 0.3, np.float32)
    penalty[bounds[3] : bounds[4]], penalty[bounds[4] :] = bias, 0.05
    return moments, bounds, penalty


@given(seed=st.integers(0, 999), bias=st.sampled_from([0.0, 0.01, 0.3, 1.5]))
def test_the_bend_is_that_of_each_label_of_pairs_and_of_what_is_shared(seed: int, bias: float) -> None:
    moments, bounds, penalty = given_by(seed, bias)
    found = Curvature(moments, bounds, penalty)
    size = np.ones(D + COUNTS + 1)
    size[-1] = min(FREE, (0.3 / bias) ** 0.5) if bias else FREE
    second = moments.features * np.outer(size, size)
    slope = np.random.default_rng(seed).normal(size=bounds[-1]).astype(np.float32)
    step = found.inverse(slope)
    at = [slice(*pair) for pair in pairwise(bounds)]
    rows, steps = (np.concatenate((x[at[0]], x[at[2]], x[at[3]])).reshape(-1, LABELS) for x in (slope, step))
    for label, share in enumerate(moments.labels):
        bend = SURER * share * second + 0.3 * np.eye(len(second))
        expected = size * np.linalg.solve(bend, size * rows[:, label])
        np.testing.assert_allclose(steps[:, label], expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    np.testing.assert_allclose(step[at[1]], slope[at[1]] / (SURER * moments.pairs + 0.3), rtol=1e-5)
    bend = SURER * moments.shared + np.diag(penalty[at[4]] + LEAST_BEND)
    np.testing.assert_allclose(step[at[4]], np.linalg.solve(bend, slope[at[4]]), rtol=1e-3)


@pytest.mark.parametrize("directions", [2, 64])
def test_a_step_always_leads_down_and_the_bend_is_symmetric(monkeypatch: pytest.MonkeyPatch, directions: int) -> None:
    monkeypatch.setattr(curvature, "DIRECTIONS", directions)
    moments, bounds, penalty = given_by(1, 0.0)
    found = Curvature(moments, bounds, penalty)
    whole = np.stack([found.inverse(row) for row in np.eye(bounds[-1], dtype=np.float32)])
    np.testing.assert_allclose(whole, whole.T, rtol=1e-3, atol=1e-3 * np.abs(whole).max())
    assert np.linalg.eigvalsh((whole + whole.T).astype(np.float64) / 2).min() > 0


def test_moments_of_a_sample_stand_for_all() -> None:
    moments, _, _ = given_by(2, 0.0)
    every = moments.of_all(0.25)
    np.testing.assert_allclose(every.features, 4 * moments.features)
    np.testing.assert_allclose(every.labels, moments.labels)
