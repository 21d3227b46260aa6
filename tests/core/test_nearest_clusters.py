"""The nearest clusters of a request: looked for among bytes, and the very ones that floats say, in their order."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def nearest(library: c.CDLL, rows: Floats, query: Floats, most: int, by_bytes: bool) -> list[int]:
    found = np.empty(most, np.uint32)
    at = (array.ctypes.data_as(c.c_void_p) for array in (rows, query, found))
    centroids, vector, into = at
    assert library.probe_nearest(centroids, *map(c.c_uint32, (*rows.shape, most)), int(by_bytes), vector, into)
    return found.tolist()


def units(rows: Floats) -> Floats:
    return np.ascontiguousarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@pytest.mark.parametrize("dimension", [1, 7, 128, 385])
def test_bytes_leave_out_nothing_that_is_near(core_library: Callable[..., c.CDLL], dimension: int) -> None:
    library, random = core_library("graph", "cpu", "vectors", "probe_graph"), np.random.default_rng(7)
    for clusters, spread in ((97, 1.0), (500, 1.0), (500, 1e-3), (1040, 1e-5)):
        rows = random.normal(size=(clusters, dimension)) * spread + random.normal(size=dimension)
        rows[::5] = rows[0]  # as near as each other: the first of them is nearer
        rows[3, 0] += 30.0  # one number that is much larger than the rest costs a row its bytes
        centroids = units(rows.astype(np.float32))
        for query in units(np.concatenate([centroids[:6], random.normal(size=(6, dimension))])):
            found = nearest(library, centroids, query, 12, by_bytes=True)
            assert found == nearest(library, centroids, query, 12, by_bytes=False)
            exact = centroids @ query
            assert exact[found].tolist() == pytest.approx(np.sort(exact)[::-1][:12].tolist(), abs=1e-6)


def test_a_query_without_a_direction_is_near_to_the_first_ones(core_library: Callable[..., c.CDLL]) -> None:
    library = core_library("graph", "cpu", "vectors", "probe_graph")
    centroids = units(np.random.default_rng(7).normal(size=(200, 32)).astype(np.float32))
    for by_bytes in (False, True):
        assert nearest(library, centroids, np.zeros(32, np.float32), 5, by_bytes) == [0, 1, 2, 3, 4]
