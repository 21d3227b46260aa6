"""Queries that are longer than the encoder reads at once: all of them count, and nothing breaks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import DIMENSION, WORDS, tiny_bundle, tiny_exported
from hypothesis import given
from hypothesis import strategies as st

import edgeret
from edgeret.encoders.base import segment_means
from edgeret.encoders.providers import choose
from edgeret.types import SEGMENTS
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.reference.evidence import MOST_CLAUSES, MOST_WINDOWS, evidence
from edgeret_export.reference.inputs.clauses import clause_spans
from edgeret_export.reference.lexicon import Lexicon
from edgeret_export.reference.runtime import request_of

LIMIT = 16


def make(prefix: str = "", static: int | None = None) -> OnnxEncoder:
    exported = tiny_exported(max_tokens=LIMIT)
    spec = replace(exported.spec, query_prefix=prefix)
    return OnnxEncoder(exported.model, exported.tokenizer, spec, choose(("cpu",), False, {}), 1, static)


ENCODER = make()


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=80).map(" ".join))
def test_every_token_of_a_query_counts(query: str) -> None:
    found, count = ENCODER.encode_query(query), len(query.split())
    assert found.readings == -(-count // (LIMIT - 2))
    assert found.tokens.shape == (count, DIMENSION)
    assert [query[begin:end] for begin, end in found.spans.tolist()] == query.split()
    assert found.rows.shape == (1 + SEGMENTS, DIMENSION)
    assert np.linalg.norm(found.vector) == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(found.rows[1:], segment_means(found.tokens), atol=1e-6)
    np.testing.assert_allclose(found.vector, ENCODER.encode(query), atol=1e-6)


def test_windows_count_by_their_tokens() -> None:
    first, second = " ".join(["mail"] * 14), " ".join(["note"] * 3)
    both = 16 * ENCODER.encode(first) + 5 * ENCODER.encode(second)
    found = ENCODER.encode_query(f"{first} {second}")
    np.testing.assert_allclose(found.vector, both / np.linalg.norm(both), atol=1e-6)
    thirds = segment_means(np.concatenate([ENCODER.encode_query(text).tokens for text in (first, second)]))
    np.testing.assert_allclose(found.rows[1:], thirds, atol=1e-6)


@pytest.mark.parametrize("count", [13, 14, 15, 28, 29, 200])
@pytest.mark.parametrize("static", [None, 12])
def test_the_same_query_gives_the_same_bytes(count: int, static: int | None) -> None:
    query = " ".join(WORDS[i % len(WORDS)] for i in range(count))
    one, other = (make(static=static).encode_query(query) for _ in range(2))
    for name in ("rows", "tokens", "spans"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    assert len(one.tokens) == count


@pytest.mark.parametrize("count", [1, 13, 40])
def test_a_prefix_is_no_part_of_the_query(count: int) -> None:
    query = " ".join(WORDS[i % len(WORDS)] for i in range(count))
    found = make("call a phone: ").encode_query(query)
    assert [query[begin:end] for begin, end in found.spans.tolist()] == query.split()
    assert len(found.tokens) == count
    assert np.linalg.norm(found.vector) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("count", [1, 8, 9, 100, 5000])
def test_evidence_is_bounded_and_covers_both_ends(count: int) -> None:
    query = ", ".join(f"{WORDS[i % len(WORDS)]} my song" for i in range(count))
    encoded = ENCODER.encode_query(query)
    seen = evidence(query, encoded, Lexicon([])).passages
    assert 1 <= len(seen.windows) <= MOST_WINDOWS + 1
    assert len(seen.clauses) == min(MOST_CLAUSES, len(clause_spans(query)))
    for row, tokens in ((0, encoded.tokens[:8]), (-1, encoded.tokens[-8:])):
        expected = tokens.astype(float).sum(axis=0)
        np.testing.assert_allclose(seen.windows[row], expected / np.linalg.norm(expected), atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(seen.clauses, axis=1), 1, atol=1e-3)


@pytest.mark.parametrize("demonstrations", [None, ()])
def test_long_queries_are_decided_in_every_kind_of_bundle(tmp_path: Path, demonstrations: tuple[()] | None) -> None:
    runtime = edgeret.load(tiny_bundle(tmp_path / "b", demonstrations=demonstrations, max_tokens=LIMIT), threads=1)
    for query in ("find my file " + "and then write a note " * 60, "mail " * 3000, "x" * 20_000, ". " * 9000 + "mail"):
        task = runtime.task(query)
        assert task.probabilities().sum() == pytest.approx(1, abs=1e-5)
        task.call("find_file")
        assert np.isfinite(task.probabilities()).all()
        assert [c.probability for c in task.candidates()] == [c.probability for c in task.candidates()]
    assert request_of(runtime.task("mail " * 3000)).readings > 100
