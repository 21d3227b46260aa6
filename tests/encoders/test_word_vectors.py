"""Words to vectors, each by itself: by hand, whatever the tokenizer, and what is refused."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import tiny_bundle
from hypothesis import given
from hypothesis import strategies as st
from rewritten import changed, rewrite
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

import edgeret
from edgeret.errors import BundleError
from edgeret_export.reference.encoders.base import LoadedTokenizer
from edgeret_export.reference.encoders.word_tokens import WordTokens
from edgeret_export.reference.encoders.word_vectors import DIMENSION, WordVectors, pack_word_vectors
from edgeret_export.reference.few_bits import to_halves
from edgeret_export.reference.runtime import components_of

PIECES = ("[UNK]", "book", "flight", "fly", "##ing", "##s", "a", "##a")
ROWS = np.eye(len(PIECES), DIMENSION, dtype=np.float32)
ROWS[0] = 0


def tokenizer(bert: bool) -> LoadedTokenizer:
    """WordPiece: as BERT has it, whose words are looked up one by one, or not quite, so that the library reads them."""
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    found = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    found.normalizer = normalizers.BertNormalizer() if bert else normalizers.Lowercase()
    found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words = WordTokens.of(json.loads(found.to_str()), lambda: found)
    assert (words is not None) is bert
    return LoadedTokenizer(lambda: found, len(vocabulary), words, ((), ()))


@pytest.fixture(params=[True, False], ids=["word by word", "by the library"])
def vectors(request: pytest.FixtureRequest) -> WordVectors:
    return WordVectors(*to_halves(ROWS), tokenizer(request.param))


def test_a_word_is_the_mean_of_its_pieces(vectors: WordVectors) -> None:
    found = vectors.of(["book", "flying", "zzz", "flights"])
    half = np.sqrt(0.5)
    np.testing.assert_allclose(found[0], ROWS[1], atol=1e-6)
    np.testing.assert_allclose(found[1], half * (ROWS[3] + ROWS[4]), atol=1e-6)
    assert not found[2].any()  # no piece of it is known
    np.testing.assert_allclose(found[3], half * (ROWS[2] + ROWS[5]), atol=1e-6)
    assert vectors.of([]).shape == (0, DIMENSION)


@given(words=st.lists(st.text("abfly", min_size=1, max_size=60), max_size=8))
def test_words_side_by_side_are_the_same_as_one_by_one(words: list[str]) -> None:
    for bert in (True, False):
        vectors = WordVectors(*to_halves(ROWS), tokenizer(bert))
        together = vectors.of(words)
        assert together.shape == (len(words), DIMENSION)
        for word, row in zip(words, together, strict=True):
            np.testing.assert_array_equal(row, vectors.of([word])[0])


def test_golden_bytes() -> None:
    digest = hashlib.sha256(pack_word_vectors(ROWS, "ab" * 32)).hexdigest()
    assert digest == "92e9394d70568a1b11d7bb6eb03e7ec4161595e1074792000e8f8652d7979dbf"


def test_another_number_of_pieces_is_refused() -> None:
    with pytest.raises(BundleError, match="7 vectors for a tokenizer with 8 pieces of words; build the bundle again"):
        WordVectors(*to_halves(ROWS[:7]), tokenizer(True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bundle(tmp_path_factory.mktemp("vectors") / "bundle")


FORGED = {
    "another tokenizer's": ({"tokenizer": "0" * 64}, "made for another tokenizer than the bundle's"),
    "no tokenizer": ({"tokenizer": None}, "made for another tokenizer than the bundle's"),
    "of other numbers": ({"pairs": np.zeros((9, 5), np.int8)}, '"pairs" has another shape'),
    "for fewer pieces": (
        {"pairs": np.zeros((9, 32), np.int8), "scales": np.zeros(9, "<f4")},
        "9 vectors for a tokeniz",
    ),
    "scales of another number": ({"scales": np.zeros(9, "<f4")}, '"scales" has another shape'),
    "a scale of nan": (None, "must lie between|not finite"),
}


@pytest.mark.parametrize("case", FORGED)
def test_forged_files_are_refused(folder: Path, tmp_path: Path, case: str) -> None:
    fields, message = FORGED[case]
    copy = Path(shutil.copytree(folder, tmp_path / "bundle"))
    if fields is None:
        pieces = components_of(edgeret.load(copy)).encoder.tokenizer.library.get_vocab_size()
        fields = {"scales": np.full(pieces, np.nan, "<f4")}
    changed(copy, "word-vectors.msgpack", **fields)
    with pytest.raises(BundleError, match=message):
        edgeret.load(copy)


def test_a_bundle_without_them_is_refused(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "bundle"))
    rewrite(copy, {}, leave_out="word-vectors.msgpack")
    with pytest.raises(BundleError, match="word-vectors"):
        edgeret.load(copy)
