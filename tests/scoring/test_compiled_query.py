"""A query is located, read and given logits in compiled calls as numpy does it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from edgeret.errors import BundleError
from edgeret_export.reference import kernel
from edgeret_export.reference.scoring import calibration, graph
from edgeret_export.reference.scoring.calibration import Calibration, CalibrationParameters
from edgeret_export.reference.scoring.compiled_query import MOST_NEAREST
from edgeret_export.reference.scoring.graph import GLOBAL, UNUSED, Graph, GraphOptions, GraphTables
from edgeret_export.reference.scoring.products import Columns

pytestmark = pytest.mark.skipif(kernel.LIBRARY is None, reason="the package was built without a C compiler")
LABELS = ("a", "b", "c", "<end>")


def made(centroids: NDArray[np.float32], nearest: int, seed: int) -> tuple[Graph, Graph]:
    """A graph with and without the library; every second cluster has counts of its own."""
    rng = np.random.default_rng(seed)
    clusters = [GLOBAL, *range(0, len(centroids), 2)]
    keys = np.array([(cluster, 0, UNUSED) for cluster in clusters], np.int32)
    sizes = rng.integers(1, len(LABELS), len(clusters))
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    targets = np.concatenate([rng.permutation(len(LABELS))[:size] for size in sizes]).astype(np.int32)
    counts = rng.integers(1, 9, len(targets)).astype(np.float32)
    tables, options = GraphTables(LABELS, centroids, keys, starts, targets, counts), GraphOptions(1, nearest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph, "LIBRARY", None)
        plain = Graph(tables, options)
    return Graph(tables, options), plain


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.integers(1, 40), st.integers(1, MOST_NEAREST + 2), st.booleans(), st.integers(0, 99))
def test_a_query_is_read_from_the_clusters_that_numpy_finds(
    rows: int, dimension: int, nearest: int, uneven: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    spread = np.exp(3 * rng.normal(size=dimension)) if uneven else np.ones(dimension)
    compiled, plain = made(unit(rng.normal(size=(rows, dimension)) * spread), nearest, seed)
    vector = unit(rng.normal(size=dimension) * spread)
    found, expected = compiled.locate(vector), plain.locate(vector)
    cosines = plain.centroids @ vector
    # Where two are as near to within a rounding, either will do.
    assert np.allclose(np.sort(cosines[found.clusters]), np.sort(cosines[expected.clusters]), atol=1e-6)
    assert (np.diff(found.clusters) > 0).all()
    assert found.similarity == pytest.approx(expected.similarity, abs=1e-6)
    if found.clusters.tolist() == expected.clusters.tolist():
        np.testing.assert_allclose(found.shares, expected.shares, atol=1e-5)
        np.testing.assert_allclose(found.unconditional, expected.unconditional, atol=1e-5)
        for history in ([], [0], [1, 2]):
            np.testing.assert_allclose(
                compiled.distribution(found, history), plain.distribution(expected, history), atol=1e-5
            )


def test_of_clusters_at_one_place_the_first_are_read() -> None:
    compiled, _ = made(np.ones((300, 1), np.float32), 5, 0)
    assert compiled.locate(np.ones(1, np.float32)).clusters.tolist() == [0, 1, 2, 3, 4]


def test_a_vector_that_is_not_to_be_written_is_read_too() -> None:
    compiled, plain = made(unit(np.random.default_rng(1).normal(size=(50, 8))), 3, 1)
    vector = unit(np.random.default_rng(2).normal(size=8))
    vector.flags.writeable = False
    assert compiled.locate(vector).clusters.tolist() == plain.locate(vector).clusters.tolist()


SETS = [library for wide in (True, False) if (library := kernel.load(wide)) is not None]
"""The library as this CPU and as an older one would use it."""


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 20), st.integers(1, 70), st.integers(1, 40), st.integers(0, 99))
def test_products_are_numpys(count: int, n: int, dimension: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, vectors = (rng.normal(size=(size, dimension)).astype(np.float32) for size in (count, n))
    for library in SETS:
        np.testing.assert_allclose(Columns(library, vectors).product(rows), rows @ vectors.T, atol=1e-4)


MAP = Calibration(CalibrationParameters(calibration_map=((0.0, 0.0), (0.5, 0.2), (1.0, 0.9))))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-200, 80, width=32), min_size=1, max_size=40))
def test_logs_are_calibrated_as_numpy_does_it(logs: list[float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "LIBRARY", None)
        expected = MAP.calibrate_logs(np.array(logs, np.float32), MAP.map)
        for library in SETS:
            patch.setattr(calibration, "LIBRARY", library)
            found = MAP.calibrate_logs(np.array(logs, np.float32), MAP.map)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("logs", [[0, np.nan], [np.inf, 0], [np.nan], [-np.inf], [-np.inf, -np.inf]])
def test_logs_that_are_none_are_refused(logs: list[float]) -> None:
    for library in (*SETS, None):
        with pytest.MonkeyPatch.context() as patch, np.errstate(invalid="ignore"):
            patch.setattr(calibration, "LIBRARY", library)
            with pytest.raises(BundleError, match="no probabilities"):
                MAP.calibrate_logs(np.array(logs, np.float32), MAP.map)
