"""The table of token vectors: what it gives, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from edgeret.bundle.codec import pack
from edgeret.encoders.base import EncoderSpec
from edgeret.errors import BundleError, InputError
from edgeret_export.reference.encoders.static import StaticEncoder, pack_table
from tests.conftest import WORDS, tiny_exported

SPEC = EncoderSpec(4, 8192, "mean", True, "", "", "int8", "any")
TOKENIZER = tiny_exported().tokenizer
IDS = Tokenizer.from_buffer(TOKENIZER).get_vocab()
TOKENS = len(IDS)


def table(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(TOKENS, 4)).astype(np.float32)


def encoder(vectors: np.ndarray) -> StaticEncoder:
    return StaticEncoder(pack_table(vectors), TOKENIZER, SPEC)


def test_a_text_is_the_unit_mean_of_its_tokens() -> None:
    vectors = np.zeros((TOKENS, 4), np.float32)
    made = encoder(vectors + np.eye(1, 4, dtype=np.float32))
    assert made.encode("send mail").tolist() == [1, 0, 0, 0]
    vectors[IDS["send"]], vectors[IDS["mail"]] = (3, 0, 0, 0), (0, 4, 0, 0)
    assert encoder(vectors).encode("send mail").tolist() == pytest.approx([0.6, 0.8, 0, 0])


def test_rows_keep_their_values_to_a_127th_of_the_largest() -> None:
    vectors = table()
    made = encoder(vectors)
    found = made.encode_query(" ".join(WORDS[:5])).tokens
    ids = [IDS[word] for word in WORDS[:5]]
    error = np.abs(found - vectors[ids]).max(axis=1)
    assert (error <= np.abs(vectors[ids]).max(axis=1) / 254 + 1e-6).all()


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=400))
def test_a_query_of_any_length_has_unit_vectors_and_spans_of_its_own_words(said: list[str]) -> None:
    text = " ".join(said)
    found = encoder(table()).encode_query(text)
    assert [text[a:b] for a, b in found.spans.tolist()] == said
    assert found.readings == 1
    lengths = np.linalg.norm(found.rows, axis=1)
    assert np.allclose(lengths[lengths > 0], 1, atol=1e-5)
    assert lengths[0] > 0


def test_a_text_without_a_token_has_no_vector() -> None:
    for text in ("", "  "):
        with pytest.raises(InputError, match="without a single token"):
            encoder(table()).encode(text)


def test_tools_and_batches_are_what_single_texts_are() -> None:
    made = encoder(table())
    texts = ["send a mail", "play"]
    assert (made.encode_batch(texts) == np.stack([made.encode(text) for text in texts])).all()
    assert (made.encode_tools(texts) == made.encode_batch(texts)).all()
    assert made.encode_batch([]).shape == (0, 4)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"scales": np.ones(TOKENS, np.float32)}, '"rows"'),
        ({"rows": np.ones((TOKENS, 5), np.int8), "scales": np.ones(TOKENS, np.float32)}, '"rows" must have shape'),
        ({"rows": np.ones((TOKENS, 4), np.int8), "scales": np.ones(3, np.float32)}, '"scales" must have shape'),
        ({"rows": np.ones((TOKENS, 4), np.int8), "scales": -np.ones(TOKENS, np.float32)}, "between 0 and"),
        ({"rows": np.ones((TOKENS, 4), np.int8), "scales": np.full(TOKENS, 1e8, np.float32)}, "between 0 and"),
        ({"rows": np.ones((9, 4), np.int8), "scales": np.ones(9, np.float32)}, "9 token vectors for"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(value: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(BundleError, match=message):
        StaticEncoder(pack(value), TOKENIZER, SPEC)


def test_a_table_takes_no_prefix_and_no_broken_tokenizer() -> None:
    prefixed = EncoderSpec(4, 8192, "mean", True, "query: ", "", "int8", "any")
    with pytest.raises(BundleError, match="no prefixes"):
        StaticEncoder(pack_table(table()), TOKENIZER, prefixed)
    with pytest.raises(BundleError):
        StaticEncoder(pack_table(table()), b"{}", SPEC)


def test_no_onnx_runtime_is_imported(tiny_table: Path) -> None:
    program = (
        "import sys, edgeret; r = edgeret.load(sys.argv[1]); r.task('send a mail').next(); r.search('mail');"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('onnxruntime', 'torch', 'scipy')))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tiny_table)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
