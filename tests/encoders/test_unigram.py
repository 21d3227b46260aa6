"""Unigram tokenizers, as XLM-R and its kind have them: what is one passes, and everything else is refused by name."""

from __future__ import annotations

import base64
import copy
import functools
import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_tokenizer_file import REFUSED, Change, Part, encoder, put, steps
from unigram_samples import CHANGES, SPACE, charsmap, encoded, unigram

from edgeret.errors import BundleError
from edgeret_export.reference.encoders.checks import tokenizer_file
from edgeret_export.reference.encoders.checks.unigram import MAX_REPLACEMENT, check_charsmap
from edgeret_export.reference.encoders.tokenizer import load_tokenizer, takes_spaces, without_spaces

TEXTS = ("query: send a mail", "öffne  die Datei", "打开文件", "\uff21\uff22\u3000\ufb01le mai\u00adl", "")
ROBERTA = {
    "type": "RobertaProcessing",
    "sep": ["</s>", 2],
    "cls": ["<s>", 0],
    "trim_offsets": True,
    "add_prefix_space": True,
}
OLD = {"type": "Metaspace", "replacement": SPACE, "str_rep": SPACE, "add_prefix_space": True}


@functools.cache
def _sample() -> str:
    return json.dumps(unigram())


def sample() -> Part:
    return dict(json.loads(_sample()))


def loaded(value: Part, max_tokens: int = 64) -> Any:
    return load_tokenizer(json.dumps(value).encode(), max_tokens, "encoder").library


def pieces(change: Any) -> Change:
    """Changes the vocabulary's pieces."""
    return lambda value: change(value["model"]["vocab"])


def mapped(data: bytes) -> Change:
    """Puts another charsmap in the place of the sample's."""
    told = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}
    return put("normalizer", "normalizers", 0, value=told)


def turned(place: int, value: int) -> bytes:
    """The sample's charsmap with another number in one of its trie's units."""
    data = bytearray(charsmap())
    data[4 + 4 * place : 8 + 4 * place] = value.to_bytes(4, "little")
    return bytes(data)


FIRST = 256 + "\u3000".encode()[0]
"""Where the sample's trie has the unit of its first byte."""

ABUSES: dict[str, tuple[Change, str]] = {
    "a piece twice": (pieces(lambda v: v.append(list(v[5]))), "the vocabulary has a piece twice"),
    "an empty piece": (pieces(lambda v: v.append(["", -1.0])), "a piece of the vocabulary must have 1 to 64 char"),
    "a long piece": (pieces(lambda v: v.append(["a" * 65, -1.0])), "a piece of the vocabulary must have 1 to 64 char"),
    "a piece without a score": (pieces(lambda v: v.append(["zz"])), "must be a text and its score"),
    "a piece that is a number": (pieces(lambda v: v.append([7, -1.0])), "must be a text and its score"),
    "a piece that is an object": (pieces(lambda v: v.append({"zz": 1})), "must be a text and its score"),
    "a score that is true": (pieces(lambda v: v.append(["zz", True])), "must be a text and its score"),
    "a score that is text": (pieces(lambda v: v.append(["zz", "-1"])), "must be a text and its score"),
    "a huge score": (pieces(lambda v: v.append(["zz", 1e300])), "score must lie between -10000 and 10000"),
    "a huge whole score": (pieces(lambda v: v.append(["zz", -(10**400)])), "score must lie between -10000 and 10000"),
    "no pieces": (put("model", "vocab", value=[]), "expected a vocabulary of 1 to 524288 tokens, found 0"),
    "a map of pieces": (put("model", "vocab", value={"a": 0}), '"vocab" must be an array'),
    "no unknown piece": (put("model", "unk_id", value=None), '"unk_id" must be an integer'),
    "an unknown piece beyond": (put("model", "unk_id", value=10**5), '"unk_id" must be below '),
    "bytes for the unknown": (put("model", "byte_fallback", value=True), '"byte_fallback" must be false'),
    "a field nobody knows": (put("model", "alpha", value=0.5), "model Unigram has an unknown field 'alpha'"),
    "another space": (put("pre_tokenizer", "replacement", value="_"), f'"replacement" must be {SPACE}'),
    "a scheme nobody knows": (put("pre_tokenizer", "prepend_scheme", value="twice"), '"prepend_scheme" must be always'),
    "any replacement": (
        put("normalizer", value={"type": "Replace", "pattern": {"String": "a"}, "content": " "}),
        '"pattern" must be {"Regex": " {2,}"}',
    ),
    "a replacement that grows": (
        put("normalizer", value={"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "  "}),
        f'"content" must be   or {SPACE}',
    ),
    "a special id beyond": (
        put("post_processor", value={**ROBERTA, "sep": ["</s>", 10**5]}),
        "post-processor RobertaProcessing: ids must be below",
    ),
    "byte-level pairs": (
        put("model", value={"type": "BPE", "vocab": {"a": 0}, "merges": []}),
        "model 'BPE' is not allowed, expected one of WordPiece, WordLevel, Unigram",
    ),
    "bytes as letters": (
        put("pre_tokenizer", value={"type": "ByteLevel", "add_prefix_space": True}),
        "pre-tokenizer 'ByteLevel' is not allowed",
    ),
    "no charsmap": (
        put("normalizer", value={"type": "Precompiled", "precompiled_charsmap": None}),
        '"precompiled_charsmap" must be a text of at most 1048576 characters',
    ),
    "a huge charsmap": (
        put("normalizer", value={"type": "Precompiled", "precompiled_charsmap": "A" * (1 << 20) + "AAAA"}),
        '"precompiled_charsmap" must be a text of at most 1048576 characters',
    ),
    "no base64": (
        put("normalizer", value={"type": "Precompiled", "precompiled_charsmap": "A\u00e4=="}),
        "its charsmap is damaged",
    ),
    "two charsmaps": (
        lambda value: value["normalizer"]["normalizers"].append(value["normalizer"]["normalizers"][0]),
        "expected one Precompiled at most",
    ),
    "a charsmap of no trie": (mapped(b"\0\0\0\0a\0"), "its charsmap has no trie of whole blocks"),
    "a charsmap cut short": (mapped(charsmap()[:900]), "its charsmap has no trie of whole blocks"),
    "half a block": (mapped((512).to_bytes(4, "little") + bytes(512) + b"a\0"), "no trie of whole blocks"),
    "a step out of the trie": (mapped(turned(FIRST, 0x1FFFFF << 10 | 0xE3)), "its charsmap leads out of its trie"),
    "a first step that is a value": (mapped(turned(0, 1 << 31)), "its charsmap leads out of its trie"),
    "a value that is none": (mapped(turned(FIRST, 0x100 | FIRST << 10 | 0xE3)), "its charsmap names a text that is no"),
    "a text without an end": (mapped(charsmap()[:-1]), "the last text of its charsmap has no end"),
    "a text that is no text": (mapped(charsmap()[:-2] + b"\xff\0"), "its charsmap is damaged"),
    "texts that grow": (mapped(charsmap({"a": "a" * (MAX_REPLACEMENT + 1)})), "or one of more than 48 bytes"),
}


@pytest.mark.parametrize("name", ABUSES)
def test_an_abuse_of_a_unigram_model_is_refused_by_name(name: str) -> None:
    change, message = ABUSES[name]
    value = sample()
    change(value)
    with pytest.raises(BundleError, match=re.escape(message)) as caught:
        loaded(value)
    assert str(caught.value).startswith("encoder: tokenizer: ")
    assert "\n" not in str(caught.value)


def test_scores_that_are_no_numbers_are_refused() -> None:
    text = _sample().replace("0.0", "NaN", 1)
    with pytest.raises(BundleError, match="NaN is no JSON"):
        load_tokenizer(text.encode(), 64, "encoder")
    with pytest.raises(BundleError, match="score must lie between"):
        load_tokenizer(_sample().replace("0.0", "-1e999", 1).encode(), 64, "encoder")


@pytest.mark.parametrize("part", [("normalizer", 0), ("pre_tokenizer", None), ("decoder", None)])
def test_parts_of_unigram_models_are_refused_with_other_models(part: tuple[str, int | None]) -> None:
    from test_tokenizer_file import small

    key, step = part
    value, found = small(), sample()[key]
    value[key] = found if step is None else found["normalizers"][step]
    with pytest.raises(BundleError, match="is not allowed, expected one of"):
        loaded(value)
    assert "a normaliser in Rust's own charset" in REFUSED


def test_the_larger_limits_are_those_of_unigram_models_alone() -> None:
    from test_tokenizer_file import small

    value = small()
    value["model"]["vocab"] |= {"Unigram": len(value["model"]["vocab"])}
    large = json.dumps(value).encode() + b" " * (8 << 20)
    with pytest.raises(BundleError, match="expected 8388608 bytes at most"):
        load_tokenizer(large, 64, "encoder")
    assert loaded(sample())
    load_tokenizer(_sample().encode() + b" " * (8 << 20), 64, "encoder")
    with pytest.raises(BundleError, match="expected 20971520 bytes at most"):
        load_tokenizer(_sample().encode() + b" " * (20 << 20), 64, "encoder")
    with pytest.raises(BundleError, match="expected 650000 objects and arrays at most"):
        load_tokenizer(b'"Unigram"' + b"[" * 650_001, 64, "encoder")


@pytest.mark.parametrize(
    "change",
    [
        lambda value: None,
        put("post_processor", value=ROBERTA),
        put("pre_tokenizer", value=OLD),
        put("pre_tokenizer", value=steps("pretokenizers", {"type": "WhitespaceSplit"}, OLD)),
        lambda value: value["normalizer"]["normalizers"].append(
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": SPACE}
        ),
        put("normalizer", value=None),
        lambda value: value["model"].pop("byte_fallback"),
        lambda value: value["added_tokens"].append({**value["added_tokens"][0], "id": 160, "content": "<mask>"}),
    ],
    ids=["new", "roberta", "old", "split", "spaces", "plain", "no bytes", "mask"],
)
def test_a_unigram_tokenizer_reads_as_the_library_reads_it(change: Change) -> None:
    from tokenizers import Tokenizer

    value = sample()
    value["model"]["vocab"] = value["model"]["vocab"][:160]
    change(value)
    if len(value["added_tokens"]) == 5:
        value["added_tokens"][4]["id"] = len(value["model"]["vocab"])
    made, read = loaded(value), Tokenizer.from_str(json.dumps(value))
    for text in TEXTS:
        one, other = made.encode(text), read.encode(text)
        assert (one.ids, one.offsets, one.tokens) == (other.ids, other.offsets, other.tokens)


def test_a_charsmap_changes_texts_as_it_says() -> None:
    from tokenizers import normalizers

    check_charsmap(charsmap())
    text = "\uff21bc\u3000\ufb01\u00adn \uff22\u00e9"
    expected = text
    for old, new in CHANGES.items():
        expected = expected.replace(old, new)
    assert normalizers.Precompiled(charsmap()).normalize_str(text) == expected
    value = sample()
    value["normalizer"]["normalizers"][0]["precompiled_charsmap"] = encoded(CHANGES)
    assert loaded(value).encode(text).ids == loaded(sample()).encode(text).ids


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4), st.text(max_size=40))
@example([(4, 1)], "\uff21")
def test_a_charsmap_that_passes_cannot_lead_astray(bytes_changed: list[tuple[int, int]], text: str) -> None:
    from tokenizers import normalizers

    data = bytearray(charsmap())
    for place, value in bytes_changed:
        # Half of the changes meet the units that are used.
        data[place % len(data) if place % 2 else 4 + 4 * (FIRST + place % 40)] = value
    try:
        check_charsmap(bytes(data))
    except ValueError:
        return
    texts = text + "".join(CHANGES) + "\u3001\u3002\uff23"
    found = normalizers.Precompiled(bytes(data)).normalize_str(texts)
    assert len(found.encode()) <= MAX_REPLACEMENT * len(texts)


@pytest.mark.parametrize(
    ("processor", "ends"),
    [
        ({"single": ["<s>", "A", "</s>"]}, (1, 1)),
        ({"single": ["A", "</s>"]}, (0, 1)),
        ({"single": ["<s>", "<s>", "A"]}, (2, 0)),
        (None, (0, 0)),
    ],
    ids=["both", "behind", "before", "none"],
)
def test_a_files_special_tokens_are_those_that_the_library_puts_around_a_text(
    processor: Part | None, ends: tuple[int, int]
) -> None:
    value = sample()
    told = None
    if processor is not None:
        told = copy.deepcopy(value["post_processor"])
        told["single"] = [
            {"Sequence": {"id": "A", "type_id": 0}} if p == "A" else {"SpecialToken": {"id": p, "type_id": 0}}
            for p in processor["single"]
        ]
    value["post_processor"] = told
    found = load_tokenizer(json.dumps(value).encode(), 64, "encoder")
    before, behind = found.frame
    assert (len(before), len(behind)) == ends
    assert [*before, *behind] == found.library.encode("").ids
    mask = found.library.encode("mail").special_tokens_mask
    assert (mask[: ends[0]], mask[len(mask) - ends[1] :]) == ([1] * ends[0], [1] * ends[1])


@pytest.mark.parametrize("more", [{}, {"trim_offsets": True, "add_prefix_space": True}], ids=["BERT", "RoBERTa"])
def test_a_processor_without_a_template_has_one_at_each_end(more: Part) -> None:
    value = sample()
    ids = {text: number for number, (text, _) in enumerate(value["model"]["vocab"])}
    kind = "RobertaProcessing" if more else "BertProcessing"
    value["post_processor"] = {"type": kind, "cls": ["<s>", ids["<s>"]], "sep": ["</s>", ids["</s>"]], **more}
    found = load_tokenizer(json.dumps(value).encode(), 64, "encoder")
    assert found.frame == ([ids["<s>"]], [ids["</s>"]])
    assert found.library.encode("").ids == [ids["<s>"], ids["</s>"]]


def test_words_alone_are_tokens_of_a_query_whatever_stands_around_them() -> None:
    value = json.loads(encoder(sample_words()).tokenizer.library.to_str())
    value["post_processor"]["single"] = value["post_processor"]["single"][:2]  # no token behind the text
    found = encoder(value).encode_query("send mail")
    assert found.tokens.shape[0] == 2
    assert found.spans.tolist() == [[0, 4], [5, 9]]


def sample_words() -> Part:
    from test_tokenizer_file import small

    return small()


def test_a_token_does_not_stand_for_the_space_before_it() -> None:
    tokenizer, text = loaded(sample()), "send a mail"
    assert takes_spaces(tokenizer)
    spans = np.array(tokenizer.encode(text, add_special_tokens=False).offsets, np.intp)
    found = without_spaces(spans, text)
    assert any(text[begin] == " " for begin, end in spans.tolist() if end > begin)
    assert not any(text[begin : begin + 1] == " " for begin, end in found.tolist() if end > begin)
    np.testing.assert_array_equal(found[:, 1], spans[:, 1])
    assert not takes_spaces(encoder(sample_words()).tokenizer.library)


def test_a_files_check_costs_little_beside_its_size() -> None:
    value = sample()
    more = [[f"{i:x}", -9.5] for i in range(250_000)]
    known = {piece for piece, _ in value["model"]["vocab"]}
    value["model"]["vocab"] += [piece for piece in more if piece[0] not in known]
    assert tokenizer_file.check(json.dumps(value).encode(), 512, "t")["model"]["type"] == "Unigram"
