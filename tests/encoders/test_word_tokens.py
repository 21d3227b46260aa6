"""Texts are read word by word as the tokenizers library reads them whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

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
    assert found == whole(made, text) if found else max(map(len, text.split(" "))) > LONGEST
    assert reader(text) == found


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
