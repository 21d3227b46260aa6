"""Several texts in one run of the encoder, and tools ranked by description alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import DIMENSION, TOOLS, WORDS, tiny_exported
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeret
from edgeret.encoders.onnx import Encoder
from edgeret.encoders.providers import choose
from edgeret.errors import InputError
from edgeret.runtime.runtime import Runtime
from edgeret.types import END

ENCODER = tiny_exported()
BATCHER = Encoder(ENCODER.model, ENCODER.tokenizer, ENCODER.spec, choose(("cpu",), False, {}), 1)


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=9))
def test_a_batch_gives_each_text_its_own_vector(texts: list[str]) -> None:
    ids = [BATCHER.tokenize(text) for text in texts]
    found = BATCHER.embed_batch(ids)
    assert found.dtype == np.float32
    assert found == pytest.approx(np.stack([BATCHER.embed(i) for i in ids]), abs=1e-6)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)


def test_the_length_of_a_neighbour_does_not_matter() -> None:
    short, long = BATCHER.tokenize("mail"), BATCHER.tokenize(" ".join(WORDS))
    assert BATCHER.embed_batch([short, long])[0] == pytest.approx(BATCHER.embed_batch([short, short])[0], abs=1e-6)
    assert BATCHER.embed_batch([short, long])[::-1] == pytest.approx(BATCHER.embed_batch([long, short]), abs=1e-6)


def test_an_empty_batch_has_no_rows() -> None:
    assert BATCHER.embed_batch([]).shape == (0, DIMENSION)
    assert BATCHER.embed_batch([]).dtype == np.float32


@pytest.mark.parametrize("count", [0, 1, 3])
def test_static_shapes_take_one_text_at_a_time(count: int) -> None:
    choice = choose(("cpu",), False, {})
    static = Encoder(ENCODER.model, ENCODER.tokenizer, ENCODER.spec, choice, 1, static_tokens=16)
    with pytest.raises(InputError, match="takes one text at a time"):
        static.embed_batch([static.tokenize("mail")] * count)
    assert static.embed(static.tokenize("mail")) == pytest.approx(BATCHER.embed(BATCHER.tokenize("mail")), abs=1e-6)


@pytest.mark.parametrize("query", ["find the letter then mail it to me", "call my phone", "open calendar day"])
def test_described_ranks_all_tools_by_cosine_demonstrated_or_not(runtime: Runtime, query: str) -> None:
    found = runtime.task(query).described()
    assert [c.tool for c in found] == [hit.tool for hit in runtime.search(query, len(TOOLS))]
    assert sorted(c.tool for c in found) == sorted(tool.name for tool in TOOLS)
    assert END not in {c.tool for c in found}
    vectors = dict(zip(runtime.index.names, runtime.index.vectors, strict=True))
    for candidate in found:
        cosine = float(vectors[candidate.tool] @ runtime.encoder.encode(query))
        assert candidate.probability == pytest.approx(runtime.policy.search_confidence(cosine), abs=1e-5)
    chances = [c.probability for c in found]
    assert chances == sorted(chances, reverse=True)


@given(st.integers(1, 20))
def test_described_lists_as_many_as_asked_for(runtime: Runtime, k: int) -> None:
    task = runtime.task("write a note and send it")
    assert task.described(k) == task.described()[:k]
    assert len(task.described(k)) == min(k, len(TOOLS))


def test_described_does_not_depend_on_the_calls_so_far(runtime: Runtime) -> None:
    task = runtime.task("write a note and send it")
    before = task.described()
    task.call("write_note")
    assert task.described() == before
    assert task.next().timings_ms["encode"] > 0
