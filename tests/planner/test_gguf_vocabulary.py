"""Vocabularies that llama.cpp's tokenizers would end the process over."""

from __future__ import annotations

from typing import Any

import pytest
from gguf_checks import LLAMA, TOKENS, check, forged, refuse, with_tokens
from gguf_forge import ARRAY, FLOAT32, INT32, STRING, UINT32, tiny

from edgeret.planner.checks import gguf_vocabulary


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"t9": TOKENS[40]}, "a token comes twice"),
        ({"t9": TOKENS[40] + "\0x"}, "or holds a zero byte"),
        ({"t9": "", "t10": "[EMPTY_9]"}, "a token comes twice"),
        ({"t9": "x" * 513}, "a token of 513 bytes, expected 512 at most"),
    ],
)
def test_a_token_that_llama_asserts_against_is_refused(changes: dict[str, str], message: str) -> None:
    refuse(with_tokens(**changes), message)


def test_tokens_that_are_odd_and_harmless_get_through() -> None:
    check(with_tokens(t9="").pack())
    check(with_tokens(t9=b"\xff\xfe", t10="你好").pack())


def test_letters_that_cost_llama_a_copy_each_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf_vocabulary, "MAX_STRANGE", 99)
    check(with_tokens(t9="你" * 99).pack())
    refuse(with_tokens(t9="你" * 100), "more than 99 letters of its tokens stand for no byte")
    monkeypatch.setattr(gguf_vocabulary, "MAX_STRANGE", 0)
    check(LLAMA.pack())  # its tokens are the 256 letters that do stand for a byte


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("model", (STRING, "bert"), "expected llama or gpt2 as tokenizer.ggml.model, found b'bert'"),
        ("model", (STRING, "llama"), "tokenizer.ggml.scores is missing"),
        ("pre", (STRING, "default"), "expected one of llama-bpe, .* found b'default'"),
        ("pre", (STRING, "tekken"), "as tokenizer.ggml.pre, found b'tekken'"),
        ("merges", (ARRAY, (INT32, [1])), "tokenizer.ggml.merges is missing, or no array"),
        ("tokens", (ARRAY, (INT32, [1])), "tokenizer.ggml.tokens is missing, or no array"),
        ("tokens", (ARRAY, (STRING, TOKENS[:255])), "expected 256 to 524288 tokens, found 255"),
        ("token_type", (ARRAY, (INT32, [1])), "tokenizer.ggml.token_type has 1 numbers for 263 tokens"),
        ("token_type", (ARRAY, (FLOAT32, [1.0] * 263)), "tokenizer.ggml.token_type is missing"),
        ("eos_token_id", (UINT32, 263), "eos_token_id is 263, and there are 263 tokens"),
    ],
)
def test_a_vocabulary_that_does_not_fit_is_refused(name: str, value: tuple[int, Any], message: str) -> None:
    refuse(forged(**{f"tokenizer__ggml__{name}": value}), message)


def test_pieces_without_a_byte_or_with_scores_that_are_none_are_refused() -> None:
    gguf = tiny("gemma3")
    kind, (element, tokens) = gguf.metadata["tokenizer.ggml.tokens"]
    lacking = ["<0xzz>" if token == "<0x41>" else token for token in tokens]
    refuse(forged("gemma3", tokenizer__ggml__tokens=(kind, (element, lacking))), "no token for the byte <0x41>")
    scores = [float("nan")] + [0.0] * (len(tokens) - 1)
    refuse(forged("gemma3", tokenizer__ggml__scores=(ARRAY, (FLOAT32, scores))), "scores are not finite")


def test_too_many_special_tokens_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf_vocabulary, "MAX_SPECIAL", 2)
    refuse(LLAMA, "more than 2 tokens are special")
