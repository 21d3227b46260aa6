"""DTDR-L: the factored form equals one linear layer over the concatenated features, beside the prior."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.bundle.few_bits import from_bytes
from edgeret.encoders.base import segment_means
from edgeret.types import SEGMENTS, SPELLING_BUCKETS
from edgeret_export.reference.few_bits import from_halves, to_bytes, to_halves
from edgeret_export.reference.scoring import products
from edgeret_export.reference.scoring.head import FactoredHead, HeadArrays, log_softmax

L, E = 5, 7
rng = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


SHOWN = rng.random((2 * L, L)) < 0.4
HISTORY = np.where(SHOWN, normal(2 * L, L), 0).astype(np.float32)
"""The rows of called tools, then of the last one, most of them with few labels."""


ARRAYS = HeadArrays(
    labels=(*"abcd", "<end>"),
    weights=normal(L, E),
    bias=normal(L),
    starts=np.cumsum([0, *SHOWN.sum(axis=1)]),
    followers=np.nonzero(SHOWN)[1],
    values=HISTORY[SHOWN],
    count=normal(4, L),
    description_weight=0.7,
    segment_weights=normal(3, SEGMENTS),
    prior_weight=1.3,
    prior_steps=False,
    popular_names=(*"abcd", "<end>", "x", "y"),
    popular=normal(L + 2),
    spelling=np.random.default_rng(1).integers(-127, 128, (SPELLING_BUCKETS, L), np.int8),
    spelling_scales=np.linspace(0.01, 0.02, L, dtype=np.float32),
)
HEAD, OVER_PRIOR = FactoredHead(ARRAYS), FactoredHead(replace(ARRAYS, prior_steps=True))
VECTOR, PARTS, TOOLS = normal(E), normal(SEGMENTS, E), normal(L - 1, E)
COSINES = np.vstack((VECTOR, PARTS)) @ TOOLS.T
STATIC = normal(L + 2)
SPELT = np.array([3, 700]), np.array([0.6, -0.8], np.float32)


@given(st.lists(st.integers(-1, L - 2), max_size=6))
def test_factored_head_is_one_linear_layer(history: list[int]) -> None:
    stage, count = min(len(history), 2), min(len(history), 3)
    expected = ARRAYS.weights @ VECTOR + ARRAYS.bias + ARRAYS.count[count] + 1.3 * STATIC[:L]
    expected += (0.6 * ARRAYS.spelling[3] - 0.8 * ARRAYS.spelling[700]) * ARRAYS.spelling_scales
    for label in range(L - 1):
        expected[label] += 0.7 * TOOLS[label] @ VECTOR
        expected[label] += sum(ARRAYS.segment_weights[stage, j] * (TOOLS[label] @ PARTS[j]) for j in range(SEGMENTS))
    for tool in set(history) - {-1}:
        expected += HISTORY[tool]
    if history and history[-1] >= 0:
        expected += HISTORY[L + history[-1]]
    found = log_softmax(HEAD.logits(HEAD.query_logits(VECTOR, COSINES, STATIC, SPELT), history))
    np.testing.assert_allclose(found, expected - np.log(np.exp(expected).sum()), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("way", [(to_bytes, from_bytes, 127), (to_halves, from_halves, 7)])
def test_rounded_rows_are_off_by_half_a_unit_of_their_own_at_most(way: tuple[Any, Any, int]) -> None:
    pack, unpack, most = way
    rows = normal(6, 8) * np.array([1e-6, 1e-3, 1, 30, 1e4, 0], np.float32)[:, None]
    numbers, scales = pack(rows)
    assert (numbers.dtype, scales.dtype) == (np.int8, np.float32)
    off = np.abs(unpack(numbers, scales) - rows)
    assert (off <= np.abs(rows).max(axis=1, keepdims=True) / most * 0.501).all()


def test_logits_that_rest_on_the_prior_at_every_step_leave_its_static_part_out() -> None:
    without = FactoredHead(replace(ARRAYS, prior_weight=0.0)).query_logits(VECTOR, COSINES, STATIC, SPELT)
    np.testing.assert_array_equal(OVER_PRIOR.query_logits(VECTOR, COSINES, STATIC, SPELT), without)


def beside(n: int, prior: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Logits of the labels; log-probabilities of the prior over n names; popular ones; and what comes of them."""
    logits = normal(L)
    prior = log_softmax(normal(n)) if prior is None else prior
    popular = prior + normal(n)
    return logits, prior, popular, OVER_PRIOR.beside(logits, prior, popular)


@pytest.mark.parametrize("n", [L, L + 1, L + 4])
def test_logits_and_prior_make_one_distribution_over_all_tools(n: int) -> None:
    logits, prior, popular, found = beside(n)
    assert (found.shape, found.dtype) == ((n,), np.float32)
    assert np.exp(log_softmax(found)).sum() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(found[:L], logits + 1.3 * prior[:L], rtol=1e-5)
    if n > L:
        together = np.log(np.exp(popular[L:]).sum())
        assert np.log(np.exp(found[L:]).sum()) == pytest.approx(1.3 * together, abs=1e-4)
        np.testing.assert_allclose(found[L:] - found[L], popular[L:] - popular[L], atol=1e-5)


def test_where_the_head_says_nothing_every_tool_keeps_what_the_prior_gives() -> None:
    prior = log_softmax(normal(L + 3))
    plain = FactoredHead(replace(ARRAYS, prior_steps=True, prior_weight=1.0))
    np.testing.assert_allclose(log_softmax(plain.beside(np.zeros(L, np.float32), prior, prior)), prior, atol=1e-5)


def test_what_may_not_be_chosen_weighs_next_to_nothing_and_is_finite() -> None:
    prior = log_softmax(normal(L + 3))
    prior[[1, L, L + 2]] = -np.inf
    found = beside(L + 3, prior)[3]
    assert np.isfinite(found).all()
    assert np.exp(log_softmax(found))[[1, L, L + 2]].max() < 1e-15
    prior[L:] = -np.inf  # all that were not demonstrated
    assert np.isfinite(beside(L + 3, prior)[3]).all()


def test_popularity_is_told_by_name() -> None:
    assert list(HEAD.popularity) == [*"abcd", "<end>", "x", "y"]
    assert HEAD.popularity["x"] == pytest.approx(float(ARRAYS.popular[L]))


@pytest.mark.parametrize("tools", [0, 1, 2, 13, 40])
@pytest.mark.parametrize("piece", [1, 100, 10**9])
def test_products_are_the_same_in_pieces(monkeypatch: pytest.MonkeyPatch, tools: int, piece: int) -> None:
    monkeypatch.setattr(products, "PIECE", piece)
    vectors, rows = normal(tools, E), np.vstack((VECTOR, PARTS))
    found = products.product(rows, vectors)
    assert (found.shape, found.dtype) == ((4, tools), np.float32)
    np.testing.assert_allclose(found, rows @ vectors.T, rtol=1e-4, atol=1e-5)


def test_a_step_leaves_the_cached_part_alone() -> None:
    cached = HEAD.query_logits(VECTOR, COSINES, STATIC, SPELT)
    before = cached.copy()
    log_softmax(HEAD.logits(cached, [0, 1]))
    np.testing.assert_array_equal(cached, before)


def test_log_softmax_survives_large_logits() -> None:
    found = log_softmax(np.array([1e4, 0, -1e4], np.float32))
    assert found[0] == pytest.approx(0)
    assert np.isfinite(found).all()


def test_segments_are_unit_means_of_consecutive_words() -> None:
    found = segment_means(np.eye(6, dtype=np.float32))
    half = np.sqrt(0.5)
    np.testing.assert_allclose(found[0], [half, half, 0, 0, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(found[2], [0, 0, 0, 0, half, half], rtol=1e-6)


@given(st.integers(0, 12))
def test_segments_cover_every_word_once(words: int) -> None:
    found = segment_means(np.eye(13, dtype=np.float32)[:words])
    assert found.shape == (SEGMENTS, 13)
    assert ((found > 0).sum(axis=0)[:words] == 1).all()
    # The same rule as floor(i * 3 / words), by which the weights were fitted.
    for i in range(words):
        assert found[i * SEGMENTS // words, i] > 0
