"""Scores become shares of one whole, in logarithms."""

from __future__ import annotations

from math import inf, log

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from edgeret_export.reference.scoring.log_shares import log_shares


@given(st.lists(st.floats(-200, 200, width=32) | st.just(-inf), min_size=1, max_size=40))
def test_log_scores_become_log_probabilities(told: list[float]) -> None:
    scores = np.array(told, np.float32)
    best = log_shares(scores)
    assert best == max(told)
    if best == -inf:
        assert (scores == -inf).all()
    else:
        expected = np.array(told, np.float64) - best
        expected -= log(np.exp(expected).sum())
        np.testing.assert_allclose(scores, expected, atol=1e-5 * max(1, abs(best)))
