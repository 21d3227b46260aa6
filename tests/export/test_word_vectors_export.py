"""The vectors of pieces of words, as a build makes them of real encoders: near words are near, in every precision."""

from __future__ import annotations

import numpy as np
import pytest

from edgeret_export.encoders.export import ExportedEncoder, export_encoder
from edgeret_export.encoders.word_vectors import word_reader, word_vectors
from edgeret_export.reference.encoders.tokenizer import load_tokenizer
from edgeret_export.sources.cards import find_card


@pytest.fixture(scope="module", params=["int8", "fp16"])  # both beside fp32
def exported(request: pytest.FixtureRequest) -> ExportedEncoder:
    return export_encoder(find_card("all-minilm-l6-v2"), request.param)


@pytest.mark.real
def test_words_of_like_meaning_are_nearer_than_others(exported: ExportedEncoder) -> None:
    said = ("translator", "interpreter", "flight", "airline", "money", "cash", "doctor", "physician")
    vectors = word_reader(exported).of(said)
    near = vectors @ vectors.T - np.eye(len(said))
    assert [said[i] for i in near.argmax(axis=1)] == [said[i ^ 1] for i in range(len(said))]


@pytest.mark.real
def test_pieces_that_are_no_words_have_no_vector(exported: ExportedEncoder) -> None:
    tokenizer = load_tokenizer(exported.tokenizer, 256, "encoder").library
    vectors = word_vectors(exported)
    lengths = np.linalg.norm(vectors, axis=1)
    none = [tokenizer.token_to_id(piece) for piece in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    assert not lengths[none].any()
    assert np.delete(lengths, none) == pytest.approx(1, abs=1e-4)


@pytest.mark.real
def test_quantised_encoders_say_the_same(exported: ExportedEncoder) -> None:
    words = ("translator", "refund", "calendar", "reboot")
    original = word_reader(export_encoder(find_card("all-minilm-l6-v2"), "fp32")).of(words)
    assert (word_reader(exported).of(words) @ original.T).diagonal() == pytest.approx(1, abs=0.05)
