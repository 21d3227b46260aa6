"""Forged language models: every number, key, tensor and token of a tiny one turned into what it must not be."""

from __future__ import annotations

import copy
import random
import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from gguf_forge import (
    ARRAY,
    BOOL,
    CONTROL,
    FLOAT32,
    INT32,
    STRING,
    UINT32,
    UINT64,
    USER_DEFINED,
    Gguf,
    Number,
    Tensor,
    tiny,
)

Forgery = tuple[str, Callable[[], bytes]]
"""What was done, and what gives the file; to be called before the next forgery is asked for."""
BLOCKS: dict[int, tuple[int, int]] = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36), 10: (256, 84),
    11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292), 16: (256, 66), 17: (256, 74),
    18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2),
    26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
    40: (64, 36), 41: (128, 18), 42: (64, 18),
}  # fmt: skip
"""Elements and bytes of a block, by tensor type."""
_WHOLE = (0, 1, 2, 3, 5, 7, 31, 33, 63, 64, 255, 256, 1000, 511, 512, 513, 1 << 16, (1 << 31) - 1, 1 << 31,
          (1 << 32) - 1, 1 << 32, 1 << 40, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip
_REAL = (0.0, -0.0, 1.0, -1.0, 1e-30, 1e30, float("nan"), float("inf"), float("-inf"))
_DANGEROUS: tuple[tuple[str, int, Any], ...] = (
    *((f"{{a}}.{name}", UINT32, value) for value in (0, 1, 2, 3, 4, 8, 1 << 20, (1 << 32) - 1) for name in (
        "expert_count", "expert_used_count", "expert_group_count", "expert_group_used_count", "nextn_predict_layers",
        "attention.head_count_kv", "attention.key_length", "attention.value_length", "attention.key_length_swa",
        "attention.value_length_swa", "rope.dimension_count", "rope.dimension_count_swa", "embedding_length_out",
        "vocab_size", "attention.sliding_window", "attention.sliding_window_pattern", "pooling_type",
        "rope.scaling.original_context_length", "leading_dense_block_count", "attention.indexer.head_count",
    )),
    *((f"{{a}}.{name}", FLOAT32, value) for value in _REAL for name in (
        "rope.freq_base", "rope.freq_base_swa", "rope.scaling.factor", "rope.scale_linear", "rope.scaling.attn_factor",
        "rope.scaling.yarn_ext_factor", "rope.scaling.yarn_attn_factor", "rope.scaling.yarn_beta_fast",
        "attn_logit_softcapping", "final_logit_softcapping", "attention.scale", "logit_scale",
    )),
    *(("{a}.rope.scaling.type", STRING, value) for value in ("", "none", "linear", "yarn", "longrope", "absurd")),
    ("{a}.attention.causal", BOOL, False),
    ("{a}.attention.head_count", ARRAY, (UINT32, [4, 4])),
    ("{a}.attention.head_count", ARRAY, (UINT32, [4, 0])),
    ("{a}.attention.head_count_kv", ARRAY, (UINT32, [2, 0])),
    ("{a}.feed_forward_length", ARRAY, (UINT32, [256, 0])),
    ("{a}.attention.sliding_window_pattern", ARRAY, (BOOL, [True, True])),
    ("{a}.attention.sliding_window_pattern", ARRAY, (BOOL, [False, False])),
    ("{a}.attention.sliding_window_pattern", ARRAY, (UINT32, [7] * 600)),
    ("general.alignment", UINT32, 1), ("general.alignment", UINT32, 48), ("general.alignment", UINT32, 1 << 31),
    ("general.name", STRING, "phi-3"), ("general.name", UINT32, 3), ("general.file_type", UINT32, 1 << 31),
    ("split.count", 2, 2), ("split.count", 2, 1), ("split.count", UINT32, 2),
    ("tokenizer.ggml.pre", STRING, ""), ("tokenizer.ggml.pre", STRING, "absurd"),
    *(("tokenizer.ggml.pre", STRING, pre) for pre in ("default", "gemma4", "kimi-k2", "superbpe", "tekken", "gpt-4o",
                                                      "whitespace", "afmoe", "falcon", "deepseek-v3", "llama-bpe")),
    *(("tokenizer.ggml.model", STRING, model) for model in (
        "", "none", "no_vocab", "bert", "t5", "rwkv", "plamo2", "gemma4", "hybriddna", "test", "llama", "gpt2")),
    *((f"tokenizer.ggml.{name}_token_id", UINT32, value) for value in (0, 5, 10_000, (1 << 31), (1 << 32) - 1)
      for name in ("bos", "eos", "eot", "eom", "unknown", "padding", "mask", "seperator", "fim_pad")),
    *((f"tokenizer.ggml.{name}", BOOL, value) for value in (True, False)
      for name in ("add_bos_token", "add_eos_token", "add_sep_token", "add_space_prefix", "remove_extra_whitespaces")),
    ("tokenizer.ggml.precompiled_charsmap", ARRAY, (1, [-1] * 64)),
    ("tokenizer.ggml.suppress_tokens", ARRAY, (INT32, [-5, 10_000])),
    ("tokenizer.ggml.token_type_count", UINT32, (1 << 32) - 1),
)  # fmt: skip


def forgeries(architecture: str, seed: int = 0) -> Iterator[Forgery]:
    """All forgeries of one family's tiny model, each with a name that says what was done."""
    yield from _numbers(architecture, seed)
    yield from _keys(architecture)
    yield from _tensors(architecture)
    yield from _tokens(architecture)
    yield from _bytes(architecture, seed)


def _numbers(architecture: str, seed: int) -> Iterator[Forgery]:
    """One number of the file replaced at a time. Of the many that count or type tokens, a few are enough."""
    numbers: list[Number] = []
    data = tiny(architecture).pack(numbers)
    alike = {str(n.what.partition("[")[0]) for n in numbers}
    few = random.Random(seed)
    for kind in sorted(alike):
        same = [n for n in numbers if n.what.partition("[")[0] == kind]
        for number in few.sample(same, min(len(same), 3)) if "[" in same[0].what else same:
            for value in _REAL if number.form in "fd" else _WHOLE:
                size = 8 * struct.calcsize(number.form)
                patch = struct.pack("<" + number.form, value) if number.form in "fd" else (
                    int(value) & ((1 << size) - 1)).to_bytes(size // 8, "little")  # fmt: skip
                if value < 1 << size and data[number.place : number.place + len(patch)] != patch:
                    yield f"{architecture}: {number.what} = {value}", partial(_patched, data, number.place, patch)


def _patched(data: bytes, place: int, patch: bytes) -> bytes:
    return data[:place] + patch + data[place + len(patch) :]


def _keys(architecture: str) -> Iterator[Forgery]:
    """Keys taken away, said twice, hidden behind a zero byte, of another type; and keys that mean trouble."""
    original = tiny(architecture)
    for key, (kind, value) in original.metadata.items():
        gguf = copy.deepcopy(original)
        del gguf.metadata[key]
        yield f"{architecture}: without {key}", gguf.pack
        if kind in (UINT32, FLOAT32):
            gguf = copy.deepcopy(original)
            gguf.metadata[key] = (UINT64, int(value))
            yield f"{architecture}: {key} in 64 bits", gguf.pack
            gguf.metadata[key] = (ARRAY, (kind, [value]))
            yield f"{architecture}: {key} as an array", gguf.pack
            gguf = Gguf({key + "\0": (kind, 0), **original.metadata}, original.tensors)
            yield f"{architecture}: {key} hidden behind a zero byte", gguf.pack
        if kind == ARRAY:
            for length in (0, 1, len(value[1]) - 1):
                gguf = copy.deepcopy(original)
                gguf.metadata[key] = (ARRAY, (value[0], value[1][:length]))
                yield f"{architecture}: {length} of {key}", gguf.pack
            gguf = copy.deepcopy(original)
            gguf.metadata[key] = (ARRAY, (value[0], [*value[1], *value[1][:1]]))
            yield f"{architecture}: one more of {key}", gguf.pack
            gguf.metadata[key] = (ARRAY, (UINT64, [1] * len(value[1])))
            yield f"{architecture}: {key} of another element type", gguf.pack
    for key, kind, value in _DANGEROUS:
        gguf = copy.deepcopy(original)
        gguf.metadata[key.replace("{a}", architecture)] = (kind, value)
        yield f"{architecture}: {key} = {str(value)[:60]} ({kind})", gguf.pack
    for other in ("qwen3moe", "bert", "t5", "mamba", "rwkv7", "clip", "llama4", "phi3", "gpt2", "deepseek2", ""):
        gguf = copy.deepcopy(original)
        renamed = {key.replace(f"{architecture}.", f"{other}.", 1): value for key, value in gguf.metadata.items()}
        gguf.metadata = {**renamed, "general.architecture": (STRING, other)}
        yield f"{architecture}: said to be {other}", gguf.pack


def _tensors(architecture: str) -> Iterator[Forgery]:
    """Tensors of every type, with bytes that fit it; missing, moved, reshaped, and full of no numbers."""
    original = tiny(architecture)
    rng = np.random.default_rng(0)
    for name, tensor in original.tensors.items():
        if name.startswith("blk.1."):
            continue
        count = int(np.prod(tensor.shape))
        for kind, (elements, size) in BLOCKS.items():
            if tensor.shape[0] % elements == 0:
                gguf = copy.deepcopy(original)
                gguf.tensors[name] = Tensor(tensor.shape, kind, rng.bytes(count // elements * size))
                yield f"{architecture}: {name} of type {kind}", gguf.pack
        shapes = {tensor.shape[::-1], (count,), (*tensor.shape, 1), (1, *tensor.shape), (tensor.shape[0], 0)}
        for shape in (*(s for s in shapes if s != tensor.shape), (), (count // 2, 2), (0,), (1, 1, 1, 1, count)):
            gguf = copy.deepcopy(original)
            gguf.tensors[name].shape = shape
            yield f"{architecture}: {name} of shape {shape}", gguf.pack
        for scale in (0.5, 2):
            gguf = copy.deepcopy(original)
            last = int(tensor.shape[-1] * scale)
            size = len(tensor.data) * last // tensor.shape[-1]
            gguf.tensors[name] = Tensor((*tensor.shape[:-1], last), tensor.kind, (tensor.data * 2)[:size])
            yield f"{architecture}: {name} {scale} times as large", gguf.pack
        for what, pattern in (("nan", b"\0\0\xc0\x7f"), ("inf", b"\0\0\x80\x7f"), ("ff", b"\xff" * 4)):
            gguf = copy.deepcopy(original)
            gguf.tensors[name].data = (pattern * len(tensor.data))[: len(tensor.data)]
            yield f"{architecture}: {name} full of {what}", gguf.pack
        for offset in (32, 1, 1 << 40, (1 << 64) - 32):
            gguf = copy.deepcopy(original)
            gguf.tensors[name].offset = offset
            yield f"{architecture}: {name} at {offset}", gguf.pack
        gguf = copy.deepcopy(original)
        del gguf.tensors[name]
        yield f"{architecture}: without {name}", gguf.pack
        for other in ("", name + "\0", name * 10, "blk.99.attn_q.weight", "blk.0.attn_q.scale", "rope_freqs.weight"):
            gguf = copy.deepcopy(original)
            gguf.tensors[other] = copy.deepcopy(tensor)
            yield f"{architecture}: {name} also as {other[:40]!r}", gguf.pack


def _tokens(architecture: str) -> Iterator[Forgery]:
    """Vocabularies: tokens twice, empty, endless or no text; types and scores that are none."""
    original = tiny(architecture)
    tokens = original.metadata["tokenizer.ggml.tokens"][1][1]
    last = len(tokens) - 1

    def forged(what: str, **changes: tuple[int, Any]) -> Forgery:
        gguf = copy.deepcopy(original)
        gguf.metadata |= {f"tokenizer.ggml.{key}": value for key, value in changes.items()}
        return f"{architecture}: {what}", gguf.pack

    def with_tokens(what: str, **changes: str | bytes) -> Forgery:
        return forged(what, tokens=(ARRAY, (STRING, [changes.get(f"t{i}", t) for i, t in enumerate(tokens)])))

    yield with_tokens("a token twice", **{f"t{last}": tokens[40]})
    yield with_tokens("a token twice behind a zero byte", **{f"t{last}": tokens[40] + "\0x"})
    yield with_tokens("an empty token", **{f"t{last}": ""})
    yield with_tokens("an empty token and its stand-in", **{f"t{last}": "", f"t{last - 1}": f"[EMPTY_{last}]"})
    yield with_tokens("a token that is no text", **{f"t{last}": b"\xff\xfe\x80"})
    yield with_tokens("a long token", **{f"t{last}": "x" * 100_000})
    yield with_tokens("a long token of strange letters", **{f"t{last}": "\u4e00" * 3_000})
    yield with_tokens("no stop token", t2="<|no_end|>", t5="<no_end>", t1="<no_eos>")
    yield with_tokens("no letters", **{f"t{i}": f"<unused{i}>" for i in range(7, 263)})
    yield with_tokens("half the letters", **{f"t{i}": f"<unused{i}>" for i in range(7, 140)})
    yield with_tokens("a space", **{f"t{last}": " a b\n"})
    for kind in (0, 2, CONTROL, USER_DEFINED, 5, 6, 7, -1, 1 << 30):
        yield forged(f"all tokens of type {kind}", token_type=(ARRAY, (INT32, [kind] * len(tokens))))
    for score in (float("nan"), float("inf"), -1e38):
        yield forged(f"all scores {score}", scores=(ARRAY, (FLOAT32, [score] * len(tokens))))
    yield forged("whole scores", scores=(ARRAY, (INT32, [1] * len(tokens))))
    for merges in (["a"], [""], [" "], ["a  b", "\0 x", "x " * 1000], ["i n"] * 10_000, ["Ġ Ġ", "ĠĠ ĠĠ"]):
        yield forged(f"merges {str(merges)[:30]}", merges=(ARRAY, (STRING, merges)))
    yield forged("nested arrays", merges=(ARRAY, (ARRAY, [(STRING, ["i n"])])))
    yield forged("few tokens", tokens=(ARRAY, (STRING, tokens[:5])))


def _bytes(architecture: str, seed: int) -> Iterator[Forgery]:
    """Files cut short anywhere, and bytes of the head replaced at random."""
    rng = random.Random(seed)
    numbers: list[Number] = []
    data = tiny(architecture).pack(numbers)
    head = numbers[-1].place + 8
    for place in (0, 1, 3, 4, 8, 12, 23, 24, 30, *(rng.randrange(head) for _ in range(30)), head, head + 40,
                  len(data) // 2, len(data) - 33, len(data) - 1):  # fmt: skip
        yield f"{architecture}: cut at {place}", partial(bytes, data[:place])
    for i in range(120):
        forged = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            forged[rng.randrange(head)] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        yield f"{architecture}: random bytes {i}", partial(bytes, forged)
