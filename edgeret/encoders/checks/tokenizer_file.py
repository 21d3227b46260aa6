"""Asks whether a tokenizer.json is safe to hand to the tokenizers library. Knows nothing of what its ids mean.

The library meets what it did not expect with a Rust panic, which no `except Exception` catches, with seconds of work or
with gigabytes of text. So every component must be of a kind that BERT-like encoders need, with known fields in bounds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from edgeret.errors import BundleError

MAX_BYTES = 8 << 20
MAX_BRACKETS = 100_000
"""Objects and arrays at most (brackets inside of tokens count too): millions of empty ones would fill the memory."""
MAX_VOCABULARY = 1 << 19
MAX_ADDED, MAX_CHARACTERS = 1024, 256
MAX_STEPS = 8
MAX_PIECES, MAX_IDS = 16, 8
MAX_PREFIX = 16
MAX_WORD = 200
"""Characters of a word that WordPiece takes apart; it looks up every stretch of it, so the work grows by the cube."""
MAX_COUNT = 1 << 20
REMEDY = "build the bundle with a BERT-like tokenizer (docs/FORMAT.md, section 5)"

Rule = tuple[str, Callable[[Any], bool]]
"""What a field must be, in words and as a test of any JSON value."""
Rules = Mapping[str, Rule]


def _one_of(*words: str) -> Rule:
    return " or ".join(words), lambda value: value in words


def _number(low: int, high: int) -> Rule:
    return f"an integer from {low} to {high}", lambda value: type(value) is int and low <= value <= high


def _of_type(name: str, kind: type[Any]) -> Rule:
    return name, lambda value: type(value) is kind


def _or_null(rule: Rule) -> Rule:
    return f"{rule[0]} or null", lambda value: value is None or rule[1](value)


FLAG, OBJECT, ARRAY = _of_type("true or false", bool), _of_type("an object", dict), _of_type("an array", list)
TEXT: Rule = (f"a text of at most {MAX_CHARACTERS} characters", lambda v: type(v) is str and len(v) <= MAX_CHARACTERS)
PREFIX: Rule = (f"a text of at most {MAX_PREFIX} characters", lambda v: type(v) is str and len(v) <= MAX_PREFIX)
COUNT, TYPE_ID = _number(0, MAX_COUNT), _number(0, 255)
DIRECTION = _one_of("Left", "Right")
NAMED_ID: Rule = (
    "a token and its id",
    lambda v: type(v) is list and len(v) == 2 and TEXT[1](v[0]) and COUNT[1](v[1]),
)
SOME_IDS: Rule = (
    f"1 to {MAX_IDS} ids",
    lambda v: type(v) is list and 0 < len(v) <= MAX_IDS and all(COUNT[1](item) for item in v),
)
SOME_TEXTS: Rule = (
    f"1 to {MAX_IDS} texts",
    lambda v: type(v) is list and 0 < len(v) <= MAX_IDS and all(TEXT[1](item) for item in v),
)
PADDING_STRATEGY: Rule = (
    'BatchLongest or {"Fixed": length}',
    lambda v: v == "BatchLongest" or (type(v) is dict and list(v) == ["Fixed"] and COUNT[1](v["Fixed"])),
)

FILE: Rules = {
    "version": _one_of("1.0"),
    "truncation": _or_null(OBJECT),
    "padding": _or_null(OBJECT),
    "added_tokens": ARRAY,
    "normalizer": _or_null(OBJECT),
    "pre_tokenizer": _or_null(OBJECT),
    "post_processor": _or_null(OBJECT),
    "decoder": _or_null(OBJECT),
    "model": OBJECT,
}
TRUNCATION: Rules = {
    "direction": DIRECTION,
    "max_length": COUNT,
    "strategy": _one_of("LongestFirst", "OnlyFirst", "OnlySecond"),
    "stride": COUNT,
}
PADDING: Rules = {
    "strategy": PADDING_STRATEGY,
    "direction": DIRECTION,
    "pad_to_multiple_of": _or_null(COUNT),
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
        "max_input_chars_per_word": _number(1, MAX_WORD),
        "vocab": OBJECT,
    },
    "WordLevel": {"unk_token": TEXT, "vocab": OBJECT},
}
NORMALIZERS: Mapping[str, Rules] = {
    "BertNormalizer": {
        **dict.fromkeys(("clean_text", "handle_chinese_chars", "lowercase"), FLAG),
        "strip_accents": _or_null(FLAG),
    },
    "Strip": {"strip_left": FLAG, "strip_right": FLAG},
    **{name: {} for name in ("Lowercase", "StripAccents", "NFC", "NFD", "NFKC", "NFKD")},
}
PRE_TOKENIZERS: Mapping[str, Rules] = {
    **{name: {} for name in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")},
    "Punctuation": {"behavior": _one_of("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")},
    "Digits": {"individual_digits": FLAG},
}
POST_PROCESSORS: Mapping[str, Rules] = {
    "BertProcessing": {"sep": NAMED_ID, "cls": NAMED_ID},
    "TemplateProcessing": {"single": ARRAY, "pair": ARRAY, "special_tokens": OBJECT},
}
DECODERS: Mapping[str, Rules] = {"WordPiece": {"prefix": PREFIX, "cleanup": FLAG}}
"""No text is ever decoded; the library reads the component all the same."""
PIECES: Mapping[str, Rules] = {
    "Sequence": {"id": _one_of("A", "B"), "type_id": TYPE_ID},
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
        return value
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{where}: {error}; {REMEDY}") from None


def _parse(data: bytes) -> Any:
    """The JSON value, read so strictly that no other parser can read it in another way."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"expected {MAX_BYTES} bytes at most, found {len(data)}")
    if data.count(b"[") + data.count(b"{") > MAX_BRACKETS:
        raise ValueError(f"expected {MAX_BRACKETS} objects and arrays at most")
    return json.loads(data.decode(), object_pairs_hook=_without_repeats, parse_constant=_no_number)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object has a key twice")
    return value


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _check_file(value: Any, max_tokens: int) -> None:
    _check_fields(value, FILE, "the file", optional=FILE.keys() - {"model"})
    if value.get("truncation") is not None:
        _check_fields(value["truncation"], TRUNCATION, "truncation", optional=("direction",))
    if value.get("padding") is not None:
        _check_fields(value["padding"], PADDING, "padding")
    size = _check_model(value["model"], value.get("added_tokens", []))
    _check_steps(value.get("normalizer"), NORMALIZERS, "normalizer", "normalizers")
    _check_steps(value.get("pre_tokenizer"), PRE_TOKENIZERS, "pre-tokenizer", "pretokenizers")
    if value.get("decoder") is not None:
        _check_component(value["decoder"], DECODERS, "decoder")
    added = _check_post_processor(value.get("post_processor"), size)
    if added >= max_tokens:
        raise ValueError(f"{added} special tokens leave no room for a word, the encoder reads {max_tokens} tokens")


def _check_fields(value: Any, rules: Rules, name: str, optional: Collection[str] = ()) -> None:
    """Makes sure that `value` is an object with these fields and no other."""
    if type(value) is not dict:
        raise ValueError(f"{name} must be an object, found {type(value).__name__}")
    for key in value:
        if key not in rules:
            raise ValueError(f"{name} has an unknown field {_quote(key)}, known are {', '.join(rules) or 'none'}")
    for key, (expected, fits) in rules.items():
        if key not in value and key not in optional:
            raise ValueError(f'{name} lacks "{key}"')
        if key in value and not fits(value[key]):
            raise ValueError(f'{name}: "{key}" must be {expected}')


def _check_component(value: Any, kinds: Mapping[str, Rules], name: str) -> str:
    """Makes sure that `value` is one of `kinds`, and says which."""
    found = value.get("type") if type(value) is dict else None
    if type(found) is not str or found not in kinds:
        raise ValueError(f"{name} {_quote(found)} is not allowed, expected one of {', '.join(kinds)}")
    _check_fields({key: value[key] for key in value if key != "type"}, kinds[found], f"{name} {found}")
    return found


def _check_steps(value: Any, kinds: Mapping[str, Rules], name: str, key: str) -> None:
    """A component, several in a row, or none. Rows in rows are refused, since each would multiply the work."""
    if value is None:
        return
    steps = [value]
    if value.get("type") == "Sequence":
        _check_component(value, {"Sequence": {key: ARRAY}}, name)
        steps = value[key]
        if len(steps) > MAX_STEPS:
            raise ValueError(f"{name} Sequence: expected {MAX_STEPS} steps at most, found {len(steps)}")
    for step in steps:
        _check_component(step, kinds, name)


def _check_model(model: Any, added_tokens: list[Any]) -> int:
    """Checks vocabulary and added tokens and says how many ids there are."""
    _check_component(model, MODELS, "model")
    vocabulary: dict[str, Any] = model["vocab"]
    if not 0 < len(vocabulary) <= MAX_VOCABULARY:
        raise ValueError(f"expected a vocabulary of 1 to {MAX_VOCABULARY} tokens, found {len(vocabulary)}")
    ids = vocabulary.values()
    if set(map(type, ids)) != {int} or sorted(ids) != list(range(len(vocabulary))):
        raise ValueError(f"the vocabulary's ids must be 0 to {len(vocabulary) - 1}, each once")
    if model["unk_token"] not in vocabulary:
        raise ValueError(f"the unknown token {_quote(model['unk_token'])} is not in the vocabulary")
    if len(added_tokens) > MAX_ADDED:
        raise ValueError(f"expected {MAX_ADDED} added tokens at most, found {len(added_tokens)}")
    size, seen = len(vocabulary), set[str]()
    for token in added_tokens:
        _check_fields(token, ADDED_TOKEN, "an added token")
        content = token["content"]
        # White space beside a token that strips it is a part of both, and the library panics; a text that a normaliser
        # empties would be found between any two letters.
        if content.split() != [content] or content in seen:
            raise ValueError(f"added token {_quote(content)} must be there once, and without white space")
        if token["normalized"] and not (content.isascii() and content.isprintable()):
            raise ValueError(f"added token {_quote(content)} is normalized and may hold printable ASCII only")
        # The library numbers what the vocabulary lacks by itself, whatever the file says.
        expected = vocabulary.get(content, size)
        if token["id"] != expected:
            raise ValueError(f"added token {_quote(content)} must have id {expected}, found {token['id']}")
        seen.add(content)
        size += expected == size
    return size


def _check_post_processor(value: Any, size: int) -> int:
    """Checks the component, whose ids must be below `size`, and says how many tokens it adds to a text."""
    if value is None:
        return 0
    if _check_component(value, POST_PROCESSORS, "post-processor") == "BertProcessing":
        if max(value["cls"][1], value["sep"][1]) >= size:
            raise ValueError(f"post-processor BertProcessing: ids must be below {size}")
        return 2
    special = value["special_tokens"]
    if len(special) > MAX_PIECES:
        raise ValueError(f"expected {MAX_PIECES} special tokens at most, found {len(special)}")
    for key, token in special.items():
        _check_fields(token, SPECIAL_TOKEN, "a special token")
        if token["id"] != key or len(token["ids"]) != len(token["tokens"]) or max(token["ids"]) >= size:
            raise ValueError(
                f"special token {_quote(key)}: expected its name as id, and as many texts as ids below {size}"
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
        _check_fields(piece[kind], PIECES[kind], f"{name}: a {kind}")
        if kind == "SpecialToken" and piece[kind]["id"] not in special:
            raise ValueError(f"{name}: special token {_quote(piece[kind]['id'])} is not listed")


def _quote(value: Any) -> str:
    return repr(value)[:60] if type(value) is str else type(value).__name__
