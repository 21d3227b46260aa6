"""What a build says of itself: words a person understands, for good and for bad results."""

from __future__ import annotations

from typing import Any

import pytest

from edgeret_export.told import print_build

NDCG = {"ndcg5_exported": 0.5, "ndcg5_reference": 0.5, "observations": 9}


def built(profile: str, top1: float | None = None, ece: float = 0.0) -> str:
    """What is printed of a build that held so much."""
    held_out: dict[str, Any] = {"note": "too few to hold any out"}
    if top1 is not None:
        floor = {"min_probability": 0.2, "answered": 0.9, "wrong": 0.1, "given_up": 0.01}
        shares = {"top1": {"head": 0.1, "fused": top1}, "decisions": 50, "floor": floor}
        held_out = {**shares, "ece_calibrated": ece, "ece_fused": 0.1654}
    parity = {"precision": "int8", "size_mb": 23.6, "cosine_mean": 0.99, "cosine_min": 0.98}
    return print_build(
        {
            **{"bundle": "b", "content_hash": "00", "profile": profile, "bundle_mb": 7.9, "tools": 44},
            **{"demonstrations": 120, "held_out": held_out, "nothing": {}},
            "parity": {**parity, "demonstrations": NDCG, "tools": NDCG},
        }
    )


@pytest.mark.parametrize(
    ("top1", "ece", "says"),
    [
        (0.86, 0.0098, ("good: 86% of decisions held out", "exact: probabilities are 1 points off")),
        (0.65, 0.08, ("usable: 65%", "fair: probabilities are 8 points off in the mean (17 before calibration")),
        (0.4, 0.1956, ("weak, show it more demonstrations: 40%", "rough, more demonstrations make it exact")),
    ],
)
def test_figures_have_words(top1: float, ece: float, says: tuple[str, str]) -> None:
    told = built("default", top1, ece)
    assert all(each in told for each in says)
    assert f"ECE {ece:.4f}" in told and "encoder     int8, 23.6 MB" in told


def test_a_tiny_bundle_does_not_claim_the_encoder_that_it_was_made_with() -> None:
    told = built("tiny")
    assert "23.6 MB" not in told and "encoder     none; a table of token vectors" in told
    assert "profile tiny, 7.9 MB, for 44 tools; how good it is nobody can say" in told
