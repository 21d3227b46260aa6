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
from conftest import build_tiny
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeret.bundle.codec import unpack
from edgeret.bundle.few_bits import from_bytes, to_bytes
from edgeret.bundle.reader import Bundle, open_bundle
from edgeret.errors import BundleError, MissingExtraError
from edgeret_export.recipe import Recipe
from edgeret_export.reference.kernel import address
from edgeret_export.reference.scoring import hnsw_file, products
from edgeret_export.reference.scoring import index as indexing
from edgeret_export.reference.scoring.compiled_many import CompiledLinks
from edgeret_export.reference.scoring.index import (
    EF,
    Index,
    IndexKind,
    Neighbours,
    build_hnsw,
    hnsw_available,
    hnswlib_available,
    load_index,
    open_hnsw,
)

needs_hnsw = pytest.mark.skipif(not hnswlib_available(), reason="hnswlib is not installed")
needs_library = pytest.mark.skipif(indexing.LIBRARY is None, reason="the package was built without a C compiler")
GRAPHS = [pytest.param("compiled", marks=[needs_hnsw, needs_library]), pytest.param("hnswlib", marks=needs_hnsw)]


def vectors(n: int) -> np.ndarray:
    rows = np.random.default_rng(n).normal(size=(n, 16))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def opened(rows: np.ndarray, kind: str, seed: int = 0) -> Neighbours:
    """A graph over rows, as the library or as hnswlib searches it."""
    with pytest.MonkeyPatch.context() as patch:
        if kind == "hnswlib":
            patch.setattr(indexing, "LIBRARY", None)
        return open_hnsw(build_hnsw(rows, seed), rows)


def index(n: int, kind: str) -> Index:
    v = vectors(n)
    return Index([f"t{i}" for i in range(n)], v, None if kind == "exact" else opened(v, kind))


@pytest.mark.parametrize("kind", ["exact", *GRAPHS])
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


@pytest.mark.parametrize("kind", GRAPHS)
def test_hnsw_bytes_are_the_same_twice_and_recall_is_high(kind: str) -> None:
    v = vectors(800)
    assert build_hnsw(v, 3) == build_hnsw(v, 3)
    exact, hnsw = index(800, "exact"), index(800, kind)
    found = [len(set(exact.search(q, 10)[0]) & set(hnsw.search(q, 10)[0])) for q in vectors(50)]
    assert np.mean(found) > 9


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 90), st.integers(1, 90), st.integers(0, 100))
def test_equal_cosines_keep_the_order_of_the_tools(n: int, different: int, k: int) -> None:
    rows = vectors(different)[np.arange(n) % different]
    library = Index([f"t{i}" for i in range(n)], rows)
    query = vectors(91)[0]
    expected = np.argsort(-library.similarities(query), kind="stable")[:k]
    np.testing.assert_array_equal(library.search(query, k)[0], expected)


@needs_hnsw
@needs_library
@settings(deadline=None, max_examples=60)
@given(st.integers(1, 1_500), st.integers(2, 100), st.booleans(), st.booleans(), st.integers(0, 9))
def test_the_library_finds_what_hnswlib_finds(n: int, dimension: int, uneven: bool, outlier: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    spread = np.exp(2 * rng.normal(size=dimension)) if uneven else np.ones(dimension)
    rows = rng.normal(size=(n + 5, dimension)) * spread
    rows[0] = [1.0, *[0.0] * (dimension - 1)] if outlier else rows[0]  # its bytes count for far more than others'
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    graphs = [opened(rows[:n], kind, seed) for kind in ("compiled", "hnswlib")]
    seen = from_bytes(*to_bytes(rows))
    for query in (*rows[n:], rows[1]):  # not the outlier, to which others are equally near in bytes
        found, expected = (graph.nearest(query) for graph in graphs)
        if len(expected) == 0:  # fewer than were wanted can be reached
            continue
        # Where two are as near to within the rounding of the query, either will do, and what it leads to.
        apart = np.sort(seen[found] @ query) - np.sort(seen[expected] @ query)
        assert np.abs(apart).mean() < 1e-3


@needs_library
@settings(deadline=None, max_examples=60)
@given(st.integers(1, 40), st.integers(1, 70), st.floats(1e-3, 1), st.integers(0, 9))
def test_the_library_keeps_rows_in_the_same_bytes_as_files_do(n: int, dimension: int, size: float, seed: int) -> None:
    rows = (np.random.default_rng(seed).normal(size=(n, dimension)) * size).astype(np.float32)
    rows[0] = 0
    few, scales = np.empty((n, dimension), np.int8), np.empty(n, np.float32)
    assert indexing.LIBRARY is not None
    indexing.LIBRARY.edgeret_few(address(rows), n, dimension, address(few), address(scales))
    numbers, expected = to_bytes(rows)
    assert (few.tobytes(), scales.tobytes()) == (numbers.tobytes(), expected.tobytes())


@needs_hnsw
@needs_library
def test_a_vector_that_is_not_to_be_written_is_searched_for_too() -> None:
    rows = vectors(300)
    rows.flags.writeable = False
    assert opened(rows, "compiled").nearest(rows[7])[0] == 7
    assert len(opened(rows, "compiled").nearest(np.full(16, np.nan, np.float32))) == 0


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("different", [1, 3, 2_000])
@pytest.mark.parametrize("k", [1, 10, EF, EF + 1, 2_000, 2_007])
def test_a_graph_over_many_equal_vectors_returns_as_many_tools_as_were_asked_for(
    kind: str, different: int, k: int
) -> None:
    rows = vectors(different)[np.arange(2_000) % different]
    library = Index([f"t{i}" for i in range(2_000)], rows, opened(rows, kind))
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


@needs_hnsw
@needs_library
def test_the_library_refuses_more_than_it_has_room_for() -> None:
    rows = vectors(300)
    links = hnsw_file.read_links(unpack(build_hnsw(rows, 0), "x"), 300, "x")
    with pytest.raises(ValueError, match="room for 64 candidates and 32 links"):
        CompiledLinks(indexing.LIBRARY, links, rows, 65)
    long = replace(links, starts=np.concatenate((links.starts[:1], links.starts[1:] + 33)))
    with pytest.raises(ValueError, match="room for 64 candidates and 32 links"):
        CompiledLinks(indexing.LIBRARY, long, rows, EF)


def test_a_query_of_another_length_never_reaches_the_graph() -> None:
    graph = Graph()
    with pytest.raises(ValueError, match="mismatch"):
        Index([f"t{i}" for i in range(20)], vectors(20), graph).search(np.ones(15, np.float32), 5)
    assert graph.asked == 0


@pytest.mark.parametrize("kind", GRAPHS)
def test_a_graph_is_built_and_opened_without_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    monkeypatch.delattr(os, "memfd_create", raising=False)
    rows = vectors(20)
    assert len(Index([f"t{i}" for i in range(20)], rows, opened(rows, kind)).search(rows[0], 5)[0]) == 5


@pytest.fixture(scope="module")
def with_graph(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A bundle of six tools with a graph over them."""
    folder = tmp_path_factory.mktemp("graph") / "bundle"
    return open_bundle(build_tiny(folder, recipe=Recipe(precision="fp32", hnsw_from=1)))


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
    monkeypatch.setattr(indexing, "hnsw_available", lambda: False)
    assert load_index(with_graph).kind == "exact"


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
def test_hnsw_without_hnswlib_names_the_extra(monkeypatch: pytest.MonkeyPatch, with_graph: Bundle) -> None:
    monkeypatch.setattr(indexing, "hnsw_available", lambda: False)
    with pytest.raises(MissingExtraError, match=r"^index 'hnsw' requires extra 'hnsw'\. Install it with"):
        load_index(with_graph, "hnsw")


@needs_hnsw
def test_a_machine_whose_hnswlib_has_other_files_counts_as_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    assert not hnswlib_available()
    assert hnsw_available() == (indexing.LIBRARY is not None)


@pytest.mark.parametrize("rows", [1, 40, 41, 127])
def test_cosines_are_the_same_in_pieces(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(rows)
    vectors, vector = rng.normal(size=(rows, 10)).astype(np.float32), rng.normal(size=10).astype(np.float32)
    monkeypatch.setattr(products, "PIECE", 400)  # 40 rows of 10 numbers
    found = products.cosines(vectors, vector)
    np.testing.assert_allclose(found, np.einsum("ij,j->i", vectors, vector), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("library", [pytest.param(True, marks=needs_library), False])
@settings(max_examples=60)
@given(st.lists(st.integers(-1, 39), max_size=60), st.integers(1, 70), st.booleans())
def test_rows_are_copied_and_zeros_for_none(library: bool, positions: list[int], dimension: int, frozen: bool) -> None:
    vectors = np.random.default_rng(dimension).normal(size=(40, dimension)).astype(np.float32)
    vectors.flags.writeable = not frozen
    with pytest.MonkeyPatch.context() as patch:
        if not library:
            patch.setattr(products, "LIBRARY", None)
        found = products.rows_at(vectors, np.array(positions, np.intp))
    expected = np.concatenate((vectors, np.zeros((1, dimension), np.float32)))[positions]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("library", [pytest.param(True, marks=needs_library), False])
@settings(max_examples=60)
@given(st.integers(0, 30), st.lists(st.integers(0, 60), max_size=80))
def test_positions_are_put_together_rising_and_each_once(library: bool, first: int, others: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if not library:
            patch.setattr(products, "LIBRARY", None)
        found = products.with_others(first, np.array(others, np.intp))
    assert found.tolist() == sorted({*range(first), *others})
    assert found.dtype == np.intp
