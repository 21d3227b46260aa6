"""An index whose vectors are kept in a byte a number: what comes back, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TOOLS, tiny_bundle, tiny_exported
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

import edgeret
from edgeret.bundle.codec import unpack
from edgeret.bundle.reader import open_bundle
from edgeret.errors import BundleError
from edgeret.inputs.tool_text import tool_text
from edgeret_export.encoders.encodings import start
from edgeret_export.recipe import Recipe
from edgeret_export.reference.scoring.index import as_stored, hnswlib_available, load_index, pack_index

SMALL = Recipe(precision="fp32", profile="full", index_vectors="int8")


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bundle(tmp_path_factory.mktemp("small") / "bundle", recipe=SMALL)


def test_the_file_has_the_bytes_that_the_format_says() -> None:
    rows = unit(np.array([[1, 2, -4, 0.5], [0, 0, 0, 1]]))
    data = pack_index(["a", "b"], rows, "f" * 64, "int8")
    value = unpack(data, "index")
    assert list(value) == ["encoder", "names", "vectors", "scales"]
    assert value["vectors"]["dtype"] == "|i1"
    assert np.frombuffer(value["vectors"]["data"], np.int8).tolist() == [32, 64, -127, 16, 0, 0, 0, 127]
    assert data == pack_index(["a", "b"], rows, "f" * 64, "int8")
    many, names = unit(np.ones((200, 384))), [str(i) for i in range(200)]
    assert len(pack_index(names, many, "", "fp32")) > 3.8 * len(pack_index(names, many, "", "int8"))


@given(some.arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 40)), elements=st.floats(-1, 1, width=32)))
def test_what_comes_back_is_near_and_stays_what_it_is(rows: np.ndarray) -> None:
    lengths = np.linalg.norm(rows, axis=1)
    rows = unit(rows[lengths > 1e-3]) if (lengths > 1e-3).any() else unit(np.ones_like(rows))
    found = as_stored(rows, "int8")
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    # Half a step of a row's largest number, in each of its numbers.
    most = np.abs(rows).max(axis=1) / 127 / 2 * np.sqrt(rows.shape[1])
    assert (np.linalg.norm(found - rows, axis=1) <= 2 * most + 1e-6).all()
    np.testing.assert_allclose(as_stored(found, "int8"), found, atol=1e-6)
    assert as_stored(rows, "fp32") is rows


def test_a_bundle_searches_what_its_heads_were_fitted_on(small: Path, tiny_original: Path) -> None:
    plain = load_index(open_bundle(tiny_original)).vectors
    found = load_index(open_bundle(small)).vectors
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, as_stored(plain, "int8"), atol=1e-6)
    assert not np.array_equal(found, plain)
    texts = [tool_text(tool, SMALL.tool_text) for tool in TOOLS]
    assert (found * start(tiny_exported()).encode_tools(texts)).sum(axis=1).min() > 0.9999
    runtime = edgeret.load(small)
    task = runtime.task("find my file and send a mail")
    assert [task.next().tool, task.call("find_file") or task.next().tool] == ["find_file", "send_mail"]
    assert runtime.search("play music", 1)[0].tool == "play_music"
    assert runtime.with_tools(remove=["play_music"]).search("play music", 9)


@pytest.mark.skipif(not hnswlib_available(), reason="hnswlib is not installed")
def test_a_graph_is_one_over_the_vectors_that_are_kept(tmp_path: Path) -> None:
    recipe = Recipe(precision="fp32", profile="full", index_vectors="int8", hnsw_from=1)
    bundle = open_bundle(tiny_bundle(tmp_path / "bundle", recipe=recipe))
    exact, graph = load_index(bundle, "exact"), load_index(bundle, "hnsw")
    for row in exact.vectors:
        np.testing.assert_array_equal(exact.search(row, 3)[0], graph.search(row, 3)[0])


def test_a_table_of_token_vectors_searches_them_too(tmp_path: Path) -> None:
    recipe = Recipe(precision="fp32", profile="tiny", index_vectors="int8")
    found = edgeret.load(tiny_bundle(tmp_path / "bundle", recipe=recipe)).search("book a meeting", 1)
    assert found[0].tool == "book_meeting"


def packed(array: np.ndarray, dtype: str) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(array.shape), "padding": b"", "data": array.astype(dtype).tobytes()}


ABUSES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "floats with scales": (
        lambda v: v.update(vectors=packed(np.ones((6, 24)) / 5, "<f4")),
        '"vectors" must be an array of |i1',
    ),
    "bytes without scales": (lambda v: v.pop("scales"), '"vectors" must be an array of <f4'),
    "a row too many": (
        lambda v: v.update(vectors=packed(np.ones((7, 24)), "|i1")),
        '"vectors" must have shape (6, None), found [7, 24]',
    ),
    "a scale too few": (lambda v: v.update(scales=packed(np.ones(5), "<f4")), '"scales" must have shape (6,)'),
    "scales of another type": (
        lambda v: v.update(scales=packed(np.ones(6), "<f2")),
        '"scales" must be an array of <f4, found',
    ),
    "scales below zero": (lambda v: v.update(scales=packed(-np.ones(6), "<f4")), '"scales" must lie between 0 and'),
    "a scale that is no number": (
        lambda v: v.update(scales=packed(np.full(6, np.nan), "<f4")),
        '"scales" holds numbers that are not finite',
    ),
    "rows of nothing": (
        lambda v: v.update(vectors=packed(np.zeros((6, 24)), "|i1")),
        "its vectors are not of length 1",
    ),
    "rows of another length": (
        lambda v: v.update(scales=packed(np.full(6, 0.5), "<f4")),
        "its vectors are not of length 1",
    ),
}


@pytest.mark.parametrize("name", ABUSES)
def test_an_abuse_is_refused(small: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = open_bundle(small)
    value = dict(bundle.map("index"))
    change, message = ABUSES[name]
    change(value)
    monkeypatch.setattr(type(bundle), "map", lambda *_: value)
    with pytest.raises(BundleError) as error:
        load_index(bundle)
    assert message in str(error.value)
