"""Can llama.cpp use a model's vocabulary without harm? Knows nothing of weights.

Its tokenizers assert and throw where nothing catches: a token that comes twice, a piece vocabulary that lacks a byte.
That ends the process, some of it only when the first text is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.planner.checks.gguf_container import (
    ARRAY,
    BOOL,
    FLOAT32,
    INT32,
    PAUSE,
    STRING,
    UINT32,
    UnfitError,
    Value,
    pause,
)

MIN_TOKENS, MAX_TOKENS = 256, 1 << 19
"""The default ids of special tokens lie below the minimum; Gemma 3 has 262,144 tokens."""
MAX_TOKEN_BYTES = 512
"""llama.cpp's grammars go one call deeper for every letter of a token; the longest of SmolLM2 has 162 bytes."""
MAX_SPECIAL = 1 << 14
"""Special tokens, which are looked for in every text; Gemma 3 has 6,415."""
MAX_STRANGE = 1 << 16
"""Letters of byte-level tokens that stand for no byte. Each costs an exception and a copy of its token."""
_PREFIX = "tokenizer.ggml."
_IDS = ("bos", "eos", "eot", "eom", "unknown", "seperator", "padding", "cls", "mask", "prefix", "suffix", "middle",
        "fim_pre", "fim_suf", "fim_mid", "fim_pad", "fim_rep", "fim_sep")  # fmt: skip
_FLAGS = ("add_bos_token", "add_eos_token", "add_sep_token", "add_space_prefix", "remove_extra_whitespaces")
_KINDS = {
    **{f"{_PREFIX}{name}": STRING for name in ("model", "pre")},
    **{f"{_PREFIX}{name}": ARRAY for name in ("tokens", "token_type", "scores", "merges")},
    **{f"{_PREFIX}{name}_token_id": UINT32 for name in _IDS},
    **{f"{_PREFIX}{name}": BOOL for name in _FLAGS},
}
_UNREAD = ("tokenizer.chat_template", "tokenizer.huggingface.")
_PRE_TOKENIZERS = (b"llama-bpe", b"llama3", b"llama-v3", b"smollm", b"qwen2", b"deepseek-r1-qwen", b"gpt-2")
"""Those that llama.cpp has code of its own for. The others are std::regex, which goes one call deeper for every letter:
60,000 exclamation marks overflow the stack of a main thread, fewer that of another one."""
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED = 1, 2, 3, 4
_STRANGE = re.compile("[^!-~\u00a1-\u00ac\u00ae-\u0143]+")
"""All but the 256 letters that byte-level vocabularies write bytes with."""


def check_vocabulary(metadata: Mapping[str, Value]) -> int:
    """The number of tokens, once all keys about them can be trusted. Raises UnfitError."""
    for key, value in metadata.items():
        unread = key.startswith(_UNREAD) or not key.startswith("tokenizer.")
        if not unread and _KINDS.get(key) != value.kind:
            raise UnfitError(f"the key {key} = {value} is not known to be harmless")
    tokens = _array(metadata, "tokens", STRING)
    if not MIN_TOKENS <= len(tokens) <= MAX_TOKENS:
        raise UnfitError(f"expected {MIN_TOKENS} to {MAX_TOKENS} tokens, found {len(tokens)}")
    texts = _check_texts(tokens)
    for name in _IDS:
        token = _content(metadata, f"{name}_token_id", 0)
        if token >= len(tokens):
            raise UnfitError(f"{name}_token_id is {token}, and there are {len(tokens)} tokens")
    kinds = _numbers(metadata, "token_type", INT32, len(tokens))
    if np.isin(kinds, (_UNKNOWN, _CONTROL, _USER_DEFINED)).sum() > MAX_SPECIAL:
        raise UnfitError(f"more than {MAX_SPECIAL} tokens are special")
    model = _content(metadata, "model", b"")
    if model == b"llama":
        if not np.isfinite(_numbers(metadata, "scores", FLOAT32, len(tokens))).all():
            raise UnfitError("tokenizer.ggml.scores are not finite")
        if missing := {b"<0x%02X>" % byte for byte in range(256)} - texts:
            raise UnfitError(f"no token for the byte {min(missing).decode()}")
    elif model == b"gpt2":
        _array(metadata, "merges", STRING)
        if (pre := _content(metadata, "pre", b"")) not in _PRE_TOKENIZERS:
            known = b", ".join(_PRE_TOKENIZERS).decode()
            raise UnfitError(f"expected one of {known} as tokenizer.ggml.pre, found {pre[:40]!r}")
        _check_letters([token for token, kind in zip(tokens, kinds.tolist(), strict=True) if kind == _NORMAL])
    else:
        raise UnfitError(f"expected llama or gpt2 as tokenizer.ggml.model, found {model[:40]!r}")
    return len(tokens)


def _check_texts(tokens: Sequence[bytes]) -> set[bytes]:
    """The tokens as a set. llama.cpp ends texts at a zero byte and gives empty ones a name; then it asserts that no two
    are alike."""
    texts: set[bytes] = set()
    longest = 0
    for start in range(0, len(tokens), PAUSE):
        part = tokens[start : start + PAUSE]
        texts.update(text or b"[EMPTY_%d]" % i for i, text in enumerate(part, start))
        longest = max(longest, *map(len, part))
        pause()
    if len(texts) != len(tokens) or b"\0" in b"".join(tokens):
        raise UnfitError("a token comes twice, or holds a zero byte")
    if longest > MAX_TOKEN_BYTES:
        raise UnfitError(f"a token of {longest} bytes, expected {MAX_TOKEN_BYTES} at most")
    return texts


def _check_letters(tokens: Sequence[bytes]) -> None:
    if sum(map(len, _STRANGE.findall(b"".join(tokens).decode(errors="replace")))) > MAX_STRANGE:
        raise UnfitError(f"more than {MAX_STRANGE} letters of its tokens stand for no byte")


def _content(metadata: Mapping[str, Value], name: str, default: Any) -> Any:
    value = metadata.get(f"{_PREFIX}{name}")
    return default if value is None else value.content


def _array(metadata: Mapping[str, Value], name: str, element: int) -> Any:
    value = metadata.get(f"{_PREFIX}{name}")
    if value is None or value.element != element:
        raise UnfitError(f"{_PREFIX}{name} is missing, or no array of kind {element}")
    return value.content


def _numbers(metadata: Mapping[str, Value], name: str, element: int, count: int) -> NDArray[Any]:
    numbers: NDArray[Any] = _array(metadata, name, element)
    if len(numbers) != count:
        raise UnfitError(f"{_PREFIX}{name} has {len(numbers)} numbers for {count} tokens")
    return numbers
