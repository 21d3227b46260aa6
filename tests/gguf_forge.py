"""Tiny language models in GGUF for tests: random weights that llama.cpp loads and decodes, any field of them forged."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64, INT64, FLOAT64 = range(13)
F32, F16, Q4_0, Q8_0 = 0, 1, 2, 8
_FORMATS = {
    UINT8: "B", INT8: "b", UINT16: "H", INT16: "h", UINT32: "I", INT32: "i", FLOAT32: "f", BOOL: "?",
    UINT64: "Q", INT64: "q", FLOAT64: "d",
}  # fmt: skip
WIDTH, HEADS, KEY_HEADS, HEAD, INNER, LAYERS = 32, 4, 2, 8, 256, 2
CONTROL, USER_DEFINED, BYTE = 3, 4, 6
ARCHITECTURES = ("llama", "qwen2", "qwen3", "gemma", "gemma2", "gemma3")


@dataclass
class Tensor:
    """A tensor as it is written; `offset` only if it is a lie."""

    shape: tuple[int, ...]
    kind: int
    data: bytes
    offset: int | None = None


@dataclass(frozen=True)
class Number:
    """Where a number of the file lies: what it is, its place, and its `struct` format."""

    what: str
    place: int
    form: str


@dataclass
class Gguf:
    """A file before it is packed: metadata as (type, value), where an array's value is (type, values)."""

    metadata: dict[str, tuple[int, Any]] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    alignment: int = 32

    def pack(self, numbers: list[Number] | None = None) -> bytes:
        """The file's bytes; `numbers` takes the place of every number in front of the weights."""
        out = bytearray(b"GGUF")

        def put(what: str, form: str, value: Any) -> None:
            if numbers is not None:
                numbers.append(Number(what, len(out), form))
            out.extend(struct.pack("<" + form, value))

        def text(what: str, value: bytes | str) -> None:
            data = value.encode() if isinstance(value, str) else value
            put(f"length of {what}", "Q", len(data))
            out.extend(data)

        def one(what: str, kind: int, value: Any) -> None:
            if kind == STRING:
                text(what, value)
            elif kind == ARRAY:
                put(f"element type of {what}", "I", value[0])
                put(f"count of {what}", "Q", len(value[1]))
                for i, element in enumerate(value[1]):
                    one(f"{what}[{i}]", value[0], element)
            else:
                put(what, _FORMATS[kind], value)

        put("version", "I", 3)
        put("tensor count", "Q", len(self.tensors))
        put("metadata count", "Q", len(self.metadata))
        for key, (kind, value) in self.metadata.items():
            text("a key", key)
            put(f"type of {key}", "I", kind)
            one(key, kind, value)
        place = 0
        for name, tensor in self.tensors.items():
            text("a tensor's name", name)
            put(f"dimensions of {name}", "I", len(tensor.shape))
            for i, size in enumerate(tensor.shape):
                put(f"dimension {i} of {name}", "Q", size)
            put(f"type of {name}", "I", tensor.kind)
            put(f"offset of {name}", "Q", place if tensor.offset is None else tensor.offset)
            place += self._padded(len(tensor.data))
        out.extend(bytes(self._padded(len(out)) - len(out)))
        for tensor in self.tensors.values():
            out.extend(tensor.data + bytes(self._padded(len(tensor.data)) - len(tensor.data)))
        return bytes(out)

    def _padded(self, size: int) -> int:
        return -(-size // self.alignment) * self.alignment


def tiny(architecture: str = "llama") -> Gguf:
    """A model of two layers, valid: byte-level vocabulary, or pieces for the gemma family."""
    gguf = Gguf()
    numbers = {
        "context_length": 512, "embedding_length": WIDTH, "block_count": LAYERS, "feed_forward_length": INNER,
        "attention.head_count": HEADS, "attention.head_count_kv": KEY_HEADS,
    }  # fmt: skip
    if architecture in ("qwen3", "gemma", "gemma2", "gemma3"):
        numbers |= {"attention.key_length": HEAD, "attention.value_length": HEAD}
    if architecture == "llama":
        numbers |= {"rope.dimension_count": HEAD}
    if architecture in ("gemma2", "gemma3"):
        numbers |= {"attention.sliding_window": 64, "attention.sliding_window_pattern": 2}
    gguf.metadata["general.architecture"] = (STRING, architecture)
    gguf.metadata |= {f"{architecture}.{key}": (UINT32, value) for key, value in numbers.items()}
    gguf.metadata[f"{architecture}.attention.layer_norm_rms_epsilon"] = (FLOAT32, 1e-5)
    gguf.metadata[f"{architecture}.rope.freq_base"] = (FLOAT32, 10000.0)
    if architecture == "gemma2":
        gguf.metadata["gemma2.attn_logit_softcapping"] = (FLOAT32, 50.0)
        gguf.metadata["gemma2.final_logit_softcapping"] = (FLOAT32, 30.0)
    _add_pieces(gguf) if architecture.startswith("gemma") else _add_bytes(gguf, architecture)
    _add_weights(gguf, architecture)
    return gguf


def quantised(shape: tuple[int, ...], rng: np.random.Generator) -> Tensor:
    """Random Q8_0: blocks of one half-precision scale and 32 small integers."""
    blocks = int(np.prod(shape)) // 32
    data = np.zeros(blocks, [("scale", "<f2"), ("values", "i1", 32)])
    data["scale"] = 0.01
    data["values"] = rng.integers(-20, 20, (blocks, 32))
    return Tensor(shape, Q8_0, data.tobytes())


def _add_weights(gguf: Gguf, architecture: str) -> None:
    rng = np.random.default_rng(0)

    def plain(*shape: int) -> Tensor:
        return Tensor(shape, F32, rng.normal(1 if len(shape) == 1 else 0, 0.1, shape).astype("<f4").tobytes())

    vocabulary = len(gguf.metadata["tokenizer.ggml.tokens"][1][1])
    gguf.tensors["token_embd.weight"] = plain(WIDTH, vocabulary)
    gguf.tensors["output_norm.weight"] = plain(WIDTH)
    for i in range(LAYERS):
        layer = {"attn_norm": plain(WIDTH), "ffn_norm": plain(WIDTH)}
        layer |= {"attn_q": quantised((WIDTH, HEADS * HEAD), rng), "attn_output": plain(HEADS * HEAD, WIDTH)}
        layer |= {"attn_k": plain(WIDTH, KEY_HEADS * HEAD), "attn_v": plain(WIDTH, KEY_HEADS * HEAD)}
        layer |= {"ffn_gate": quantised((WIDTH, INNER), rng), "ffn_up": quantised((WIDTH, INNER), rng)}
        layer |= {"ffn_down": plain(INNER, WIDTH)}
        if architecture in ("qwen3", "gemma3"):
            layer |= {"attn_q_norm": plain(HEAD), "attn_k_norm": plain(HEAD)}
        if architecture in ("gemma2", "gemma3"):
            layer |= {"post_attention_norm": plain(WIDTH), "post_ffw_norm": plain(WIDTH)}
        gguf.tensors |= {f"blk.{i}.{name}.weight": tensor for name, tensor in layer.items()}
        if architecture == "qwen2":
            for name, size in (("attn_q", HEADS * HEAD), ("attn_k", KEY_HEADS * HEAD), ("attn_v", KEY_HEADS * HEAD)):
                gguf.tensors[f"blk.{i}.{name}.bias"] = plain(size)


def byte_letters() -> list[str]:
    """The letters that byte-level vocabularies write the 256 bytes with."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(b) if b in plain else chr(next(others)) for b in range(256)]


def _add_bytes(gguf: Gguf, architecture: str) -> None:
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokens = [*special, *byte_letters(), "in", "th", "the", "Ġt"]
    gguf.metadata |= {
        "tokenizer.ggml.model": (STRING, "gpt2"),
        "tokenizer.ggml.pre": (STRING, "smollm" if architecture == "llama" else "qwen2"),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, tokens)),
        "tokenizer.ggml.token_type": (ARRAY, (INT32, [CONTROL] * 3 + [1] * (len(tokens) - 3))),
        "tokenizer.ggml.merges": (ARRAY, (STRING, ["i n", "t h", "th e", "Ġ t"])),
        "tokenizer.ggml.bos_token_id": (UINT32, 1),
        "tokenizer.ggml.eos_token_id": (UINT32, 2),
        "tokenizer.ggml.add_bos_token": (BOOL, False),
    }


def _add_pieces(gguf: Gguf) -> None:
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>", "\n"]
    tokens = [*special, *(f"<0x{b:02X}>" for b in range(256)), "▁", *"abcdefghijklmnopqrstuvwxyz", "▁t", "th", "the"]
    kinds = [CONTROL] * 3 + [2] + [CONTROL] * 2 + [USER_DEFINED] + [BYTE] * 256
    gguf.metadata |= {
        "tokenizer.ggml.model": (STRING, "llama"),
        "tokenizer.ggml.pre": (STRING, "default"),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, tokens)),
        "tokenizer.ggml.scores": (ARRAY, (FLOAT32, [-float(i) for i in range(len(tokens))])),
        "tokenizer.ggml.token_type": (ARRAY, (INT32, kinds + [1] * (len(tokens) - len(kinds)))),
        "tokenizer.ggml.bos_token_id": (UINT32, 2),
        "tokenizer.ggml.eos_token_id": (UINT32, 1),
        "tokenizer.ggml.add_space_prefix": (BOOL, False),
    }
