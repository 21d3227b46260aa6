"""tokenizer.json: what BERT-like encoders need passes, and everything else is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import WORDS, tiny_exported

from edgeret.encoders.providers import choose
from edgeret.errors import BundleError
from edgeret_export.reference.encoders.onnx import OnnxEncoder
from edgeret_export.reference.encoders.tokenizer import load_tokenizer

ENCODER = tiny_exported()
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
BERT = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
Part = dict[str, Any]
Change = Callable[[Part], object]


def small() -> Part:
    """The made-up encoder's tokenizer."""
    return dict(json.loads(ENCODER.tokenizer))


def pieces() -> Part:
    """A tokenizer of word pieces with all that the real one has."""
    value = small()
    vocabulary = {token: i for i, token in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, "##s", "##ing"))}
    value["model"] = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": vocabulary,
    }
    value["normalizer"] = dict(BERT)
    value["pre_tokenizer"] = {"type": "BertPreTokenizer"}
    value["post_processor"] = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
    value["decoder"] = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    value["truncation"] = {"max_length": 128, "strategy": "LongestFirst", "stride": 0}
    value["padding"] = {
        "strategy": {"Fixed": 128},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    value["added_tokens"] = [{"id": i, "content": t, **FLAGS} for t, i in list(vocabulary.items())[:4]]
    return value


def added(content: Any = "[NEW]", number: Any = 0, **flags: Any) -> Change:
    """Adds a token that the vocabulary lacks; `number` counts from the first free id."""
    return lambda value: value["added_tokens"].append(
        {"id": len(value["model"]["vocab"]) + number, "content": content, **FLAGS, **flags}
    )


def steps(key: str, *parts: Part) -> Part:
    return {"type": "Sequence", key: list(parts)}


def encoder(value: Part | bytes, max_tokens: int = 64) -> OnnxEncoder:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    spec = ENCODER.spec.__class__(**{**ENCODER.spec.to_dict(), "max_tokens": max_tokens})
    return OnnxEncoder(ENCODER.model, data, spec, choose(("cpu",), False, {}), 1)


def put(*path: Any, value: Any) -> Change:
    """Sets what lies at a path of keys and positions."""

    def change(tree: Any) -> None:
        for key in path[:-1]:
            tree = tree[key]
        tree[path[-1]] = value

    return change


REFUSED: dict[str, tuple[Change, str]] = {
    "a normaliser that grows text": (
        put("normalizer", value={"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}),
        "normalizer 'Replace' is not allowed, expected one of BertNormalizer,",
    ),
    "a normaliser in Rust's own charset": (
        put("normalizer", value={"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        "normalizer 'Precompiled' is not allowed",
    ),
    "a component without a type": (put("normalizer", value={}), "normalizer NoneType is not allowed"),
    "sequences in sequences": (
        put("normalizer", value=steps("normalizers", steps("normalizers", {"type": "NFC"}))),
        "normalizer 'Sequence' is not allowed",
    ),
    "a long sequence": (
        put("normalizer", value=steps("normalizers", *[{"type": "NFC"}] * 9)),
        "normalizer Sequence: expected 8 steps at most, found 9",
    ),
    "a sequence of nothing known": (
        put("normalizer", value={"type": "Sequence", "pretokenizers": []}),
        "normalizer Sequence has an unknown field 'pretokenizers', known are normalizers",
    ),
    "a regular expression": (
        put("pre_tokenizer", value={"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Removed"}),
        "pre-tokenizer 'Split' is not allowed",
    ),
    "fixed lengths of nothing": (
        put("pre_tokenizer", value={"type": "FixedLength", "length": 0}),
        "pre-tokenizer 'FixedLength' is not allowed",
    ),
    "a behaviour nobody knows": (
        put("pre_tokenizer", value={"type": "Punctuation", "behavior": "Doubled"}),
        'pre-tokenizer Punctuation: "behavior" must be Removed or',
    ),
    "another model": (
        put("model", value={"type": "BPE", "vocab": {}, "merges": []}),
        "model 'BPE' is not allowed, expected one of WordPiece, WordLevel",
    ),
    "an empty vocabulary": (put("model", "vocab", value={}), "expected a vocabulary of 1 to 524288 tokens, found 0"),
    "an id twice": (put("model", "vocab", "[SEP]", value=1), r"vocabulary's ids must be 0 to \d+, each once"),
    "an id beyond": (put("model", "vocab", "[SEP]", value=2**31), r"vocabulary's ids must be 0 to \d+, each once"),
    "an id that is true": (put("model", "vocab", "[SEP]", value=True), "vocabulary's ids must be"),
    "no unknown token": (put("model", "unk_token", value="[GONE]"), "unknown token '.GONE.' is not in the vocabulary"),
    "words without an end": (
        put("model", "max_input_chars_per_word", value=10**9),
        '"max_input_chars_per_word" must be an integer from 1 to 200',
    ),
    "a prefix without an end": (
        put("model", "continuing_subword_prefix", value="#" * 10**5),
        '"continuing_subword_prefix" must be a text of at most 16 characters',
    ),
    "a decoder that is code of others": (put("decoder", value={"type": "CTC"}), "decoder 'CTC' is not allowed"),
    "an extra key": (put("plugins", value=[]), "the file has an unknown field 'plugins', known are version"),
    "an extra key within": (put("normalizer", "repeat", value=9), "BertNormalizer has an unknown field 'repeat'"),
    "another version": (put("version", value="2.0"), '"version" must be 1.0'),
    "a truncation that is none": (put("truncation", value=5), '"truncation" must be an object or null'),
    "a truncation of less than nothing": (put("truncation", "max_length", value=-1), '"max_length" must be an integer'),
    "padding for ever": (put("padding", "strategy", value={"Fixed": 2**63}), '"strategy" must be BatchLongest or'),
    "an empty added token": (added(""), "added token '' must be there once, and without white space"),
    "white space in an added token": (added("a b", rstrip=True), "added token 'a b' must be there once, and without"),
    "an added token twice": (
        lambda value: (added("[N]")(value), added("[N]", 1)(value)),
        "added token '.N.' must be there once",
    ),
    "an added token that normalising empties": (
        added("\u0301", normalized=True),
        "is normalized and may hold printable ASCII only",
    ),
    "an added token's id that is not the library's": (added(number=7), r"added token '.NEW.' must have id \d+, found"),
    "too many added tokens": (put("added_tokens", value=[{}] * 1025), "expected 1024 added tokens at most, found 1025"),
    "an added token of no fields": (put("added_tokens", value=[{}]), 'an added token lacks "id"'),
    "a processor that is not allowed": (
        put("post_processor", value={"type": "ByteLevel"}),
        "post-processor 'ByteLevel' is not allowed",
    ),
    "a special id beyond the vocabulary": (
        put("post_processor", "sep", value=["[SEP]", 10**6]),
        "post-processor BertProcessing: ids must be below",
    ),
}


def templates(single: list[Any], ids: Any = (1,), pair: Any = (), name: str = "[CLS]") -> Change:
    special = {name: {"id": "[CLS]", "ids": list(ids), "tokens": ["x"] * len(ids)}}
    return put(
        "post_processor",
        value={"type": "TemplateProcessing", "single": single, "pair": list(pair), "special_tokens": special},
    )


A = {"Sequence": {"id": "A", "type_id": 0}}
CLS = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
REFUSED_TEMPLATES: dict[str, tuple[Change, str]] = {
    "no sequence": (templates([CLS]), '"single" must hold sequence A once and no other'),
    "the sequence twice": (templates([A, A]), '"single" must hold sequence A once and no other'),
    "the second sequence": (templates([{"Sequence": {"id": "B", "type_id": 0}}]), "must hold sequence A once"),
    "a special token that is not listed": (
        templates([A, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]),
        "special token '.SEP.' is not listed",
    ),
    "a special token under another name": (templates([A], name="other"), "expected its name as id"),
    "ids without texts": (templates([A], ids=[]), '"ids" must be 1 to 8 ids'),
    "an id beyond the vocabulary": (templates([A, CLS], ids=[10**6]), "as many texts as ids below"),
    "too many pieces": (templates([A] + [CLS] * 16), "may have 16 pieces at most, found 17"),
    "a piece of no kind": (templates([A, {"Other": {}}]), "a piece must be one of Sequence, SpecialToken"),
    "a type id beyond": (templates([{"Sequence": {"id": "A", "type_id": -1}}]), '"type_id" must be an integer from 0'),
    "no room for a word": (templates([A] + [CLS] * 8, ids=[1] * 8), "64 special tokens leave no room for a word"),
}


@pytest.mark.parametrize("name", [*REFUSED, *REFUSED_TEMPLATES])
def test_an_abuse_is_refused_by_name(name: str) -> None:
    change, message = {**REFUSED, **REFUSED_TEMPLATES}[name]
    value = pieces()
    change(value)
    with pytest.raises(BundleError, match=message) as caught:
        encoder(value)
    assert str(caught.value).startswith("encoder: tokenizer: ")
    assert str(caught.value).endswith("; build the bundle with a BERT-like tokenizer (docs/FORMAT.md, section 5)")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Expecting value"),
        (b"[]", "the file must be an object, found list"),
        (b"\xff\xfe{\x00}\x00", "can't decode byte"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b'{"version":"1.0","version":"1.0"}', "an object has a key twice"),
        (b'{"version":NaN}', "NaN is no JSON"),
        (b'{"version":"\\uD800"}', "a text holds one half of a surrogate pair"),
        (b'{"\\udFFf":1}', "a text holds one half of a surrogate pair"),
        (b'{"version":"\\ud83d\\ude00 \\\\ud800"}', "must be 1.0"),
        (b'{"version":-Infinity}', "-Infinity is no JSON"),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "recursion"),
        (b"[" * 100_001, "expected 100000 objects and arrays at most"),
        (b" " * (8 << 20) + b"{}", "expected 8388608 bytes at most"),
        (b'{"id":' + b"9" * 5000 + b"}", "integer string conversion"),
        (ENCODER.tokenizer + b"{}", "Extra data"),
    ],
)
def test_bytes_that_another_parser_could_read_in_another_way_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        encoder(data)


def test_word_pieces_with_everything_a_real_tokenizer_has_pass() -> None:
    found, vocabulary = encoder(pieces()), pieces()["model"]["vocab"]
    tokens = ["[CLS]", "mail", "##s", "[UNK]", "send", "##ing", "[UNK]", "[SEP]"]
    assert found.tokenize("Mails, SENDing!").tolist() == [vocabulary[token] for token in tokens]


@pytest.mark.parametrize(
    "part",
    [
        *({"type": kind} for kind in ("Lowercase", "StripAccents", "NFC", "NFD", "NFKC", "NFKD")),
        {"type": "Strip", "strip_left": True, "strip_right": False},
        steps("normalizers", {"type": "NFD"}, {"type": "Lowercase"}, dict(BERT)),
    ],
    ids=lambda part: str(part["type"]),
)
def test_normalisers_that_encoders_use_pass(part: Part) -> None:
    value = small()
    value["normalizer"] = part
    assert len(encoder(value).tokenize("send mail")) == 4


@pytest.mark.parametrize(
    "part",
    [
        *({"type": kind} for kind in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")),
        {"type": "Digits", "individual_digits": True},
        {"type": "Punctuation", "behavior": "Isolated"},
        steps("pretokenizers", {"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": False}),
    ],
    ids=lambda part: str(part["type"]),
)
def test_pre_tokenizers_that_encoders_use_pass(part: Part) -> None:
    value = small()
    value["pre_tokenizer"] = part
    assert len(encoder(value).tokenize("send mail 12")) >= 3


def test_added_tokens_beyond_the_vocabulary_keep_the_ids_the_file_gives_them() -> None:
    value = pieces()
    added("[ONE]")(value)
    added("[TWO]", 1, normalized=True, special=False)(value)
    first = len(value["model"]["vocab"])
    assert encoder(value).tokenize("[ONE] [two]").tolist() == [2, first, first + 1, 3]


@pytest.mark.parametrize("base", [small, pieces])
@pytest.mark.parametrize("tokens", ["none", "special", "mixed", "left out"])
def test_a_tokenizer_made_of_checked_values_is_the_one_that_the_library_reads(
    base: Callable[[], Part], tokens: str
) -> None:
    from tokenizers import Tokenizer

    value = base()
    if tokens == "left out":
        value.pop("added_tokens", None)
    if tokens in ("special", "mixed"):
        added("[ONE]", lstrip=True, rstrip=True)(value)
    if tokens == "mixed":
        added("plain", 1, normalized=True, special=False)(value)
        added("[TWO]", 2, single_word=True)(value)
        added("other", 3, special=False)(value)
    data = json.dumps(value).encode()
    loaded = load_tokenizer(data, 64, "encoder")
    made, read = loaded.library, Tokenizer.from_buffer(data)
    read.no_padding()
    read.enable_truncation(64)
    assert json.loads(made.to_str()) == json.loads(read.to_str())
    assert loaded.size == read.get_vocab_size()
    text = f"send [ONE] plainly [TWO]x {' '.join(WORDS)} other"
    assert made.encode(text).ids == read.encode(text).ids
    assert made.encode(text).offsets == read.encode(text).offsets


def test_special_tokens_and_one_word_are_room_enough() -> None:
    assert len(encoder(small(), max_tokens=3).tokenize("mail send note")) == 3
    with pytest.raises(BundleError, match="2 special tokens leave no room for a word, the encoder reads 2 tokens"):
        encoder(small(), max_tokens=2)


class Panic(BaseException):
    """As pyo3 raises one."""


def failing(error: BaseException) -> type:
    """A tokenizers library that reads every file and encodes no text."""

    class Failing:
        normalizer = pre_tokenizer = model = None

        @staticmethod
        def from_str(text: str) -> Failing:
            return Failing()

        def add_special_tokens(self, tokens: list[Any]) -> None: ...

        def no_padding(self) -> None: ...

        def enable_truncation(self, length: int) -> None: ...

        def encode(self, text: str) -> object:
            raise error

    return Failing


def test_a_panic_of_the_library_is_a_bundle_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenizers.Tokenizer", failing(Panic("a panic\nof two lines")))
    with pytest.raises(BundleError, match=r"cannot encode a text \(a panic of two lines\); build the bundle again"):
        encoder(small()).tokenize("mail")


def test_an_interrupt_is_not_a_bundle_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenizers.Tokenizer", failing(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        encoder(small()).tokenize("mail")


@pytest.mark.real
def test_the_real_tokenizer_passes() -> None:
    from edgeret_export.reference.encoders.checks import tokenizer_file
    from edgeret_export.sources.cards import DEFAULT_ENCODER, find_card
    from edgeret_export.sources.fetch import fetch

    tokenizer_file.check((fetch(find_card(DEFAULT_ENCODER), False) / "tokenizer.json").read_bytes(), 256, "tokenizer")
