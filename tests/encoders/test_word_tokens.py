"""Texts are read word by word as the tokenizers library reads them whole."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from edgeret.encoders.base import EncoderSpec
from edgeret.errors import BundleError
from edgeret_export.reference.encoders import tokenizer as tokenizer_module
from edgeret_export.reference.encoders.tokenizer import load_tokenizer
from edgeret_export.reference.encoders.windows import WindowEncoder
from edgeret_export.reference.encoders.word_tokens import LONGEST, WordTokens

PIECES = [
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *"abcmail",
    *(f"##{c}" for c in "abcdemil"),
    "send",
    "mail",
    "##ing",
    ",",
    ".",
    "_",
]
PIECES += ["[", "]", "9", "##9", "and", "note", "play", "-"]


def tokenizer(lowercase: bool = True, added: tuple[AddedToken, ...] = (), **model: Any) -> Tokenizer:
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(PIECES))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", **model))
    made.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens([AddedToken("[SEP]"), *added])
    return made


def whole(made: Tokenizer, text: str) -> tuple[list[int], list[int]]:
    encoded = made.encode(text, add_special_tokens=False)
    return encoded.ids, [place for span in encoded.offsets for place in span]


TEXTS = st.lists(st.sampled_from([*PIECES, " ", " ", "SEND", "Mail,", "mailing.", "a's"])).map("".join)


def reader_of(made: Tokenizer) -> WordTokens | None:
    return WordTokens.of(json.loads(made.to_str()), lambda: made)


@pytest.mark.parametrize("longest", [100, 5])
@pytest.mark.parametrize("lowercase", [True, False])
@given(TEXTS | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60))
def test_a_text_has_the_tokens_that_the_library_finds(lowercase: bool, longest: int, text: str) -> None:
    made = tokenizer(lowercase, max_input_chars_per_word=longest)
    reader = reader_of(made)
    assert reader is not None
    found = reader(text)
    assert found is not None
    assert (found.ids.tolist(), found.spans.ravel().tolist()) == whole(made, text)


@pytest.mark.parametrize("text", ["größe", "send\tmail", "a\x1cb", "漢字"])
def test_what_may_be_read_otherwise_is_the_librarys(text: str) -> None:
    reader = reader_of(tokenizer())
    assert reader is not None
    assert reader(text) is None


@pytest.mark.parametrize("prefix", ["##", "", "_", "longest prefix 16"[:16]])
def test_words_are_cut_into_the_longest_pieces_whatever_those_behind_begin_with(prefix: str) -> None:
    pieces = ["[UNK]", "a", "ab", f"{prefix}b", f"{prefix}bc", f"{prefix}c", f"{prefix}{'c' * 30}", "x" * 60, "~"]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    made = tokenizer()
    made.model = models.WordPiece(vocabulary, unk_token="[UNK]", continuing_subword_prefix=prefix)
    reader = reader_of(made)
    assert reader is not None
    for text in ("abc", "abbcc ab~abc", "a" + "c" * 35, "x" * 60, "x" * 100, "x" * 101, "c" * LONGEST, "", "  ", "abd"):
        found = reader(text)
        assert found is not None
        assert (found.ids.tolist(), found.spans.ravel().tolist()) == whole(made, text)


def other(**parts: Any) -> Tokenizer:
    made = tokenizer()
    for name, part in parts.items():
        setattr(made, name, part)
    return made


@pytest.mark.parametrize(
    "made",
    [
        tokenizer(added=(AddedToken("send mail", normalized=False),)),
        tokenizer(added=(AddedToken("[X]", lstrip=True),)),
        tokenizer(added=(AddedToken("mail"),)),
        tokenizer(max_input_chars_per_word=LONGEST + 1),
        tokenizer(continuing_subword_prefix="#" * 17),
        tokenizer(continuing_subword_prefix="·"),
        other(pre_tokenizer=pre_tokenizers.Metaspace()),
        other(normalizer=normalizers.Lowercase()),
        Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]")),
    ],
    ids=[
        "spaces",
        "strips",
        "letters",
        "long words",
        "long prefix",
        "other prefix",
        "pre-tokenizer",
        "normalizer",
        "model",
    ],
)
def test_a_tokenizer_whose_words_do_not_stand_alone_is_left_alone(made: Tokenizer) -> None:
    assert reader_of(made) is None


class Ids(WindowEncoder):
    """A text's vector says which ids were read."""

    requested = providers = ("cpu",)
    engine, threads = "ids", 1

    def _vector(self, ids: np.ndarray) -> np.ndarray:
        return self._vectors(ids)[0]

    def _vectors(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tokens = np.random.default_rng(0).normal(size=(99, 4)).astype(np.float32)[ids]
        total = (tokens * (1 + np.arange(len(ids), dtype=np.float32))[:, None]).sum(axis=0)
        return total / np.linalg.norm(total), tokens


def framed() -> bytes:
    made = tokenizer()
    known = [(name, made.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=known)
    return made.to_str().encode()


@pytest.mark.parametrize("prefix", ["", "send mail: "])
@given(text=TEXTS)
def test_an_encoder_reads_the_ids_that_the_library_gives(prefix: str, text: str) -> None:
    spec = EncoderSpec(4, 16, "mean", True, prefix, "", "fp32", "any")
    one = Ids(framed(), spec, 16, "encoder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WordTokens, "of", lambda *_: None)
        other = Ids(framed(), spec, 16, "encoder")
    found, expected = one.encode_query(text), other.encode_query(text)
    for name in ("rows", "tokens", "spans"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.readings == expected.readings
    np.testing.assert_array_equal(one.encode(text), other.encode(text))


def test_what_the_library_cannot_read_is_refused_with_the_first_text_that_needs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = load_tokenizer(framed(), 64, "encoder")
    monkeypatch.setattr(tokenizer_module, "_made", lambda _: 1 / 0)
    for _ in range(2):
        with pytest.raises(BundleError, match="encoder: the tokenizers library cannot read the tokenizer"):
            _ = load_tokenizer(framed(), 64, "encoder").library
    assert loaded.words is not None
    value = json.loads(framed()) | {"normalizer": {"type": "Lowercase"}}
    with pytest.raises(BundleError, match="cannot read the tokenizer"):
        load_tokenizer(json.dumps(value).encode(), 64, "encoder")
