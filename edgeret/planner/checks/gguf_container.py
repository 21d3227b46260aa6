"""The container of a GGUF file: its keys and tensors, read without believing any number. Knows nothing of models.

The layout is that of GGUF 2 and 3, little-endian. What is read here is read by llama.cpp in the same way afterwards: no
key or name that it would see otherwise than we did (with a zero byte in it) gets through.
"""

from __future__ import annotations

import math
import re
import struct
from time import sleep
from typing import Any, NamedTuple

import numpy as np

from edgeret.records import dataclass

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64, INT64, FLOAT64 = range(13)
_SCALARS: dict[int, np.dtype[np.generic]] = {
    kind: np.dtype(code)
    for kind, code in (
        (UINT8, "u1"), (INT8, "i1"), (UINT16, "<u2"), (INT16, "<i2"), (UINT32, "<u4"), (INT32, "<i4"),
        (FLOAT32, "<f4"), (BOOL, "?"), (UINT64, "<u8"), (INT64, "<i8"), (FLOAT64, "<f8"),
    )
}  # fmt: skip
F32 = 0
_BLOCKS: dict[int, tuple[int, int]] = {
    F32: (1, 4), 1: (1, 2), 30: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 20: (32, 18), 23: (256, 136),
}  # fmt: skip
"""Elements and bytes of a block: F32, F16, BF16, Q4_0 to Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS. Others exist: a matrix of
integers is a SIGSEGV in llama.cpp's products, and those with two bits and less are for models that fill a server."""

MAX_HEAD_BYTES = 64 << 20
"""Everything in front of the tensors' data; the largest vocabularies take 8 MB."""
MAX_KEYS, MAX_TENSORS = 1024, 1 << 14
_ALIGNMENTS = tuple(1 << n for n in range(5, 17))
"""Below 32, llama.cpp asserts that what it maps is aligned, and ends the process."""
MAX_ELEMENTS = 1 << 21
"""Strings and numbers of all arrays together; the largest vocabularies have a million."""
_KEY = re.compile(rb"[!-~]{1,200}")
_LENGTH = struct.Struct("<Q")
PAUSE = 2048
"""Strings between two pauses: half a millisecond's."""
_CUT_SHORT = f"it is cut short, or its head is larger than {MAX_HEAD_BYTES} bytes"


def pause() -> None:
    """Lets other threads go on. A planner is loaded while requests are answered without it; behind each of their calls
    into numpy they would wait 5 ms for a quarter of a million strings that are looked at here without a pause."""
    sleep(1e-4)


class UnfitError(Exception):
    """What is wrong with a file, in words, without saying where."""


class Value(NamedTuple):
    """A key's value: bool, int or float; bytes for a string; a list of bytes or a numpy array (n,) for an array, whose
    element kind is `element`."""

    kind: int
    content: Any
    element: int = -1

    def __str__(self) -> str:
        """The value for an error message, short whatever it is."""
        return "an array" if self.kind == ARRAY else f"{self.content!r:.40}"


class Tensor(NamedTuple):
    """A tensor's shape, row length first, without ones at the end; and the type of its elements."""

    shape: tuple[int, ...]
    kind: int


@dataclass(frozen=True, slots=True)
class Contents:
    """The keys and tensors of a file, by name."""

    metadata: dict[str, Value]
    tensors: dict[str, Tensor]
    size: int


def read(data: memoryview) -> Contents:
    """The contents of a whole file, bytes (n,). Raises UnfitError if anything in it is not as the format says."""
    reader = _Reader(data)
    if reader.take(4) != b"GGUF":
        raise UnfitError("it does not begin with GGUF")
    version = reader.number(UINT32)
    if version not in (2, 3):
        raise UnfitError(f"expected GGUF version 2 or 3, found {version}")
    tensor_count, key_count = reader.count("tensors", MAX_TENSORS, 24), reader.count("keys", MAX_KEYS, 13)
    metadata: dict[str, Value] = {}
    for _ in range(key_count):
        key = _name(reader.text())
        if key in metadata:
            raise UnfitError(f"the key {key} comes twice")
        metadata[key] = reader.value(key)
    alignment = metadata.get("general.alignment", Value(UINT32, 32))
    if alignment.kind != UINT32 or alignment.content not in _ALIGNMENTS:
        raise UnfitError(f"expected a power of two from {_ALIGNMENTS[0]} as general.alignment, found {alignment}")
    return Contents(metadata, _tensors(reader, tensor_count, int(alignment.content), len(data)), len(data))


def _tensors(reader: _Reader, count: int, alignment: int, size: int) -> dict[str, Tensor]:
    """The tensors, whose data stand one behind the other in the file, each padded to the alignment."""
    tensors: dict[str, Tensor] = {}
    end = 0
    for _ in range(count):
        name = _name(reader.text())
        if name in tensors:
            raise UnfitError(f"the tensor {name} comes twice")
        dimensions = reader.number(UINT32)
        if not 1 <= dimensions <= 4:
            raise UnfitError(f"the tensor {name} has {dimensions} dimensions, expected 1 to 4")
        shape = tuple(int(reader.number(UINT64)) for _ in range(int(dimensions)))
        kind, offset = int(reader.number(UINT32)), reader.number(UINT64)
        if kind not in _BLOCKS:
            raise UnfitError(f"the tensor {name} has type {kind}, expected one of {sorted(_BLOCKS)}")
        elements, block = _BLOCKS[kind]
        if not all(0 < n <= size * elements for n in shape) or shape[0] % elements:
            raise UnfitError(f"the tensor {name} has shape {shape}, expected rows that are a multiple of {elements}")
        start = -(-end // alignment) * alignment
        end = start + math.prod(shape) // elements * block
        if offset != start:
            raise UnfitError(f"the tensor {name} is said to begin at {offset}, expected {start}")
        while len(shape) > 1 and shape[-1] == 1:
            shape = shape[:-1]
        tensors[name] = Tensor(shape, kind)
    end += -(-reader.place // alignment) * alignment
    if end > size:
        raise UnfitError(f"its tensors end at {end}, the file at {size}")
    return tensors


def _name(text: bytes) -> str:
    if not _KEY.fullmatch(text):
        raise UnfitError(f"{text[:40]!r} is no name of a key or tensor")
    return text.decode()


class _Reader:
    """Walks through the head of a file; every step looks at what is left first."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._end = min(len(data), MAX_HEAD_BYTES)
        self._elements = 0
        self.place = 0

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        if size > self._end - self.place:
            raise UnfitError(_CUT_SHORT)
        self.place += size
        return bytes(self._data[self.place - size : self.place])

    def number(self, kind: int) -> bool | int | float:
        """The next number."""
        scalar = _SCALARS[kind]
        return np.frombuffer(self.take(scalar.itemsize), scalar)[0].item()  # type: ignore[no-any-return]

    def text(self) -> bytes:
        """The next string."""
        return self.take(*_LENGTH.unpack(self.take(8)))

    def count(self, what: str, most: int, least_bytes: int) -> int:
        """A number of things that follow, each of `least_bytes` and more."""
        found = int(self.number(UINT64))
        if found > min(most, (self._end - self.place) // least_bytes):
            raise UnfitError(
                f"it is said to have {found} {what}, expected {most} at most, and no more than fit into it"
            )
        return found

    def value(self, key: str) -> Value:
        """The next key's value."""
        kind = int(self.number(UINT32))
        if kind in _SCALARS:
            return Value(kind, self.number(kind))
        if kind == STRING:
            return Value(kind, self.text())
        element = int(self.number(UINT32)) if kind == ARRAY else kind
        if kind != ARRAY or (element != STRING and element not in _SCALARS):
            raise UnfitError(f"{key} has the unknown type {element}")
        count = self.count(f"elements in {key}", MAX_ELEMENTS - self._elements, 8 if element == STRING else 1)
        self._elements += count
        if element == STRING:
            return Value(kind, self._texts(count), element)
        scalar = _SCALARS[element]
        return Value(kind, np.frombuffer(self.take(count * scalar.itemsize), scalar), element)

    def _texts(self, count: int) -> list[bytes]:
        """So many strings; on its own, since a vocabulary has a quarter of a million of them."""
        data, place, end, unpack = self._data, self.place, self._end, _LENGTH.unpack_from
        texts = []
        for i in range(count):
            if i % PAUSE == 0:
                pause()
            if place + 8 > end:
                raise UnfitError(_CUT_SHORT)
            start = place + 8
            place = start + unpack(data, place)[0]
            if place > end:
                raise UnfitError(_CUT_SHORT)
            texts.append(data[start:place].tobytes())
        self.place = place
        return texts
