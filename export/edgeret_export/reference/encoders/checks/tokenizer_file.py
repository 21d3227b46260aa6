"""Asks whether a tokenizer.json is safe to hand to the tokenizers library. Knows nothing of what its ids mean.

The library meets what it did not expect with a Rust panic, which no `except Exception` catches, with seconds of work or
with gigabytes of text. So every component must be of a kind that BERT-like encoders need, with known fields in bounds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from edgeret.errors import BundleError
from edgeret_export.reference.encoders.checks import unigram
from edgeret_export.reference.encoders.checks.rules import (
    ARRAY,
    COUNT,
    DIRECTION,
    FLAG,
    NAMED_ID,
    OBJECT,
    PADDING_STRATEGY,
    PREFIX,
    SOME_IDS,
    SOME_TEXTS,
    TEXT,
    TYPE_ID,
    Rules,
    check_component,
    check_fields,
    check_steps,
    number,
    one_of,
    or_null,
    quote,
)

MAX_BYTES = 8 << 20
MAX_BRACKETS = 100_000
"""Objects and arrays at most (brackets inside of tokens count too): millions of empty ones would fill the memory."""
MAX_VOCABULARY = 1 << 19
MAX_ADDED, MAX_PIECES = 1024, 16
MAX_WORD = 200
"""Characters of a word that WordPiece takes apart; it looks up every stretch of it, so the work grows by the cube."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""What may stand for half of a character: Python reads it alone, too, and the library does not."""
REMEDY = "build the bundle with a BERT-like tokenizer (docs/FORMAT.md, section 5)"


FILE: Rules = {
    "version": one_of("1.0"),
    "truncation": or_null(OBJECT),
    "padding": or_null(OBJECT),
    "added_tokens": ARRAY,
    "normalizer": or_null(OBJECT),
    "pre_tokenizer": or_null(OBJECT),
    "post_processor": or_null(OBJECT),
    "decoder": or_null(OBJECT),
    "model": OBJECT,
}
TRUNCATION: Rules = {
    "direction": DIRECTION,
    "max_length": COUNT,
    "strategy": one_of("LongestFirst", "OnlyFirst", "OnlySecond"),
    "stride": COUNT,
}
PADDING: Rules = {
    "strategy": PADDING_STRATEGY,
    "direction": DIRECTION,
    "pad_to_multiple_of": or_null(COUNT),
    "pad_id": COUNT,
    "pad_type_id": TYPE_ID,
    "pad_token": TEXT,
}
ADDED_TOKEN: Rules = {
    "id": COUNT,
    "content": TEXT,
    **dict.fromkeys(("special", "single_word", "lstrip", "rstrip", "normalized"), FLAG),
}
MODELS: Mapping[str, Rules] = {
    "WordPiece": {
        "unk_token": TEXT,
        "continuing_subword_prefix": PREFIX,
        "max_input_chars_per_word": number(1, MAX_WORD),
        "vocab": OBJECT,
    },
    "WordLevel": {"unk_token": TEXT, "vocab": OBJECT},
    **unigram.MODELS,
}
NORMALIZERS: Mapping[str, Rules] = {
    "BertNormalizer": {
        **dict.fromkeys(("clean_text", "handle_chinese_chars", "lowercase"), FLAG),
        "strip_accents": or_null(FLAG),
    },
    "Strip": {"strip_left": FLAG, "strip_right": FLAG},
    **{name: {} for name in ("Lowercase", "StripAccents", "NFC", "NFD", "NFKC", "NFKD")},
}
PRE_TOKENIZERS: Mapping[str, Rules] = {
    **{name: {} for name in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")},
    "Punctuation": {"behavior": one_of("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")},
    "Digits": {"individual_digits": FLAG},
}
POST_PROCESSORS: Mapping[str, Rules] = {
    "BertProcessing": {"sep": NAMED_ID, "cls": NAMED_ID},
    "TemplateProcessing": {"single": ARRAY, "pair": ARRAY, "special_tokens": OBJECT},
}
DECODERS: Mapping[str, Rules] = {"WordPiece": {"prefix": PREFIX, "cleanup": FLAG}}
"""No text is ever decoded; the library reads the component all the same."""
PIECES: Mapping[str, Rules] = {
    "Sequence": {"id": one_of("A", "B"), "type_id": TYPE_ID},
    "SpecialToken": {"id": TEXT, "type_id": TYPE_ID},
}
SPECIAL_TOKEN: Rules = {"id": TEXT, "ids": SOME_IDS, "tokens": SOME_TEXTS}


def check(data: bytes, max_tokens: int, where: str) -> dict[str, Any]:
    """What a file says, if it holds nothing but what docs/FORMAT.md, section 5, allows, and its special tokens leave
    room for a word within `max_tokens`. Raises BundleError.
    """
    try:
        value: dict[str, Any] = _parse(data)
        _check_file(value, max_tokens)
        _check_size(data, value["model"]["type"])  # the name may have stood anywhere
        return value
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{where}: {error}; {REMEDY}") from None


def _parse(data: bytes) -> Any:
    """The JSON value, read so strictly that no other parser can read it in another way."""
    _check_size(data, unigram.MODEL if f'"{unigram.MODEL}"'.encode() in data else "")
    value = json.loads(data.decode(), object_pairs_hook=_without_repeats, parse_constant=_no_number)
    if _SURROGATE.search(data):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("a text holds one half of a surrogate pair") from None
    return value


def _check_size(data: bytes, model: str) -> None:
    large = model == unigram.MODEL
    most, brackets = (unigram.MAX_BYTES, unigram.MAX_BRACKETS) if large else (MAX_BYTES, MAX_BRACKETS)
    if len(data) > most:
        raise ValueError(f"expected {most} bytes at most, found {len(data)}")
    if data.count(b"[") + data.count(b"{") > brackets:
        raise ValueError(f"expected {brackets} objects and arrays at most")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object has a key twice")
    return value


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _check_file(value: Any, max_tokens: int) -> None:
    check_fields(value, FILE, "the file", optional=FILE.keys() - {"model"})
    if value.get("truncation") is not None:
        check_fields(value["truncation"], TRUNCATION, "truncation", optional=("direction",))
    if value.get("padding") is not None:
        check_fields(value["padding"], PADDING, "padding")
    size = _check_model(value["model"], value.get("added_tokens", []))
    # Parts of the one family make no sense, and were never tried, with a model of the other.
    more = value["model"]["type"] == unigram.MODEL
    normalizers = {**NORMALIZERS, **(unigram.NORMALIZERS if more else {})}
    unigram.check_normalizers(check_steps(value.get("normalizer"), normalizers, "normalizer", "normalizers"))
    pre_tokenizers = {**PRE_TOKENIZERS, **(unigram.PRE_TOKENIZERS if more else {})}
    check_steps(value.get("pre_tokenizer"), pre_tokenizers, "pre-tokenizer", "pretokenizers", unigram.OPTIONAL)
    if value.get("decoder") is not None:
        check_component(value["decoder"], unigram.DECODERS if more else DECODERS, "decoder", unigram.OPTIONAL)
    post_processors = {**POST_PROCESSORS, **(unigram.POST_PROCESSORS if more else {})}
    added = _check_post_processor(value.get("post_processor"), post_processors, size)
    if added >= max_tokens:
        raise ValueError(f"{added} special tokens leave no room for a word, the encoder reads {max_tokens} tokens")


def _check_model(model: Any, added_tokens: list[Any]) -> int:
    """Checks vocabulary and added tokens and says how many ids there are."""
    kind = check_component(model, MODELS, "model", unigram.OPTIONAL)
    if not 0 < len(model["vocab"]) <= MAX_VOCABULARY:
        raise ValueError(f"expected a vocabulary of 1 to {MAX_VOCABULARY} tokens, found {len(model['vocab'])}")
    if kind == unigram.MODEL:
        vocabulary = unigram.check_pieces(model["vocab"], model["unk_id"])
    else:
        vocabulary = _check_words(model["vocab"], model["unk_token"])
    if len(added_tokens) > MAX_ADDED:
        raise ValueError(f"expected {MAX_ADDED} added tokens at most, found {len(added_tokens)}")
    size, seen = len(vocabulary), set[str]()
    for token in added_tokens:
        check_fields(token, ADDED_TOKEN, "an added token")
        content = token["content"]
        # White space beside a token that strips it is a part of both, and the library panics; a text that a normaliser
        # empties would be found between any two letters.
        if content.split() != [content] or content in seen:
            raise ValueError(f"added token {quote(content)} must be there once, and without white space")
        if token["normalized"] and not (content.isascii() and content.isprintable()):
            raise ValueError(f"added token {quote(content)} is normalized and may hold printable ASCII only")
        # The library numbers what the vocabulary lacks by itself, whatever the file says.
        expected = vocabulary.get(content, size)
        if token["id"] != expected:
            raise ValueError(f"added token {quote(content)} must have id {expected}, found {token['id']}")
        seen.add(content)
        size += expected == size
    return size


def _check_words(vocabulary: dict[str, Any], unknown: str) -> dict[str, int]:
    """A vocabulary of words or their pieces, with their ids."""
    ids = vocabulary.values()
    if set(map(type, ids)) != {int} or sorted(ids) != list(range(len(vocabulary))):
        raise ValueError(f"the vocabulary's ids must be 0 to {len(vocabulary) - 1}, each once")
    if unknown not in vocabulary:
        raise ValueError(f"the unknown token {quote(unknown)} is not in the vocabulary")
    return vocabulary


def _check_post_processor(value: Any, kinds: Mapping[str, Rules], size: int) -> int:
    """Checks the component, whose ids must be below `size`, and says how many tokens it adds to a text."""
    if value is None:
        return 0
    kind = check_component(value, kinds, "post-processor")
    if kind != "TemplateProcessing":
        if max(value["cls"][1], value["sep"][1]) >= size:
            raise ValueError(f"post-processor {kind}: ids must be below {size}")
        return 2
    special = value["special_tokens"]
    if len(special) > MAX_PIECES:
        raise ValueError(f"expected {MAX_PIECES} special tokens at most, found {len(special)}")
    for key, token in special.items():
        check_fields(token, SPECIAL_TOKEN, "a special token")
        if token["id"] != key or len(token["ids"]) != len(token["tokens"]) or max(token["ids"]) >= size:
            raise ValueError(
                f"special token {quote(key)}: expected its name as id, and as many texts as ids below {size}"
            )
    for name in ("single", "pair"):
        _check_template(value[name], special, f'post-processor: "{name}"')
    if [piece["Sequence"]["id"] for piece in value["single"] if "Sequence" in piece] != ["A"]:
        raise ValueError('post-processor: "single" must hold sequence A once and no other')
    return sum(len(special[piece["SpecialToken"]["id"]]["ids"]) for piece in value["single"] if "Sequence" not in piece)


def _check_template(pieces: list[Any], special: Mapping[str, Any], name: str) -> None:
    if len(pieces) > MAX_PIECES:
        raise ValueError(f"{name} may have {MAX_PIECES} pieces at most, found {len(pieces)}")
    for piece in pieces:
        kind = next(iter(piece)) if type(piece) is dict and len(piece) == 1 else ""
        if kind not in PIECES:
            raise ValueError(f"{name}: a piece must be one of {', '.join(PIECES)}")
        check_fields(piece[kind], PIECES[kind], f"{name}: a {kind}")
        if kind == "SpecialToken" and piece[kind]["id"] not in special:
            raise ValueError(f"{name}: special token {quote(piece[kind]['id'])} is not listed")
