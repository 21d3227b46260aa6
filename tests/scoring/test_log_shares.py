"""Scores become shares of one whole, in logarithms: compiled and by numpy, with every set of instructions."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret_export.reference import kernel
from edgeret_export.reference.scoring import log_shares

SCORES = st.lists(st.floats(-200, 200, width=32) | st.just(-inf), min_size=1, max_size=40)


@pytest.mark.parametrize("arithmetic", ["numpy", "generic", "avx2"])
def test_log_scores_become_log_probabilities(arithmetic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_shares, "LIBRARY", None if arithmetic == "numpy" else kernel.load(arithmetic == "avx2"))

    @given(SCORES)
    def check(told: list[float]) -> None:
        scores = np.array(told, np.float32)
        best = log_shares.log_shares(scores)
        assert best == max(told)
        if best == -inf:
            assert (scores == -inf).all()
        else:
            expected = np.array(told, np.float64) - best
            expected -= log(np.exp(expected).sum())
            np.testing.assert_allclose(scores, expected, atol=1e-5 * max(1, abs(best)))

    check()
