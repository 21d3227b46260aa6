"""Several texts in one run of the encoder, and tools ranked by what they say alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import DIMENSION, TOOLS, WORDS, tiny_exported
from hypothesis import given
from hypothesis import strategies as st

import edgeret
from edgeret.encoders.providers import choose
from edgeret.errors import InputError
from edgeret.runtime.runtime import Runtime
from edgeret.types import END
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.reference.runtime import request_of

ENCODER = tiny_exported()
BATCHER = OnnxEncoder(ENCODER.model, ENCODER.tokenizer, ENCODER.spec, choose(("cpu",), False, {}), 1)


@pytest.fixture(scope="module")
def runtime(tiny_original: Path) -> Runtime:
    return edgeret.load(tiny_original, threads=1)


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


@pytest.mark.parametrize("calls", [(), ("send_mail",)])
@pytest.mark.parametrize("query", ["find the letter and mail", "call my phone", "open calendar day"])
def test_the_tools_alone_rank_all_of_them_whatever_was_demonstrated(
    runtime: Runtime, tiny_tools: Path, query: str, calls: tuple[str, ...]
) -> None:
    task, alone = runtime.task(query, calls), edgeret.load(tiny_tools, threads=1).task(query, calls)
    ranked, expected = (
        dict(zip(request.names, request.prior_scores(made).tolist(), strict=True))
        for request, made in ((request_of(task), task.calls), (request_of(alone), alone.calls))
    )
    assert sorted(ranked) == sorted([END, *(tool.name for tool in TOOLS)])
    assert ranked == pytest.approx(expected, abs=1e-4)
