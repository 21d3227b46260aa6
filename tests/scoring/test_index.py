"""Exact and HNSW search by one interface, the same bytes for the same vectors, and which of them a bundle gets."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import tiny_bundle
from hypothesis import given
from hypothesis import strategies as st

from edgeret.bundle.reader import Bundle, open_bundle
from edgeret.errors import BundleError
from edgeret_export.recipe import Recipe
from edgeret_export.reference.scoring import index as indexing
from edgeret_export.reference.scoring import products
from edgeret_export.reference.scoring.index import (
    EF,
    Index,
    IndexKind,
    Neighbours,
    build_hnsw,
    hnswlib_available,
    load_index,
    open_hnsw,
)

needs_hnsw = pytest.mark.skipif(not hnswlib_available(), reason="hnswlib is not installed")


def vectors(n: int) -> np.ndarray:
    rows = np.random.default_rng(n).normal(size=(n, 16))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def opened(rows: np.ndarray) -> Neighbours:
    """A graph over rows."""
    return open_hnsw(build_hnsw(rows, 0), rows)


def index(n: int, kind: str) -> Index:
    v = vectors(n)
    return Index([f"t{i}" for i in range(n)], v, None if kind == "exact" else opened(v))


@pytest.mark.parametrize("kind", ["exact", pytest.param("hnsw", marks=needs_hnsw)])
def test_search_returns_the_nearest_first(kind: str) -> None:
    library = index(300, kind)
    assert library.kind == ("exact" if kind == "exact" else "hnsw")
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


@given(st.integers(1, 90), st.integers(1, 90), st.integers(0, 100))
def test_equal_cosines_keep_the_order_of_the_tools(n: int, different: int, k: int) -> None:
    rows = vectors(different)[np.arange(n) % different]
    library = Index([f"t{i}" for i in range(n)], rows)
    query = vectors(91)[0]
    expected = np.argsort(-library.similarities(query), kind="stable")[:k]
    np.testing.assert_array_equal(library.search(query, k)[0], expected)


@needs_hnsw
@pytest.mark.diagonal
@pytest.mark.parametrize("different", [1, 3, 2_000])
@pytest.mark.parametrize("k", [1, 10, EF, EF + 1, 2_000, 2_007])
def test_a_graph_over_many_equal_vectors_returns_as_many_tools_as_were_asked_for(different: int, k: int) -> None:
    rows = vectors(different)[np.arange(2_000) % different]
    library = Index([f"t{i}" for i in range(2_000)], rows, opened(rows))
    positions, similarities = library.search(rows[0], k)
    assert len(positions) == len(set(positions.tolist())) == min(k, 2_000)
    assert np.lexsort((positions, -similarities)).tolist() == list(range(len(positions)))


class Graph:
    """Stands for a graph: finds nothing, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def nearest(self, vector: np.ndarray) -> np.ndarray:
        self.asked += 1
        return np.empty(0, np.intp)


def test_what_the_graph_cannot_find_is_searched_exactly() -> None:
    rows, graph = vectors(200), Graph()
    library, exact = Index([f"t{i}" for i in range(200)], rows, graph), index(200, "exact")
    for k in (5, EF, EF + 1, 200):
        np.testing.assert_array_equal(library.search(rows[3], k), exact.search(rows[3], k))
    assert graph.asked == 2


def test_a_query_of_another_length_never_reaches_the_graph() -> None:
    graph = Graph()
    with pytest.raises(ValueError, match="mismatch"):
        Index([f"t{i}" for i in range(20)], vectors(20), graph).search(np.ones(15, np.float32), 5)
    assert graph.asked == 0


@needs_hnsw
def test_a_graph_is_built_and_opened_without_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    monkeypatch.delattr(os, "memfd_create", raising=False)
    rows = vectors(20)
    assert len(Index([f"t{i}" for i in range(20)], rows, opened(rows)).search(rows[0], 5)[0]) == 5


@pytest.fixture(scope="module")
def with_graph(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A bundle of six tools with a graph over them."""
    folder = tmp_path_factory.mktemp("graph") / "bundle"
    return open_bundle(tiny_bundle(folder, recipe=Recipe(precision="fp32", hnsw_from=1)))


def with_junk(bundle: Bundle) -> Bundle:
    """The same bundle with a graph that nobody may open."""
    return replace(bundle, contents={**bundle.contents, "hnsw.msgpack": b"junk"})


@needs_hnsw
def test_a_bundle_gets_the_search_that_was_asked_for(with_graph: Bundle) -> None:
    assert load_index(with_graph).kind == "exact"
    assert load_index(with_graph, "exact").kind == "exact"
    assert load_index(with_graph, "hnsw").kind == "hnsw"


@needs_hnsw
def test_auto_uses_the_graph_from_the_crossover_on(monkeypatch: pytest.MonkeyPatch, with_graph: Bundle) -> None:
    monkeypatch.setattr(indexing, "CROSSOVER", 7)
    assert load_index(with_graph).kind == "exact"
    monkeypatch.setattr(indexing, "CROSSOVER", 6)
    assert load_index(with_graph).kind == "hnsw"


@needs_hnsw
@pytest.mark.parametrize("kind", ["auto", "exact"])
def test_a_graph_that_is_not_used_is_not_read(with_graph: Bundle, kind: IndexKind) -> None:
    assert load_index(with_junk(with_graph), kind).kind == "exact"


@needs_hnsw
def test_a_forged_graph_is_refused_with_the_bundles_name(with_graph: Bundle) -> None:
    message = rf"^{re.escape(str(with_graph.path))} \(hnsw\): not a msgpack map"
    with pytest.raises(BundleError, match=message):
        load_index(with_junk(with_graph), "hnsw")


def test_hnsw_without_a_graph_says_how_to_get_one(tiny_original: Path) -> None:
    with pytest.raises(BundleError, match=r"bundle: no HNSW graph in it; .* with hnsw_from = 6 at most$"):
        load_index(open_bundle(tiny_original), "hnsw")


@needs_hnsw
def test_a_machine_whose_hnswlib_has_other_files_counts_as_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    assert not hnswlib_available()


@pytest.mark.parametrize("rows", [1, 40, 41, 127])
def test_cosines_are_the_same_in_pieces(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(rows)
    vectors, vector = rng.normal(size=(rows, 10)).astype(np.float32), rng.normal(size=10).astype(np.float32)
    monkeypatch.setattr(products, "PIECE", 400)  # 40 rows of 10 numbers
    found = products.cosines(vectors, vector)
    np.testing.assert_allclose(found, np.einsum("ij,j->i", vectors, vector), rtol=1e-5, atol=1e-5)


@given(st.lists(st.integers(-1, 39), max_size=60), st.integers(1, 70), st.booleans())
def test_rows_are_copied_and_zeros_for_none(positions: list[int], dimension: int, frozen: bool) -> None:
    vectors = np.random.default_rng(dimension).normal(size=(40, dimension)).astype(np.float32)
    vectors.flags.writeable = not frozen
    found = products.rows_at(vectors, np.array(positions, np.intp))
    expected = np.concatenate((vectors, np.zeros((1, dimension), np.float32)))[positions]
    np.testing.assert_array_equal(found, expected)


@given(st.integers(0, 30), st.lists(st.integers(0, 60), max_size=80))
def test_positions_are_put_together_rising_and_each_once(first: int, others: list[int]) -> None:
    found = products.with_others(first, np.array(others, np.intp))
    assert found.tolist() == sorted({*range(first), *others})
    assert found.dtype == np.intp
