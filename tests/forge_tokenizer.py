"""Families of forgeries of tokenizer.json: parts that need much time or memory, that fail, or that mean nothing.

As in forge_fields.py, a family makes the same forgery of the same number and says what it did.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from typing import Any

from forge import Forgery, Raw
from forge_fields import WRITTEN, Family, cell, spoil
from unigram_samples import SPACE, charsmap

Part = dict[str, Any]


def _growing(rounds: int) -> Part:
    grow = {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaa"}
    return {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "a"}] + [grow] * rounds}


def _deep(depth: int) -> Raw:
    return Raw(b'{"type":"Sequence","normalizers":[' * depth + b'{"type":"Lowercase"}' + b"]}" * depth)


def _template(*ids: Any, pieces: int = 1) -> Part:
    special = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}] * pieces
    names = {"[CLS]": {"id": "[CLS]", "ids": list(ids), "tokens": ["[CLS]"] * len(ids)}}
    sequence = [{"Sequence": {"id": "A", "type_id": 0}}]
    return {"type": "TemplateProcessing", "single": special + sequence, "pair": sequence * 2, "special_tokens": names}


def _regex(pattern: str, kind: str = "Replace") -> Part:
    if kind == "Replace":
        return {"type": "Replace", "pattern": {"Regex": pattern}, "content": "b"}
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


CATASTROPHES = (
    r"(a+)+$",
    r"(a|aa)+$",
    r"(.*)*x",
    r"(?:.|\s)*?\d{400}",
    "(" * 500 + ")" * 500,
    "[",
    r"(?<!a{1,60})b",
    "a*" * 90,
)
BERT = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
NORMALIZERS: tuple[Any, ...] = (
    *(_growing(rounds) for rounds in (1, 4, 7, 9)), *(_deep(depth) for depth in (3, 40, 100, 5_000)),
    *(_regex(pattern) for pattern in CATASTROPHES), BERT, {**BERT, "strip_accents": 7}, {**BERT, "lowercase": None},
    *({"type": kind} for kind in ("NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Nmt", "ByteLevel", "Lowercase",
    "Nothing")),
    {"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Prepend", "prepend": "the " * 100_000},
    {"type": "Precompiled", "precompiled_charsmap": "AAAA"},
    {"type": "Precompiled", "precompiled_charsmap": "/" * 4_000},
    {"type": "Replace", "pattern": {"String": ""}, "content": "a"},
    {"type": "Replace", "pattern": {"String": "e"}, "content": "x" * 10**6},
    {"type": "Sequence", "normalizers": []}, {"type": "Sequence", "normalizers": [{"type": "Lowercase"}] * 100_000},
    {"type": "Sequence", "normalizers": [{"type": "NFKD"}, BERT] * 300}, [], 7, "Lowercase", {},
)  # fmt: skip
PRE_TOKENIZERS: tuple[Any, ...] = (
    *({"type": kind} for kind in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts", "Nothing")),
    *(_regex(pattern, "Split") for pattern in CATASTROPHES), {"type": "Sequence", "pretokenizers": []}, None, [], 7,
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    {"type": "Metaspace", "replacement": "", "prepend_scheme": "always", "split": True},
    {"type": "Metaspace", "replacement": "ab", "prepend_scheme": "first", "split": False},
    {"type": "Punctuation", "behavior": "Isolated"}, {"type": "Digits", "individual_digits": True},
    {"type": "CharDelimiterSplit", "delimiter": " "}, {"type": "CharDelimiterSplit", "delimiter": ""},
    {"type": "FixedLength", "length": 0}, {"type": "FixedLength", "length": 2**63},
    {"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": False},
    {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}] * 50_000},
)  # fmt: skip
POST_PROCESSORS: tuple[Any, ...] = (
    None, _template(), _template(1), _template(36), _template(10**9), _template(2**32 - 1), _template(2**32),
    _template(-1),
    _template(*range(100)), _template(1, pieces=100), _template(1, pieces=100_000), _template(*[1] * 100_000), [], {},
    {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
    {"type": "BertProcessing", "sep": ["[SEP]", 2**32 - 1], "cls": ["[CLS]", 99]},
    {"type": "BertProcessing", "sep": [], "cls": ["[CLS]"]},
    {"type": "RobertaProcessing", "sep": ["x", 2], "cls": ["y", 1], "trim_offsets": True, "add_prefix_space": True},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "Sequence", "processors": []}, {"type": "Sequence", "processors": [_template(1)] * 2_000},
    {**_template(1), "single": []}, {**_template(1), "single": [{"Sequence": {"id": "B", "type_id": 0}}]},
    {**_template(1), "single": [{"SpecialToken": {"id": "[NONE]", "type_id": 0}}]},
    {**_template(1), "special_tokens": {}},
    {**_template(1), "single": [{"Sequence": {"id": "A", "type_id": 2**32}}]}, {"type": "Nothing"},
    {**_template(1), "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 5_000},
)  # fmt: skip
WORDS = {word: i for i, word in enumerate(["[UNK]", "[CLS]", "[SEP]", "find", "file", "a", "##a", "##e", "the"])}
PIECES: Part = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
    "vocab": WORDS,
}
MODELS: tuple[Any, ...] = (
    PIECES, {**PIECES, "unk_token": "nowhere"}, {**PIECES, "continuing_subword_prefix": ""}, {**PIECES, "vocab": {}},
    {**PIECES, "max_input_chars_per_word": 2**62}, {**PIECES, "max_input_chars_per_word": 0},
    {**PIECES, "type": "Nothing"},
    {**PIECES, "max_input_chars_per_word": -1}, {**PIECES, "vocab": {"[UNK]": 2**32 - 1, "find": 10**6, "a": 36}},
    {**PIECES, "vocab": {"[UNK]": 2**32}}, {**PIECES, "vocab": {"[UNK]": -1}}, {**PIECES, "vocab": {"[UNK]": 0.5}},
    {**PIECES, "vocab": {**WORDS, **{str(i): 5 for i in range(1_000)}}}, {**PIECES, "vocab": {**WORDS, "x" * 10**6: 9}},
    {**PIECES, "vocab": {**WORDS, **{f"w{i}": i for i in range(300_000)}}},
    {**PIECES, "continuing_subword_prefix": "x" * 10**6},
    {"type": "WordLevel", "vocab": WORDS, "unk_token": "[UNK]"},
    {"type": "WordLevel", "vocab": {"find": 3}, "unk_token": "[UNK]"},
    {"type": "WordLevel", "vocab": {"[UNK]": 36}, "unk_token": "[UNK]"},
    {"type": "WordLevel", "vocab": {"[UNK]": 10**8}, "unk_token": "[UNK]"},
    {"type": "WordLevel", "vocab": [], "unk_token": "[UNK]"}, {"type": "WordLevel", "vocab": {"": 0}, "unk_token": ""},
    {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
    {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]},
    {"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": [["a", "a"]] * 50_000, "byte_fallback": True, "dropout": 0.5},
    {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 7.0},
    {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]},
    {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": 7}, {"type": "Unigram", "vocab": [], "unk_id": None},
    {"type": "Unigram", "vocab": [["a", -1e308], ["b", float("nan")]], "unk_id": 0, "byte_fallback": True},
    {"type": "Unigram", "vocab": [["", 0.0], ["a" * 100_000, 1e308]], "unk_id": 0}, None, {}, [], {"vocab": WORDS},
)  # fmt: skip


def _added(content: Any, number: Any = 40, **fields: Any) -> Part:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": number, "content": content, **flags, **fields}


OTHERS: tuple[tuple[str, Any], ...] = (
    *(("added_tokens", [_added(text)]) for text in ("", " ", "a", "find", "\0", "x" * 100_000, 7, None, "\ud800")),
    *(("added_tokens", [_added("find", n)]) for n in (0, 2, 36, 10**9, 2**32 - 1, 2**32, -1, None, 1.5)),
    ("added_tokens", [_added("e", 4, special=True, lstrip=True, rstrip=True, normalized=True)]),
    ("added_tokens", [_added("\u0130", 4, normalized=True)]), ("added_tokens", {}),
    ("added_tokens", [_added("a")] * 1_000),
    ("added_tokens", [_added(f"t{i}", 40 + i) for i in range(30_000)]), ("added_tokens", [7]),
    ("truncation", {"direction": "Left", "max_length": 0, "strategy": "LongestFirst", "stride": 0}),
    ("truncation", {"direction": "Right", "max_length": 4, "strategy": "OnlySecond", "stride": 3}),
    ("truncation", {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 2**63}),
    ("padding", {"strategy": {"Fixed": 2**40}, "direction": "Right", "pad_to_multiple_of": 0, "pad_id": 0,
        "pad_type_id": 0, "pad_token": "x"}),
    ("padding", {"strategy": {"Fixed": 10**9}, "direction": "Left", "pad_to_multiple_of": None, "pad_id": 9,
        "pad_type_id": 0, "pad_token": ""}),
    ("padding", 7), ("truncation", 7), ("version", "9.0"), ("version", None), ("version", 1.0), ("unknown", 7),
    ("decoder", {"type": "WordPiece", "prefix": "##", "cleanup": True}),
    ("decoder", {"type": "Sequence", "decoders": [{"type": "Fuse"}] * 9_999}),
    ("decoder", {"type": "Replace", "pattern": {"Regex": "("}, "content": ""}), ("decoder", 7),
    ("unknown", Raw(b"[" * 100_000)), ("unknown", Raw(b"[" * 127 + b"]" * 127)),
    ("version", Raw(b'"1.0","version":"1.0"')),
)  # fmt: skip
COMPONENTS: tuple[tuple[str, Any], ...] = (
    *(("normalizer", part) for part in NORMALIZERS),
    *(("pre_tokenizer", part) for part in PRE_TOKENIZERS),
    *(("post_processor", part) for part in POST_PROCESSORS),
    *(("model", part) for part in MODELS),
    *OTHERS,
)


def components(forgery: Forgery, number: int) -> str:
    """One part of the tokenizer exchanged for another, then two."""
    tree = forgery.json("tokenizer")
    first, second = cell(number, len(COMPONENTS), len(COMPONENTS))
    chosen = [COMPONENTS[number]] if number < len(COMPONENTS) else [COMPONENTS[first], COMPONENTS[second]]
    for key, part in chosen:
        tree[key] = part
    return "; ".join(f"{key} {str(part)[:60]}" for key, part in chosen)


def bert(forgery: Forgery, number: int) -> str:
    """A tokenizer as real encoders have it, and one of its fields spoilt."""
    tree = forgery.json("tokenizer")
    tree |= {"model": PIECES, "normalizer": BERT, "pre_tokenizer": {"type": "BertPreTokenizer"}}
    forgery.trees["tokenizer"], what = spoil(copy.deepcopy(tree), number, WRITTEN)
    return f"tokenizer like BERT's: {what}"


SCORED = [["<unk>", 0.0], ["[CLS]", 0.0], ["[SEP]", 0.0], *([f"{SPACE}{word}", -2.5] for word in ("find", "file", "a"))]
UNIGRAM: Part = {"type": "Unigram", "unk_id": 0, "vocab": [*SCORED, [SPACE, -3.0], ["e", -4.0], ["i", -4.5]]}


def unigram(forgery: Forgery, number: int) -> str:
    """A tokenizer as multilingual encoders have it, and one of its fields spoilt; or its charsmap, in one byte."""
    tree = forgery.json("tokenizer")
    data = bytearray(charsmap())
    if number % 4 == 0:
        data[number * 7 % len(data)] ^= 1 << number // 4 % 8
    told = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(bytes(data)).decode()}
    tree |= {"model": UNIGRAM, "normalizer": told}
    tree |= {"pre_tokenizer": {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}}
    if number % 4 == 0:
        return f"tokenizer like XLM-R's: byte {number * 7 % len(data)} of its charsmap"
    forgery.trees["tokenizer"], what = spoil(copy.deepcopy(tree), number, WRITTEN)
    return f"tokenizer like XLM-R's: {what}"


def texts(forgery: Forgery, number: int) -> str:
    """The tokenizer's JSON as text: other encodings, comments, deep nesting, other ends."""
    data = forgery.files["tokenizer"]
    ways: list[Callable[[bytes], bytes]] = [
        lambda data: b"", lambda data: b"null", lambda data: b"[]", lambda data: b"{}",
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.decode().encode("utf-16"), lambda data: data + b"}", lambda data: data + data,
        lambda data: data[:-1],
        lambda data: b"[" * 100_000, lambda data: b'{"a":' * 100_000, lambda data: b"// x\n" + data,
        lambda data: b"\0" + data,
        lambda data: data.replace(b'"Lowercase"', b'"\\ud800"'), lambda data: data.replace(b'"mail"', b'"m\xff"'),
        lambda data: data.replace(b":3,", b":3.0,"), lambda data: data.replace(b":3,", b":1e2,"),
        lambda data: data.replace(b":3,", b":4,"),
        lambda data: data.replace(b'"mail":3', b'"mail":3,"mail":99'),
        lambda data: data.replace(b":3,", b":99999999999999999999,"),
        lambda data: b" " * 20_000_000 + data, lambda data: data.replace(b'"1.0"', b'"' + b"1" * 5_000_000 + b'"'),
    ]  # fmt: skip
    forgery.files["tokenizer"] = ways[number % len(ways)](data)
    return f"tokenizer: text {number % len(ways)}"


TOKENIZER: dict[str, Family] = {
    "tokenizer-components": components,
    "tokenizer-bert": bert,
    "tokenizer-unigram": unigram,
    "tokenizer-texts": texts,
}
