"""Is a GGUF file safe to hand to llama.cpp? Knows nothing of prompts, bundles or how the file was made.

llama.cpp reads the container with care and then believes what it says of the model: numbers that do not go together and
tensors of a type that no product takes end the process. So a file gets through only if it is of one of the families
below, with the keys, the vocabulary and the tensors of such a model, and with nothing else that llama.cpp would act on.
Tried with llama.cpp as in llama-cpp-python 0.3.36.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from edgeret.errors import PlannerError
from edgeret.planner.checks.gguf_container import BOOL, F32, FLOAT32, STRING, UINT32, Tensor, UnfitError, Value, read
from edgeret.planner.checks.gguf_vocabulary import check_vocabulary


class Family(NamedTuple):
    """What tensors an architecture has beyond those of all: in every layer, of the head's size or of the embedding's;
    and those that it may have."""

    head_norms: tuple[str, ...] = ()
    norms: tuple[str, ...] = ("attn_norm", "ffn_norm")
    biases: tuple[str, ...] = ()
    optional: tuple[str, ...] = ("output.weight",)


_KEY_NORMS = ("attn_q_norm", "attn_k_norm")
_FOUR_NORMS = ("attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm")
_BIASES = ("attn_q", "attn_k", "attn_v")
FAMILIES: Mapping[str, Family] = {
    "llama": Family(biases=_BIASES, optional=("output.weight", "rope_freqs.weight")),
    "qwen2": Family(biases=_BIASES),
    "qwen3": Family(_KEY_NORMS),
    "gemma": Family(optional=()),
    "gemma2": Family(norms=_FOUR_NORMS, optional=()),
    "gemma3": Family(_KEY_NORMS, _FOUR_NORMS),
}
"""The architectures of models that the chat formats of `edgeret.planner.prompts` are for."""
_RANGES: Mapping[str, tuple[int, float, float]] = {
    "context_length": (UINT32, 1, 1 << 24),
    "embedding_length": (UINT32, 32, 1 << 14),
    "block_count": (UINT32, 1, 256),
    "feed_forward_length": (UINT32, 32, 1 << 16),
    "attention.head_count": (UINT32, 1, 128),
    "attention.layer_norm_rms_epsilon": (FLOAT32, 1e-12, 0.1),
    "attention.head_count_kv": (UINT32, 1, 128),
    "attention.key_length": (UINT32, 2, 1024),
    "attention.value_length": (UINT32, 2, 1024),
    "attention.sliding_window": (UINT32, 1, 1 << 24),
    "attention.sliding_window_pattern": (UINT32, 2, 256),
    "attention.layer_norm_epsilon": (FLOAT32, 1e-12, 0.1),
    "rope.dimension_count": (UINT32, 2, 1024),
    "rope.freq_base": (FLOAT32, 1, 1e10),
    "rope.freq_base_swa": (FLOAT32, 1, 1e10),
    "rope.scale_linear": (FLOAT32, 1, 1e4),
    "rope.scaling.factor": (FLOAT32, 1, 1e4),
    "rope.scaling.attn_factor": (FLOAT32, 0.01, 100),
    "rope.scaling.original_context_length": (UINT32, 1, 1 << 24),
    "rope.scaling.finetuned": (BOOL, 0, 1),
    "attn_logit_softcapping": (FLOAT32, 0.01, 1e6),
    "final_logit_softcapping": (FLOAT32, 0.01, 1e6),
    "vocab_size": (UINT32, 1, 1 << 24),
}
_REQUIRED = tuple(_RANGES)[:6]
_SCALING, _SCALINGS = "rope.scaling.type", ("none", "linear", "yarn")
MAX_WIDTH = 1 << 15
"""Numbers of all heads together; a batch of 512 tokens takes 64 MB of them."""
MIN_CACHE_BYTES = 64 << 20
"""What 1,024 tokens may take of the cache, whose size stands in no relation to a file's; or as much as the file."""


class Sizes(NamedTuple):
    """What the shapes of all tensors follow from."""

    width: int
    layers: int
    inner: int
    heads: int
    key_heads: int
    head: int
    tokens: int


def check_file(path: Path, where: str) -> None:
    """Refuses a file that llama.cpp must not see; `where` begins the message. Raises PlannerError."""
    try:
        with (
            path.open("rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
            memoryview(mapped) as data,
        ):
            check(data, where)
    except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
        raise PlannerError(f"{where}: cannot be read ({error}); build the bundle again") from None


def check(data: memoryview, where: str) -> None:
    """The same for a file's bytes (n,). What passes is loaded by llama.cpp, or refused by it with a reason."""
    try:
        contents = read(data)
        architecture = _choice(contents.metadata, "general.architecture", tuple(FAMILIES))
        tokens = check_vocabulary(contents.metadata)
        sizes = _sizes(_numbers(contents.metadata, architecture), tokens)
        if architecture == "qwen2" and sizes.heads * sizes.head != sizes.width:
            raise UnfitError(f"qwen2 needs heads as wide as its embedding of {sizes.width}")
        _check_cache(sizes, contents.size)
        _check_tensors(contents.tensors, FAMILIES[architecture], sizes)
    except UnfitError as error:
        raise PlannerError(
            f"{where}: not a planner that llama.cpp can be given ({error}); build the bundle with another one"
        ) from None


def _numbers(metadata: Mapping[str, Value], architecture: str) -> dict[str, float]:
    """The numbers that describe the model, each in its range. Keys that llama.cpp may act on must all be known."""
    numbers: dict[str, float] = {}
    for key, value in metadata.items():
        name = key.removeprefix(f"{architecture}.")
        if name == key:
            # A model in several files, and exceptions for single tensors.
            alone = key != "split.count" or str(value) in ("0", "1")
            if key.startswith("general.tensor_extra.") or not alone:
                raise UnfitError(f"the key {key} = {value} is not known to be harmless")
        elif name == _SCALING:
            _choice(metadata, key, _SCALINGS)
        elif name not in _RANGES:
            raise UnfitError(f"the key {key} = {value} is not known to be harmless")
        else:
            kind, low, high = _RANGES[name]
            if value.kind != kind or not low <= value.content <= high:
                raise UnfitError(f"{key} must lie between {low:g} and {high:g}, found {value}")
            numbers[name] = value.content
    missing = next((name for name in _REQUIRED if name not in numbers), None)
    if missing is not None:
        raise UnfitError(f"the key {architecture}.{missing} is missing")
    return numbers


def _sizes(numbers: Mapping[str, float], tokens: int) -> Sizes:
    """The sizes, if heads and embedding go together; llama.cpp asserts that keys, values and rotation are alike."""
    width, layers, inner, heads = (int(numbers[name]) for name in _REQUIRED[1:5])
    key_heads = int(numbers.get("attention.head_count_kv", heads))
    head = int(numbers.get("attention.key_length", width // heads))
    alike = (head, *(numbers.get(name, head) for name in ("attention.value_length", "rope.dimension_count")))
    if len(set(alike)) > 1 or head % 2 or head < 2 or heads % key_heads or heads * head > MAX_WIDTH:
        raise UnfitError(f"{heads} heads ({key_heads} of keys) of {alike} numbers do not go together")
    return Sizes(width, layers, inner, heads, key_heads, head, tokens)


def _check_cache(sizes: Sizes, size: int) -> None:
    cache = 1024 * 4 * sizes.layers * sizes.key_heads * sizes.head
    if cache > max(size, MIN_CACHE_BYTES):
        raise UnfitError(f"a cache of {cache} bytes for 1,024 tokens, which is more than the file of {size} bytes")


def _check_tensors(tensors: Mapping[str, Tensor], family: Family, sizes: Sizes) -> None:
    """Every tensor that the family needs is there, with its shape; vectors are F32; nothing else is there."""
    expected = dict(_shapes(family, sizes))
    optional = dict(_optional_shapes(family, sizes))
    for name, shape in expected.items():
        if name not in tensors:
            raise UnfitError(f"the tensor {name} of shape {shape} is missing")
    for name, tensor in tensors.items():
        if name not in expected and name not in optional:
            raise UnfitError(f"the tensor {name} belongs to no model of its family")
        shape = expected.get(name) or optional[name]
        if tensor.shape != shape:
            raise UnfitError(f"the tensor {name} has shape {tensor.shape}, expected {shape}")
        if len(shape) == 1 and tensor.kind != F32:
            raise UnfitError(f"the tensor {name} has type {tensor.kind}, expected F32")


def _shapes(family: Family, sizes: Sizes) -> Iterator[tuple[str, tuple[int, ...]]]:
    width, inner, queries, keys = sizes.width, sizes.inner, sizes.heads * sizes.head, sizes.key_heads * sizes.head
    yield "token_embd.weight", (width, sizes.tokens)
    yield "output_norm.weight", (width,)
    layer: dict[str, tuple[int, ...]] = {
        "attn_q": (width, queries),
        "attn_k": (width, keys),
        "attn_v": (width, keys),
        "attn_output": (queries, width),
        "ffn_gate": (width, inner),
        "ffn_up": (width, inner),
        "ffn_down": (inner, width),
        **dict.fromkeys(family.norms, (width,)),
        **dict.fromkeys(family.head_norms, (sizes.head,)),
    }
    for i in range(sizes.layers):
        for name, shape in layer.items():
            yield f"blk.{i}.{name}.weight", shape


def _optional_shapes(family: Family, sizes: Sizes) -> Iterator[tuple[str, tuple[int, ...]]]:
    shapes = {"output.weight": (sizes.width, sizes.tokens), "rope_freqs.weight": (sizes.head // 2,)}
    yield from ((name, shapes[name]) for name in family.optional)
    for name in family.biases:
        heads = sizes.heads if name == "attn_q" else sizes.key_heads
        for i in range(sizes.layers):
            yield f"blk.{i}.{name}.bias", (heads * sizes.head,)


def _choice(metadata: Mapping[str, Value], key: str, choices: tuple[str, ...]) -> str:
    value = metadata.get(key, Value(STRING, b""))
    found = next((c for c in choices if value.kind == STRING and value.content == c.encode()), None)
    if found is None:
        raise UnfitError(f"expected one of {', '.join(choices)} as {key}, found {value}")
    return found
