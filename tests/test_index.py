"""Exact and HNSW search by one interface, and the same bytes for the same vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.index import Index, build_hnsw, hnsw_available, open_hnsw

needs_hnsw = pytest.mark.skipif(not hnsw_available(), reason="hnswlib is not installed")


def vectors(n: int) -> np.ndarray:
    rows = np.random.default_rng(n).normal(size=(n, 16))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def index(n: int, kind: str) -> Index:
    v = vectors(n)
    return Index([f"t{i}" for i in range(n)], v, open_hnsw(build_hnsw(v, 0), v) if kind == "hnsw" else None)


@pytest.mark.parametrize("kind", ["exact", pytest.param("hnsw", marks=needs_hnsw)])
def test_search_returns_the_nearest_first(kind: str) -> None:
    library = index(300, kind)
    assert library.kind == kind
    positions, similarities = library.search(library.vectors[17], 5)
    assert positions[0] == 17
    assert similarities[0] == pytest.approx(1, abs=1e-5)
    assert list(similarities) == sorted(similarities, reverse=True)
    np.testing.assert_allclose(similarities, library.vectors[positions] @ library.vectors[17], rtol=1e-5)


@given(st.integers(1, 40), st.integers(1, 60))
def test_exact_search_agrees_with_sorting(n: int, k: int) -> None:
    library = index(n, "exact")
    query = vectors(41)[0]
    expected = np.argsort(-(library.vectors @ query), kind="stable")[:k]
    np.testing.assert_array_equal(library.search(query, k)[0], expected)


@needs_hnsw
def test_hnsw_bytes_are_the_same_twice_and_recall_is_high() -> None:
    v = vectors(800)
    assert build_hnsw(v, 3) == build_hnsw(v, 3)
    exact, hnsw = index(800, "exact"), index(800, "hnsw")
    found = [len(set(exact.search(q, 10)[0]) & set(hnsw.search(q, 10)[0])) for q in vectors(50)]
    assert np.mean(found) > 9
