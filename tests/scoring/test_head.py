"""DTDR-L: the factored form equals one linear layer over the concatenated features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeret.encoders.base import segment_means
from edgeret.scoring import head
from edgeret.scoring.head import FactoredHead, log_softmax
from edgeret.types import SEGMENTS

L, E = 5, 7
rng = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


HEAD = FactoredHead(
    [*list("abcd"), "<end>"],
    normal(L, E),
    normal(L),
    normal(L, L),
    normal(L, L),
    normal(4, L),
    0.7,
    normal(3, SEGMENTS),
)
VECTOR, PARTS, TOOLS = normal(E), normal(SEGMENTS, E), normal(L - 1, E)


@settings(max_examples=50)
@given(st.lists(st.integers(-1, L - 2), max_size=6))
def test_factored_head_is_one_linear_layer(history: list[int]) -> None:
    stage, count = min(len(history), 2), min(len(history), 3)
    expected = HEAD.weights @ VECTOR + HEAD.bias + HEAD.count[count]
    for label in range(L - 1):
        expected[label] += 0.7 * TOOLS[label] @ VECTOR
        expected[label] += sum(HEAD.segment_weights[stage, j] * (TOOLS[label] @ PARTS[j]) for j in range(SEGMENTS))
    for tool in set(history) - {-1}:
        expected += HEAD.called[tool]
    if history and history[-1] >= 0:
        expected += HEAD.last[history[-1]]
    found = HEAD.log_probabilities(
        HEAD.query_logits(VECTOR, HEAD.products(np.vstack((VECTOR, PARTS)), HEAD.pieces(TOOLS))[1:]), history
    )
    np.testing.assert_allclose(found, expected - np.log(np.exp(expected).sum()), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("tools", [0, 1, 2, 13, 40])
@pytest.mark.parametrize("piece", [1, 100, 10**9])
def test_descriptions_are_the_same_in_pieces(monkeypatch: pytest.MonkeyPatch, tools: int, piece: int) -> None:
    monkeypatch.setattr(head, "PIECE", piece)
    vectors, parts = normal(tools, E), np.vstack((VECTOR, PARTS))
    mixtures = [VECTOR, *(0.7 * VECTOR + HEAD.segment_weights[s] @ PARTS for s in range(3))]
    found = HEAD.products(parts, HEAD.pieces(vectors))
    assert (found.shape, found.dtype) == ((4, tools), np.float32)
    np.testing.assert_allclose(found, np.stack(mixtures) @ vectors.T, rtol=1e-4, atol=1e-5)


def test_a_step_leaves_the_cached_part_alone() -> None:
    cached = HEAD.query_logits(VECTOR, HEAD.products(np.vstack((VECTOR, PARTS)), HEAD.pieces(TOOLS))[1:])
    before = cached.copy()
    HEAD.log_probabilities(cached, [0, 1])
    np.testing.assert_array_equal(cached, before)


def test_log_softmax_survives_large_logits() -> None:
    found = log_softmax(np.array([1e4, 0, -1e4], np.float32))
    assert found[0] == pytest.approx(0)
    assert np.isfinite(found).all()


def test_segments_are_unit_means_of_consecutive_words() -> None:
    words = np.eye(6, dtype=np.float32)
    tokens = np.vstack((9 * np.ones((1, 6)), words, 9 * np.ones((1, 6)))).astype(np.float32)
    found = segment_means(tokens)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(found[0], [half, half, 0, 0, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(found[2], [0, 0, 0, 0, half, half], rtol=1e-6)


@given(st.integers(0, 12))
def test_segments_cover_every_word_once(words: int) -> None:
    tokens = np.vstack((np.zeros((1, 13)), np.eye(13)[:words], np.zeros((1, 13)))).astype(np.float32)
    found = segment_means(tokens)
    assert found.shape == (SEGMENTS, 13)
    assert ((found > 0).sum(axis=0)[:words] == 1).all()
    # The same rule as floor(i * 3 / words), by which the weights were fitted.
    for i in range(words):
        assert found[i * SEGMENTS // words, i] > 0
