"""Graph files that nobody should hand to hnswlib: each abuse refused by name, and forged ones that cannot kill us."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from edgeret.errors import BundleError
from edgeret.scoring.hnsw_file import check
from edgeret.scoring.index import EF, Index, build_hnsw, open_hnsw

pytest.importorskip("hnswlib")

HEADER = struct.Struct("<6QiI3QdQ")
ROOM, COUNT, SIZE, LABEL_AT, VECTOR_AT, HIGHEST, ENTRY, UPPER_LINKS, LINKS, M, MULTIPLIER, EF_BUILD = range(1, 13)
PLACES, UPPER_PLACES = 32, 16


def unit(rows: int, dimension: int = 8, seed: int = 0) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(rows, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


class GraphFile:
    """A graph file in pieces, to be changed and put together again."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        data = build_hnsw(vectors, 0)
        rows, dimension = vectors.shape
        self.vectors = vectors
        self.header = list(HEADER.unpack_from(data))
        words = [("count", "<u4"), ("links", "<u4", (PLACES,)), ("vector", "<f4", (dimension,)), ("label", "<u8")]
        self.elements = np.frombuffer(data, words, rows, HEADER.size).copy()
        self.lists: list[NDArray[np.uint32]] = []
        position = HEADER.size + self.elements.nbytes
        for _ in range(rows):
            (size,) = struct.unpack_from("<I", data, position)
            upper = np.frombuffer(data, "<u4", size // 4, position + 4)
            self.lists.append(upper.reshape(-1, 1 + UPPER_PLACES).copy())
            position += 4 + size
        self.sizes = [upper.nbytes for upper in self.lists]
        assert self.data() == data

    def data(self) -> bytes:
        lists = [struct.pack("<I", size) + upper.tobytes() for size, upper in zip(self.sizes, self.lists, strict=True)]
        return HEADER.pack(*self.header) + self.elements.tobytes() + b"".join(lists)

    def levels(self) -> NDArray[np.intp]:
        return np.array([len(upper) for upper in self.lists])

    def with_level(self, level: int) -> int:
        """The first element that ends at `level`."""
        return int(np.flatnonzero(self.levels() == level)[0])

    def search(self, k: int = 10) -> NDArray[np.intp]:
        """What is nearest to each row, through the file as it is now; shape (rows, k)."""
        index = Index([str(i) for i in range(len(self.vectors))], self.vectors, open_hnsw(self.data(), self.vectors))
        return np.array([index.search(vector, k)[0] for vector in self.vectors])


@pytest.fixture
def graph() -> GraphFile:
    return GraphFile(unit(500))


def refused(graph: GraphFile, message: str) -> None:
    with pytest.raises(BundleError, match=rf"^here: .*{re.escape(message)}.*; build the bundle again$"):
        check(graph.data(), graph.vectors, "here")


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 300), st.integers(0, 9))
def test_the_file_as_built_passes(rows: int, dimension: int, different: int, seed: int) -> None:
    vectors = unit(different, dimension, seed)[np.arange(rows) % different]
    check(build_hnsw(vectors, seed), vectors, "here")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (0, 4, "expected 0 as the offset of the links, found 4"),
        (ROOM, 499, "expected 500 as the room for elements, found 499"),
        (ROOM, 2**63, f"expected 500 as the room for elements, found {2**63}"),
        (COUNT, 501, "expected 500 as the number of elements, found 501"),
        (COUNT, 0, "expected 500 as the number of elements, found 0"),
        (SIZE, 0, "expected 172 as the bytes of an element, found 0"),
        (LABEL_AT, 2**40, f"expected 164 as the offset of the label, found {2**40}"),
        (VECTOR_AT, 136, "expected 132 as the offset of the vector, found 136"),
        (UPPER_LINKS, 2**32, f"expected 16 as the links on upper levels, found {2**32}"),
        (LINKS, 64, "expected 32 as the links on level 0, found 64"),
        (M, 0, "expected 16 as M, found 0"),
        (MULTIPLIER, float("nan"), "as the multiplier of levels, found nan"),
        (MULTIPLIER, 0.0, "as the multiplier of levels, found 0.0"),
        (EF_BUILD, 2**64 - 1, f"expected 200 as ef of the build, found {2**64 - 1}"),
        (HIGHEST, -1, "expected a highest level from 0 to 15, found -1"),
        (HIGHEST, 2**31 - 1, f"expected a highest level from 0 to 15, found {2**31 - 1}"),
        (ENTRY, 500, "the entry point is element 500 of 500"),
        (ENTRY, 2**32 - 1, f"the entry point is element {2**32 - 1} of 500"),
    ],
)
def test_a_header_that_no_build_writes_is_refused(
    graph: GraphFile, field: int, value: float | int, message: str
) -> None:
    graph.header[field] = value
    refused(graph, message)


def test_an_entry_point_below_the_highest_level_is_refused(graph: GraphFile) -> None:
    highest = graph.header[HIGHEST]
    graph.header[ENTRY] = graph.with_level(0)
    refused(graph, f"the entry point has level 0, the highest element {highest}; expected {highest} for both")


@pytest.mark.parametrize("step", [-1, 1])
def test_a_highest_level_that_is_not_the_highest_elements_is_refused(graph: GraphFile, step: int) -> None:
    highest = graph.header[HIGHEST]
    graph.header[HIGHEST] += step
    refused(graph, f"the highest element {highest}; expected {highest + step} for both")


@pytest.mark.parametrize("count", [33, 2**16 - 1, 2**16 + 1, 2**32 - 1])
def test_a_link_count_beyond_its_places_is_refused(graph: GraphFile, count: int) -> None:
    graph.elements["count"][17] = count
    refused(graph, f"a link count on level 0 is {count}, expected at most 32")


def test_a_delete_mark_is_refused(graph: GraphFile) -> None:
    graph.elements["count"][17] |= 1 << 16
    refused(graph, "a link count on level 0 is 655")


@pytest.mark.parametrize("target", [500, 2**31, 2**32 - 1])
def test_a_link_beyond_the_rows_is_refused(graph: GraphFile, target: int) -> None:
    graph.elements["links"][17, 0] = target
    refused(graph, f"a link on level 0 leads to element {target} of 500")


@pytest.mark.parametrize("label", [500, 2**64 - 1])
def test_a_label_beyond_the_rows_is_refused(graph: GraphFile, label: int) -> None:
    graph.elements["label"][17] = label
    refused(graph, f"an element is labelled {label}, expected a row from 0 to 499")


def test_a_label_twice_is_refused(graph: GraphFile) -> None:
    graph.elements["label"][17] = 18
    refused(graph, "two elements are labelled 18")


def test_another_vector_than_the_rows_is_refused(graph: GraphFile) -> None:
    graph.elements["vector"][17, 3] = np.nextafter(graph.elements["vector"][17, 3], np.float32(2))
    refused(graph, "the vector of element 17 is not that of row 17")


def test_labels_exchanged_without_their_vectors_are_refused(graph: GraphFile) -> None:
    graph.elements["label"][[17, 18]] = [18, 17]
    refused(graph, "the vector of element 17 is not that of row 18")


@pytest.mark.parametrize("size", [4, 67, 69, 16 * 68, 2**32 - 68])
def test_upper_lists_of_a_size_that_no_level_has_are_refused(graph: GraphFile, size: int) -> None:
    element = graph.with_level(1)
    graph.sizes[element] = size
    refused(graph, f"the upper lists of element {element} have {size} bytes, expected a multiple of 68 up to 1020")


def test_an_upper_link_count_beyond_its_places_is_refused(graph: GraphFile) -> None:
    graph.lists[graph.with_level(1)][0, 0] = 17
    refused(graph, "a link count on level 1 is 17, expected at most 16")


@pytest.mark.parametrize("target", [500, 2**32 - 1])
def test_an_upper_link_beyond_the_rows_is_refused(graph: GraphFile, target: int) -> None:
    graph.lists[graph.with_level(2)][1, :2] = 1, target
    refused(graph, f"a link on level 2 leads to element {target} of 500")


def test_an_upper_link_to_an_element_without_that_level_is_refused(graph: GraphFile) -> None:
    low = graph.with_level(1)
    graph.lists[graph.with_level(2)][1, :2] = 1, low
    refused(graph, f"a link on level 2 leads to element {low}, which ends below it")


def test_upper_lists_beyond_the_end_of_the_file_are_refused(graph: GraphFile) -> None:
    assert graph.sizes[-1] == 0
    graph.sizes[-1] = 68
    size = len(graph.data())
    refused(graph, f"expected {size + 68} bytes by its lists, found {size}")


@settings(deadline=None)
@given(st.integers(0, 12_000), st.binary(min_size=1, max_size=80))
def test_a_file_cut_short_or_with_something_behind_it_is_refused(cut: int, more: bytes) -> None:
    vectors = unit(60)
    data = build_hnsw(vectors, 0)
    for forged in (data[: cut % len(data)], data + more):
        with pytest.raises(BundleError, match=r"do not fit into|upper lists of element|by its lists, found|highest"):
            check(forged, vectors, "here")


def test_a_graph_of_another_number_of_rows_or_dimensions_is_refused() -> None:
    data = build_hnsw(unit(60), 0)
    for vectors, message in (
        (unit(61), "expected 61 as the room for elements, found 60"),
        (unit(59), "expected 59 as the room for elements, found 60"),
        (unit(60, 7), "expected 168 as the bytes of an element, found 172"),
        (unit(60, 9), "expected 176 as the bytes of an element, found 172"),
        (unit(100), "100 elements of 8 numbers do not fit into"),
    ):
        with pytest.raises(BundleError, match=message):
            check(data, vectors, "here")


def test_elements_in_another_order_than_the_rows_pass(graph: GraphFile) -> None:
    order = np.random.default_rng(0).permutation(500)
    before = graph.search()
    graph.vectors = graph.vectors[order]
    graph.elements["label"] = np.argsort(order)
    check(graph.data(), graph.vectors, "here")
    np.testing.assert_array_equal(order[graph.search()], before[order])


def test_links_to_oneself_and_repeated_links_are_harmless(graph: GraphFile) -> None:
    graph.elements["links"][:, :4] = np.arange(500)[:, None]
    graph.elements["count"] = np.maximum(graph.elements["count"], 4)
    for element, upper in enumerate(graph.lists):
        upper[:, 0], upper[:, 1:] = UPPER_PLACES, element
    found = graph.search()
    assert all(len(set(row)) == 10 for row in found.tolist())
    assert found.min() >= 0
    assert found.max() < 500


def test_a_graph_without_links_answers_like_exact_search(graph: GraphFile) -> None:
    graph.elements["count"] = 0
    exact = Index([str(i) for i in range(500)], graph.vectors)
    np.testing.assert_array_equal(graph.search(), [exact.search(vector, 10)[0] for vector in graph.vectors])


def hostile(rows: int, rng: np.random.Generator) -> int:
    values = (0, 1, rows - 1, rows, rows + 1, 2**16, 2**31 - 1, 2**31, 2**32 - 1, int(rng.integers(2**32)))
    return values[rng.integers(len(values))]


def with_hostile_numbers(graph: GraphFile, n: int, rng: np.random.Generator) -> Iterator[bytes]:
    """Every header word replaced by every sort of number, and `n` words or halves of them in each other region."""
    built, rows = graph.data(), len(graph.vectors)
    elements = np.arange(rows) * graph.elements.itemsize + HEADER.size
    end = HEADER.size + graph.elements.nbytes
    uppers = end + np.cumsum([0, *(4 + size for size in graph.sizes)])[:-1]
    has_upper = uppers[graph.levels() > 0]
    regions = (
        elements,
        elements + 4 * rng.integers(1, 1 + PLACES, rows),
        elements + 132 + 4 * rng.integers(graph.vectors.shape[1], size=rows),
        elements + graph.elements.itemsize - 8 + 4 * rng.integers(2, size=rows),
        uppers,
        has_upper + 4,
        has_upper + 4 + 4 * rng.integers(1, 1 + UPPER_PLACES, len(has_upper)),
    )
    places = [p for p in range(0, HEADER.size, 4) for _ in range(10)]
    places += [int(place) for region in regions for place in rng.choice(region, n)]
    for place in places:
        forged = bytearray(built)
        if rng.integers(3):
            struct.pack_into("<I", forged, place, hostile(rows, rng))
        else:
            struct.pack_into("<H", forged, place + 2 * int(rng.integers(2)), hostile(rows, rng) & 0xFFFF)
        yield bytes(forged)


def with_other_lengths(graph: GraphFile, n: int, rng: np.random.Generator) -> Iterator[bytes]:
    built = graph.data()
    for _ in range(n):
        place = int(rng.integers(len(built)))
        extra = rng.bytes(int(rng.choice([1, 4, 68, 1000])))
        yield from (
            built[:place],
            built + extra,
            built[:place] + extra + built[place:],
            built[:place] + built[place + 4 :],
        )


def with_legal_damage(vectors: NDArray[np.float32], n: int, rng: np.random.Generator) -> Iterator[bytes]:
    """Files of the right structure with links by chance, some of which a careless check would let through."""
    for i in range(n):
        graph = GraphFile(vectors)
        levels, rows = graph.levels(), len(vectors)
        graph.elements["count"] = rng.integers(0, 1 + int(rng.choice([0, 1, 2, PLACES])), rows)
        graph.elements["links"] = rng.integers(rows, size=(rows, PLACES))
        for upper in graph.lists:
            for level, links in enumerate(upper, start=1):
                links[0] = rng.integers(0, 1 + UPPER_PLACES)
                links[1:] = rng.choice(np.flatnonzero(levels >= level - i % 4 // 3), UPPER_PLACES)
        yield graph.data()


def forgeries(rows: int, n: int, seed: int) -> Iterator[bytes]:
    rng = np.random.default_rng(seed)
    graph = GraphFile(unit(rows))
    yield from with_hostile_numbers(graph, n, rng)
    yield from with_other_lengths(graph, max(1, n // 4), rng)
    yield from with_legal_damage(graph.vectors, max(1, n // 2), rng)


def search_forgeries(rows: int, n: int, seed: int) -> None:
    """Runs in a process of its own, which hnswlib may kill. Prints how many files there were and how many passed."""
    vectors, names = unit(rows), [str(i) for i in range(rows)]
    queries = [*unit(3, seed=1), vectors[0]]
    tried = accepted = 0
    for tried, data in enumerate(forgeries(rows, n, seed), start=1):
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


@pytest.mark.parametrize("rows", [60, 500])
def test_no_forged_file_kills_the_process_or_gives_nonsense(rows: int) -> None:
    code = f"import test_hnsw_file as t; t.search_forgeries({rows}, 40, 7)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent, check=False
    )
    assert done.returncode == 0, done.stderr
    tried, accepted = map(int, done.stdout.split())
    assert tried > 500
    assert 20 < accepted < tried / 2
