"""What a request's words mean to tools that say it in others: by hand, and some of the tools as all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from edgeret.inputs.words import forms, words
from edgeret.types import Tool
from edgeret_export.reference import similar_words
from edgeret_export.reference.encoders.base import LoadedTokenizer
from edgeret_export.reference.encoders.word_vectors import DIMENSION, WordVectors
from edgeret_export.reference.few_bits import to_halves
from edgeret_export.reference.similar_words import FLOOR, SimilarWords, table_of, tool_forms

# Angles of a circle: "mail" and "letter" stand 30 degrees apart, "song" and "tune" 40, and others at right angles.
ANGLES = {"mail": (0, 0), "letter": (0, 30), "song": (1, 0), "tune": (1, 40), "send": (2, 0), "play": (3, 0)}
PIECES = ("[UNK]", *ANGLES)


def vectors() -> WordVectors:
    rows = np.zeros((len(PIECES), DIMENSION), np.float32)
    for row, (plane, angle) in zip(rows[1:], ANGLES.values(), strict=True):
        row[2 * plane : 2 * plane + 2] = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    tokenizer = Tokenizer(models.WordLevel({piece: i for i, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    return WordVectors(*to_halves(rows), LoadedTokenizer(lambda: tokenizer, tokenizer.get_vocab_size(), None, ((), ())))


TOOLS = [Tool("sendMail", "brings a letter"), Tool("play_song", "plays"), Tool("quux", "unheard of")]


def overlaps(query: str, tools: list[Tool] = TOOLS, positions: list[int] | None = None) -> np.ndarray:
    similar = SimilarWords(table_of(tools), vectors())
    return similar.overlaps(forms(query), None if positions is None else np.array(positions))


def near(cosine: float) -> float:
    return max(0.0, (cosine - float(FLOOR)) / (1 - float(FLOOR)))


def test_a_word_of_like_meaning_counts_by_how_near_it_is() -> None:
    # All words of names are as rare as each other: one tool in three has each.
    name, coverage = overlaps("send a letter")
    meant = near(np.cos(np.radians(30)))
    assert name[0] == pytest.approx((1 + meant) / 2, abs=0.03)  # half bytes
    assert name[1] == name[2] == 0
    assert coverage[0] == pytest.approx(1)  # its description says "letter" itself


def test_a_word_that_nobody_has_counts_against_all() -> None:
    name, coverage = overlaps("a tune for zebras")
    meant = near(np.cos(np.radians(40)))
    assert name[1] == pytest.approx(meant / 2, abs=0.03)
    assert coverage[1] == pytest.approx(meant / 2, abs=0.03)


def test_what_no_tokenizer_knows_is_met_by_its_own_letters_alone() -> None:
    assert overlaps("frobnicate")[0].tolist() == [0, 0, 0]
    assert overlaps("a QUUX")[0].tolist() == [0, 0, 1]
    assert not overlaps("please, the").any() and not overlaps("").any()


def test_a_request_of_thousands_of_words_is_compared_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    query = " ".join(f"{word} w{i}" for i, word in enumerate(["mail", "tune", "zebra"] * 30))
    whole = overlaps(query)
    monkeypatch.setattr(similar_words, "AT_ONCE", 1)
    monkeypatch.setattr(similar_words, "NEW_AT_ONCE", 1)
    np.testing.assert_allclose(overlaps(query), whole, atol=1e-6)
    assert whole[0, 0] > 0.4 and whole[0, 1] > 0.2


def test_tools_without_any_word_are_left_at_nothing() -> None:
    tools = [Tool("___", "…"), Tool("mail", "mail")]
    assert overlaps("mail", tools).tolist() == [[0, 1], [0, 1]]
    assert overlaps("mail", tools[:1]).tolist() == [[0], [0]]


@given(
    query=st.text("mailtune sogplybrd", max_size=30),
    positions=st.lists(st.integers(0, 2), unique=True, max_size=3).map(sorted),
)
def test_some_of_the_tools_get_what_they_get_among_all(query: str, positions: list[int]) -> None:
    similar = SimilarWords(table_of(TOOLS), vectors())
    some = similar.overlaps(forms(query), np.array(positions, np.intp))
    np.testing.assert_allclose(some, similar.overlaps(forms(query))[:, positions], atol=1e-6)
    assert ((some >= 0) & (some <= 1 + 1e-6)).all()


def test_a_words_form_is_the_shortest_that_was_written() -> None:
    assert forms("Translating translated translates") == {"translat": "translated"}
    assert tool_forms([Tool("translateText", "translating texts"), Tool("x", "a text")])["translat"] == "translate"
    assert forms("The of a") == {}


@given(text=st.text(max_size=60))
def test_forms_are_of_all_words_and_of_no_others(text: str) -> None:
    found = forms(text)
    assert found.keys() == set(words(text))
    assert all(words(word) == [stem] or not word.isascii() for stem, word in found.items())
