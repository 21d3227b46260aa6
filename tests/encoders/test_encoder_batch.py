"""Several texts in one run of the encoder, and tools ranked by description alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import DIMENSION, TOOLS, WORDS, tiny_exported
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeret
from edgeret.encoders.onnx import OnnxEncoder
from edgeret.encoders.providers import choose
from edgeret.errors import InputError
from edgeret.runtime.runtime import Runtime
from edgeret.types import END

ENCODER = tiny_exported()
BATCHER = OnnxEncoder(ENCODER.model, ENCODER.tokenizer, ENCODER.spec, choose(("cpu",), False, {}), 1)


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=9))
def test_a_batch_gives_each_text_its_own_vector(texts: list[str]) -> None:
    found = BATCHER.encode_batch(texts)
    assert found.dtype == np.float32
    assert found == pytest.approx(np.stack([BATCHER.encode(text) for text in texts]), abs=1e-6)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)


def test_the_length_of_a_neighbour_does_not_matter() -> None:
    short, long = "mail", " ".join(WORDS)
    assert BATCHER.encode_batch([short, long])[0] == pytest.approx(BATCHER.encode_batch([short, short])[0], abs=1e-6)
    assert BATCHER.encode_batch([short, long])[::-1] == pytest.approx(BATCHER.encode_batch([long, short]), abs=1e-6)


def test_an_empty_batch_has_no_rows() -> None:
    assert BATCHER.encode_batch([]).shape == (0, DIMENSION)
    assert BATCHER.encode_batch([]).dtype == np.float32


@pytest.mark.parametrize("count", [0, 1, 3])
def test_static_shapes_take_one_text_at_a_time(count: int) -> None:
    choice = choose(("cpu",), False, {})
    static = OnnxEncoder(ENCODER.model, ENCODER.tokenizer, ENCODER.spec, choice, 1, static_tokens=16)
    with pytest.raises(InputError, match="takes one text at a time"):
        static.encode_batch(["mail"] * count)
    assert static.encode("mail") == pytest.approx(BATCHER.encode("mail"), abs=1e-6)


@pytest.mark.parametrize("query", ["find the letter then mail it to me", "call my phone", "open calendar day"])
def test_described_ranks_all_tools_by_cosine_demonstrated_or_not(runtime: Runtime, query: str) -> None:
    found = runtime.task(query).request.by_description()
    assert [c.tool for c in found] == [hit.tool for hit in runtime.search(query, len(TOOLS))]
    assert sorted(c.tool for c in found) == sorted(tool.name for tool in TOOLS)
    assert END not in {c.tool for c in found}
    vectors = dict(zip(runtime.components.index.names, runtime.components.index.vectors, strict=True))
    for candidate in found:
        cosine = float(vectors[candidate.tool] @ runtime.components.encoder.encode(query))
        assert candidate.probability == pytest.approx(
            runtime.components.calibration.search_probability(cosine), abs=1e-5
        )
    chances = [c.probability for c in found]
    assert chances == sorted(chances, reverse=True)


@given(st.integers(1, 20))
def test_described_lists_as_many_as_asked_for(runtime: Runtime, k: int) -> None:
    task = runtime.task("write a note and send it")
    assert task.request.by_description(k) == task.request.by_description()[:k]
    assert len(task.request.by_description(k)) == min(k, len(TOOLS))


def test_described_does_not_depend_on_the_calls_so_far(runtime: Runtime) -> None:
    task = runtime.task("write a note and send it")
    before = task.request.by_description()
    task.call("write_note")
    assert task.request.by_description() == before
    assert task.next().timings_ms["encode"] > 0
