"""Forged tokenizers by the hundred: each is refused or encodes within bounds, and nothing panics, hangs or grows.

Run as a script with a first number and a count, this file tries that many and tells what became of them:
`PYTHONPATH=tests python tests/encoders/test_tokenizer_fuzz.py 0 2000`.
"""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from limited import main, outcomes
from test_tokenizer_file import BERT, CLS, ENCODER, FLAGS, A, Part, encoder, pieces, put, small, steps, templates
from test_unigram import sample

from edgeret.errors import EdgeretError

TEXTS = ("hello world " * 50, "Ünïcödé, 12 中文! " * 20, "\ufdfa" * 200, " ")
CASES, UNIGRAM = 300, 1_000_000
"""How many forgeries are tried, and the number from which on they are of a Unigram tokenizer."""
HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 255, 2**16, 2**31, 2**32 - 1, 2**32, 2**53, 2**63, 2**64, 1.5, -0.0, 1e308),
    *("", " ", "a", "[UNK]", "A", "B", "\u0301", "\ufdfa", "##", "a" * 100_000, "\ud800", "\x00", "(a+)+$", "Fixed"),
    *([], {}, [[]], [None], [1], ["a"], {"": 0}, {"a": 1}, {"type": "Nothing"}, {"type": 7}, {"Fixed": 2**40}),
)
GROWING = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}
COMPONENTS: tuple[Part, ...] = (
    {"type": "Nmt"},
    {"type": "Precompiled", "precompiled_charsmap": "AAAA"},
    {"type": "Precompiled", "precompiled_charsmap": "/" * 4000},
    GROWING,
    {"type": "Replace", "pattern": {"String": ""}, "content": "a"},
    {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": "b"},
    {"type": "Replace", "pattern": {"Regex": "["}, "content": "b"},
    {"type": "Prepend", "prepend": "the " * 10_000},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "CharDelimiterSplit", "delimiter": " "},
    {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": True},
    {"type": "Metaspace", "replacement": "", "prepend_scheme": "always", "split": True},
    {"type": "Split", "pattern": {"Regex": r"(.*)*x"}, "behavior": "Isolated", "invert": False},
    {"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": True},
    {"type": "UnicodeScripts"},
    {"type": "FixedLength", "length": 0},
    {
        "type": "RobertaProcessing",
        "sep": ["</s>", 2],
        "cls": ["<s>", 0],
        "trim_offsets": True,
        "add_prefix_space": True,
    },
    {"type": "Sequence", "processors": []},
    {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "a"}, *[GROWING] * 9]},
    {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}] * 500},
    {"type": "Sequence", "normalizers": [BERT] * 20_000},
    {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]]},
    {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b c"], "dropout": 2.0},
    {"type": "Unigram", "unk_id": 9, "vocab": [["a", 0.0]]},
    {"type": "Unigram", "unk_id": 0, "vocab": [["", -1.0], ["a", float(2)]]},
    {"type": "BertProcessing", "sep": ["[SEP]", 2**32 - 1], "cls": ["[CLS]", 2]},
    *({"type": kind} for kind in ("BPEDecoder", "CTC", "Fuse", "ByteFallback", "NFKC", "Lowercase", "Whitespace")),
    {"type": "WordPiece", "unk_token": "", "continuing_subword_prefix": "", "max_input_chars_per_word": 0, "vocab": {}},
    {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 2**31}},
    dict(BERT),
)


def paths(tree: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Places in a JSON value: not the vocabulary's middle, and none very deep."""
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    if len(here) == 6:
        return [here]
    return [here, *(path for key, value in list(inside)[:8] for path in paths(value, (*here, key)))]


def forged(number: int) -> bytes:
    """A tokenizer with one to three things wrong, the same for the same number."""
    rng = random.Random(number)
    value: Any = sample() if number >= UNIGRAM else small() if number % 2 else pieces()
    for _ in range(rng.choice((1, 1, 2, 3))):
        way, path = rng.randrange(10), rng.choice(paths(value)[1:])
        if way < 4:
            put(*path, value=copy.deepcopy(rng.choice(HOSTILE)))(value)
        elif way < 6:
            slot = rng.choice(("normalizer", "pre_tokenizer", "post_processor", "decoder", "model"))
            put(slot, value=copy.deepcopy(rng.choice(COMPONENTS)))(value)
        elif way == 6:
            key = rng.choice(("normalizer", "pre_tokenizer"))
            inner = "normalizers" if key == "normalizer" else "pretokenizers"
            for _ in range(rng.choice((1, 2, 30, 100))):
                value[key] = steps(inner, value[key])
        elif way == 7:
            content = rng.choice(("", " ", "a", "[A]", "\u0301", "\u200b", "hello", "a b", "x" * 300, "中"))
            flags = {name: rng.random() < 0.5 for name in FLAGS}
            value["added_tokens"] += [{"id": rng.choice((0, 60, 2**32 - 1)), "content": content, **flags}]
        elif way == 8:
            single = rng.choices(
                (A, CLS, {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "no", "type_id": 0}}),
                k=rng.choice((0, 1, 3, 60)),
            )
            templates(copy.deepcopy(single), rng.choice(([1], [], [2**31], [1] * 5000)), rng.choice(((), [A, A])))(
                value
            )
        else:
            put("truncation", value={"max_length": rng.choice((0, 1, 2**62)), "strategy": "OnlySecond", "stride": 5})(
                value
            )
        if not isinstance(value.get("added_tokens"), list) or not isinstance(value.get("normalizer"), dict | None):
            break
        if not all(isinstance(value.get(key), dict) for key in ("model", "pre_tokenizer", "post_processor")):
            break
    data = json.dumps(value).encode()
    return rng.choice((data, data, data, data, data[:-1], data.replace(b'"version"', b'"model":1,"version"')))


def outcome(number: int) -> str:
    """What becomes of a forged tokenizer: refused, accepted, or the class of what it raised. What is accepted at
    loading must be what the library reads too, though that may be made only later."""
    data = forged(number)
    try:
        found = encoder(data)
    except EdgeretError:
        return "refused"
    except BaseException as error:  # a panic is no Exception, and what we look for
        return type(error).__name__
    try:
        library, (before, behind) = found.tokenizer.library, found.frame
        if found.vocabulary != library.get_vocab_size():
            return "another size"
        if [*before, *behind] != library.encode("").ids:
            return "other special tokens"
        sizes = [len(found.tokenize(text)) for text in TEXTS]
    except EdgeretError:
        return "refused late"
    except BaseException as error:
        return type(error).__name__
    return "accepted" if max(sizes) <= ENCODER.spec.max_tokens else "too many tokens"


def test_forged_tokenizers_are_refused_or_encode_within_bounds() -> None:
    found = outcomes(__file__, 0, CASES)
    assert found.keys() == {"refused", "accepted"}
    assert min(found.values()) > CASES // 50


def test_forged_unigram_tokenizers_are_refused_or_encode_within_bounds() -> None:
    found = outcomes(__file__, UNIGRAM, CASES)
    assert found.keys() == {"refused", "accepted"}
    assert min(found.values()) > CASES // 50


if __name__ == "__main__":
    main(outcome)
