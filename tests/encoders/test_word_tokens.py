"""Texts are read word by word as the tokenizers library reads them whole."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from edgeret.encoders import word_tokens
from edgeret.encoders.base import EncoderSpec
from edgeret.encoders.windows import WindowEncoder
from edgeret.encoders.word_tokens import LONGEST, WordTokens

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


@pytest.mark.parametrize("lowercase", [True, False])
@settings(max_examples=300)
@given(TEXTS | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60))
def test_words_have_the_tokens_that_they_have_in_the_text(lowercase: bool, text: str) -> None:
    made = tokenizer(lowercase)
    reader = WordTokens.of(made)
    assert reader is not None
    found = reader(text)
    if found is None:
        assert max(map(len, text.split(" "))) > LONGEST
        return
    assert (found.ids.tolist(), found.spans.ravel().tolist()) == whole(made, text)
    again = reader(text)
    assert again is not None
    np.testing.assert_array_equal(np.column_stack(again), np.column_stack(found))


@pytest.mark.parametrize("text", ["größe", "send\tmail", "a\x1cb", "send " + "m" * (LONGEST + 1), "漢字"])
def test_what_may_be_read_otherwise_is_the_librarys(text: str) -> None:
    reader = WordTokens.of(tokenizer())
    assert reader is not None
    assert reader(text) is None


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
        tokenizer(max_input_chars_per_word=LONGEST - 1),
        other(pre_tokenizer=pre_tokenizers.Metaspace()),
        other(normalizer=normalizers.Lowercase()),
        Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]")),
    ],
    ids=["spaces", "strips", "letters", "short words", "pre-tokenizer", "normalizer", "model"],
)
def test_a_tokenizer_whose_words_do_not_stand_alone_is_left_alone(made: Tokenizer) -> None:
    assert WordTokens.of(made) is None


def test_where_there_is_no_room_for_a_word_the_others_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_tokens, "KEPT", 4)
    made = tokenizer()
    reader = WordTokens.of(made)
    assert reader is not None
    words = ["send", "mail", "a,", "b.", "mailing", "note", "c_c", "play-", "9a", "abc", "abcmail"]
    for word in [*words, *words]:
        for text in (word, f"  {word} {word}"):
            found = reader(text)
            assert found is not None
            assert (found.ids.tolist(), found.spans.ravel().tolist()) == whole(made, text)


def test_threads_read_while_others_meet_new_words() -> None:
    made = tokenizer()
    reader, pieces = WordTokens.of(made), ["send", "mail", "note", "play", "a", "b", "c", "9", "_", ","]
    assert reader is not None

    def read(seed: int) -> list[tuple[str, tuple[list[int], list[int]]]]:
        draw, found = random.Random(seed), []
        for _ in range(400):
            text = " ".join("".join(draw.choices(pieces, k=draw.randint(1, 4))) for _ in range(5))
            said = reader(text)
            assert said is not None
            found.append((text, (said.ids.tolist(), said.spans.ravel().tolist())))
        return found

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(read, range(4)):
            assert all(said == whole(made, text) for text, said in found)


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
@settings(max_examples=100, deadline=None)
@given(text=TEXTS)
def test_an_encoder_reads_the_ids_that_the_library_gives(prefix: str, text: str) -> None:
    spec = EncoderSpec(4, 16, "mean", True, prefix, "", "fp32", "any")
    one = Ids(framed(), spec, 16, "encoder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WordTokens, "of", lambda _: None)
        other = Ids(framed(), spec, 16, "encoder")
    found, expected = one.encode_query(text), other.encode_query(text)
    for name in ("rows", "tokens", "spans"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.readings == expected.readings
    np.testing.assert_array_equal(one.encode(text), other.encode(text))
