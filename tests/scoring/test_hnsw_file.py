"""Links of an HNSW graph: each abuse refused by name, and forged ones give no nonsense."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from edgeret.bundle.codec import unpack
from edgeret.errors import BundleError
from edgeret_export.reference.scoring.hnsw_file import Links, pack_links, read_links
from edgeret_export.reference.scoring.hnsw_walk import Walk
from edgeret_export.reference.scoring.index import EF, Index, build_hnsw, open_hnsw

hnswlib = pytest.importorskip("hnswlib")

PLACES, UPPER_PLACES = 32, 16


def unit(rows: int, dimension: int = 8, seed: int = 0) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(rows, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


class Graph:
    """A graph in pieces, to be changed and put together again."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        links = read_links(unpack(build_hnsw(vectors, 0), "built"), len(vectors), "built")
        self.vectors, self.entry, self.levels = vectors, links.entry, links.levels.astype(int)
        self.level_of_list = links.level_of_list()
        self.lists = [found.tolist() for found in np.split(links.targets, links.starts[1:-1])]

    def links(self) -> Links:
        starts = np.cumsum([0, *map(len, self.lists)])
        return Links(self.levels, self.entry, starts, np.array([t for found in self.lists for t in found], int))

    def data(self) -> bytes:
        return pack_links(self.links(), "")

    def on(self, level: int) -> int:
        """The first list on this level that leads anywhere."""
        return next(i for i, found in enumerate(self.lists) if found and self.level_of_list[i] == level)

    def search(self, k: int = 10) -> NDArray[np.intp]:
        """What is nearest to each row, through the file as it is now; shape (rows, k)."""
        index = Index([str(i) for i in range(len(self.vectors))], self.vectors, open_hnsw(self.data(), self.vectors))
        return np.array([index.search(vector, k)[0] for vector in self.vectors])


@pytest.fixture
def graph() -> Graph:
    return Graph(unit(500))


def refused(graph: Graph, message: str, **fields: Any) -> None:
    value = unpack(graph.data(), "forged")
    packed = unpack(pack_links(replace(graph.links(), **fields), ""), "forged") if fields else value
    with pytest.raises(BundleError, match=rf"^here: .*{re.escape(message)}.*; build the bundle again$"):
        read_links(packed, len(graph.vectors), "here")


@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 300), st.integers(0, 9))
def test_what_is_searched_is_what_hnswlib_built(rows: int, dimension: int, different: int, seed: int) -> None:
    vectors = unit(different, dimension, seed)[np.arange(rows) % different]
    built = hnswlib.Index(space="ip", dim=dimension)
    built.init_index(max_elements=rows, M=16, ef_construction=200, random_seed=seed)
    built.add_items(vectors, np.arange(rows), num_threads=1)
    links = read_links(unpack(build_hnsw(vectors, seed), "built"), rows, "built")
    built.set_ef(EF)
    assert links.entry == built.__getstate__()[0]["enterpoint_node"]
    query = unit(1, dimension, seed + 1)[0]
    theirs = built.knn_query(query, k=1)[0][0]
    ours = Walk(links, vectors, EF).nearest(query)[:1]
    # Rows in bytes are off by a hundredth.
    assert vectors[ours] @ query == pytest.approx(vectors[theirs] @ query, abs=0.02)


def test_golden_bytes() -> None:
    links = Links(np.array([0, 1, 1]), 1, np.array([0, 1, 3, 4, 5, 6]), np.array([1, 0, 2, 1, 2, 1]))
    data = pack_links(links, "f" * 64)
    assert hashlib.sha256(data).hexdigest() == "a61c239bd2954b9c9955cd837282c50cfdff1b292e499e4a1ca77ce17e23c609"
    found = read_links(unpack(data, "golden"), 3, "golden")
    assert (found.entry, found.levels.tolist(), found.starts.tolist()) == (1, [0, 1, 1], [0, 1, 3, 4, 5, 6])


@pytest.mark.parametrize("level", [-1, 16, 127])
def test_a_level_that_no_element_has_is_refused(graph: Graph, level: int) -> None:
    graph.levels[17] = level
    refused(graph, "expected 0 to 15")


@pytest.mark.parametrize("entry", [-1, 500, 2**32 - 1, 2**63 - 1])
def test_an_entry_point_beyond_the_rows_is_refused(graph: Graph, entry: int) -> None:
    refused(graph, f"the entry point is element {entry} of 500", entry=entry)


def test_an_entry_point_below_the_highest_level_is_refused(graph: Graph) -> None:
    refused(graph, "expected one of the highest level", entry=int(np.flatnonzero(graph.levels == 0)[0]))


@pytest.mark.parametrize("level", [0, 1])
def test_more_links_than_a_list_has_places_are_refused(graph: Graph, level: int) -> None:
    places = (PLACES, UPPER_PLACES)[level]
    graph.lists[graph.on(level)] = [graph.entry] * (places + 1)
    refused(graph, f"has {places + 1} links, expected at most {places}")


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("target", [-1, 500, 2**31 - 1])
def test_a_link_beyond_the_rows_is_refused(graph: Graph, level: int, target: int) -> None:
    graph.lists[graph.on(level)][0] = target
    refused(graph, f"a link leads to element {target} of 500")


def test_an_upper_link_to_an_element_without_that_level_is_refused(graph: Graph) -> None:
    low = int(np.flatnonzero(graph.levels == 1)[0])
    graph.lists[graph.on(2)][0] = low
    refused(graph, f"a link on level 2 leads to element {low}, which ends below it")


@pytest.mark.parametrize("place", [0, 17, -1])
@pytest.mark.parametrize("value", [-1, 1, 2**31 - 1])
def test_starts_that_do_not_rise_from_nothing_to_all_links_are_refused(graph: Graph, place: int, value: int) -> None:
    starts = graph.links().starts.copy()
    starts[place] = value
    refused(graph, "its starts do not go from 0 to its", starts=starts)


def test_a_graph_of_another_number_of_rows_or_another_encoder_is_refused() -> None:
    data = build_hnsw(unit(60), 0, "a" * 64)
    for rows in (59, 61):
        with pytest.raises(BundleError, match=rf'^here: "levels" must have shape \({rows},\)'):
            open_hnsw(data, unit(rows), "here")
    with pytest.raises(BundleError, match=r"^here: made for another encoder"):
        open_hnsw(data, unit(60), "here", "b" * 64)


def test_links_to_oneself_and_repeated_links_are_harmless(graph: Graph) -> None:
    owners = [np.flatnonzero(graph.levels >= level) for level in range(graph.levels.max() + 1)]
    for place, owner in enumerate(np.concatenate(owners).tolist()):
        graph.lists[place] = ([owner] * 4 + graph.lists[place])[: PLACES if place < 500 else UPPER_PLACES]
    found = graph.search()
    assert all(len(set(row)) == 10 for row in found.tolist())
    assert found.min() >= 0
    assert found.max() < 500


def test_a_graph_without_links_answers_like_exact_search(graph: Graph) -> None:
    graph.lists = [[] for _ in graph.lists]
    exact = Index([str(i) for i in range(500)], graph.vectors)
    np.testing.assert_array_equal(graph.search(), [exact.search(vector, 10)[0] for vector in graph.vectors])


def with_hostile_numbers(vectors: NDArray[np.float32], n: int, rng: np.random.Generator) -> Iterator[bytes]:
    """Numbers of every array replaced by every sort of number."""
    rows, links = len(vectors), Graph(vectors).links()
    values = (-(2**31), -1, 0, 1, 2, 15, 16, 17, 33, rows - 1, rows, rows + 1, 2**16, 2**31 - 1)
    for key in ("levels", "starts", "targets", "entry"):
        for _ in range(n):
            array = np.array(getattr(links, key), np.int64)
            array.reshape(-1)[rng.integers(array.size, size=rng.integers(1, 3))] = values[rng.integers(len(values))]
            array = np.clip(array, -128, 127) if key == "levels" else array
            yield pack_links(replace(links, **{key: int(array) if key == "entry" else array}), "")


def with_legal_damage(vectors: NDArray[np.float32], n: int, rng: np.random.Generator) -> Iterator[bytes]:
    """Links by chance in the right structure, some of which a careless check would let through."""
    for i in range(n):
        graph = Graph(vectors)
        for place, level in enumerate(graph.level_of_list.tolist()):
            places = UPPER_PLACES if level else PLACES
            among = np.flatnonzero(graph.levels >= level - i % 4 // 3)
            graph.lists[place] = rng.choice(among, rng.integers(0, 1 + places)).tolist()
        yield graph.data()


def search_forgeries(rows: int, n: int, seed: int) -> None:
    """Prints how many files there were and how many passed."""
    vectors, names, rng = unit(rows), [str(i) for i in range(rows)], np.random.default_rng(seed)
    queries = [*unit(3, seed=1), vectors[0]]
    tried = accepted = 0
    forgeries = (*with_hostile_numbers(vectors, 3 * n, rng), *with_legal_damage(vectors, n, rng))
    for tried, data in enumerate(forgeries, start=1):
        try:
            index = Index(names, vectors, open_hnsw(data, vectors))
        except BundleError:
            continue
        accepted += 1
        for query in queries:
            for k in (1, 10, EF, rows):
                positions, cosines = index.search(query, k)
                assert len(positions) == len(set(positions.tolist())) == min(k, rows), (tried, k)
                assert positions.min() >= 0 and positions.max() < rows, (tried, k)
                np.testing.assert_allclose(cosines, vectors[positions] @ query, atol=1e-6)
    sys.stdout.write(f"{tried} {accepted}")


@pytest.mark.parametrize("rows", [60, pytest.param(500, marks=pytest.mark.full)])
def test_no_forged_file_kills_the_process_or_gives_nonsense(rows: int) -> None:
    code = f"import test_hnsw_file as t; t.search_forgeries({rows}, 40, 7)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent, check=False
    )
    assert done.returncode == 0, done.stderr
    tried, accepted = map(int, done.stdout.split())
    assert tried > 500
    assert 20 < accepted < tried / 2
