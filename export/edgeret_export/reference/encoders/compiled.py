"""Text to unit vector with arithmetic of our own (kernel/transformer.c), for int8 graphs on CPUs that sum bytes fast.

It is quicker than ONNX Runtime, which need not be loaded then, and rounds less: each token by itself, so a vector does
not depend on the texts beside it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle.private_copy import PrivateBytes
from edgeret.encoders.base import REBUILD, EncoderSpec
from edgeret.errors import BundleError, InputError
from edgeret.host import available_cpus, instruction_set
from edgeret_export.reference.encoders.windows import WindowEncoder
from edgeret_export.reference.kernel import COUNT, DOUBLE, INSTRUCTION_SETS, LIBRARY, POINTER, address, layout

SETS = INSTRUCTION_SETS
"""Sets of instructions that the library may have been made for; a set's number is its place, as in transformer.c."""
QUICK = frozenset(SETS[1:])
SEVEN_BITS = frozenset({"avx2", "avx512"})
"""Sets that add two products in 16 bits, where weights of 8 bits could overflow."""
MAX_SEVEN = 64
KEPT_TOKENS = 64
"""Room for texts of so many tokens is kept for the next one; longer texts get it from the system each time."""
TOGETHER = 96
"""Tokens of texts that are read side by side: weights then come from memory once for all of them."""
LATE = 4
"""What edgeret_transform adds to its answer where a worker is still in the room."""
LINE = 64
"""Bytes at whose multiples a CPU reads vectors fastest."""

if TYPE_CHECKING:
    from edgeret_export.reference.encoders import transformer_graph as graphs

_PRODUCT = layout(  # these as in transformer.h
    *(("packed", POINTER), ("scales", POINTER), ("bias", POINTER), ("shrink", POINTER), ("sums", POINTER)),
    *(("rows", COUNT), ("columns", COUNT)),
)
_NORM = layout(("gain", POINTER), ("bias", POINTER), ("epsilon", DOUBLE))
_TRANSFORMER = layout(
    *(("words", POINTER), ("word_scales", POINTER), ("plain", POINTER), ("places", POINTER)),
    *(("gain", POINTER), ("bias", POINTER), ("epsilon", DOUBLE), ("layers", POINTER)),
    *(("tokens", COUNT), ("positions", COUNT), ("count", COUNT), ("hidden", COUNT), ("heads", COUNT)),
)


class _Weights:
    """A transformer's weights as the library reads them, copied out of the graph's file and found `at` an address."""

    def __init__(self, of: graphs.Transformer, panel: int) -> None:
        self.largest = 0
        self._panel = panel
        self._kept: list[NDArray[np.generic]] = []
        layers = b"".join(part for layer in of.layers for part in self._layer(layer))
        tokens, hidden = of.words.shape
        top = _TRANSFORMER.pack(
            *self._words(of),
            self._copy(of.places),
            *(self._copy(of.embedded.gain), self._copy(of.embedded.bias), of.embedded.epsilon),
            *(self._copy(np.frombuffer(layers, np.uint8)), tokens, len(of.places), len(of.layers), hidden, of.heads),
        )
        self.tokens, self.hidden = tokens, hidden
        self.at = self._copy(np.frombuffer(top, np.uint8))

    def _words(self, of: graphs.Transformer) -> tuple[int, int, int]:
        """Where rows of bytes are and their scales, or rows of numbers."""
        held = self._copy(of.words)
        return (0, 0, held) if of.word_scales is None else (held, self._copy(of.word_scales), 0)

    def _layer(self, layer: graphs.Layer) -> Iterator[bytes]:
        for product in (layer.together, layer.attended, layer.wide, layer.narrow):
            yield self._product(product)
        for norm in (layer.between, layer.behind):
            yield _NORM.pack(self._copy(norm.gain), self._copy(norm.bias), norm.epsilon)

    def _product(self, product: graphs.Product) -> bytes:
        assert LIBRARY is not None
        rows, columns = product.weights.shape
        packed, sums = self._room(rows * columns, np.int8), self._room(columns, np.int32)
        sizes = (rows, columns, self._panel)
        found = LIBRARY.edgeret_pack(product.weights.ctypes.data, *sizes, packed.ctypes.data, sums.ctypes.data)
        self.largest = max(self.largest, found)
        floats = (self._copy(each) for each in (product.scales, product.bias, product.shrink))
        return _PRODUCT.pack(packed.ctypes.data, *floats, sums.ctypes.data, rows, columns)

    def _copy(self, numbers: NDArray[np.generic]) -> int:
        held = self._room(numbers.size, numbers.dtype)
        held[:] = numbers.reshape(-1)
        return int(held.ctypes.data)

    def _room(self, count: int, kind: np.dtype[np.generic] | type[np.generic]) -> NDArray[np.generic]:
        held = _aligned(count * np.dtype(kind).itemsize).view(kind)
        self._kept.append(held)
        return held


def _aligned(size: int) -> NDArray[np.uint8]:
    """So many bytes that begin at a multiple of LINE."""
    held = np.empty(size + LINE, np.uint8)
    begin = -held.ctypes.data % LINE
    return held[begin : begin + size]


class CompiledEncoder(WindowEncoder):
    """A transformer in int8 on this CPU, without ONNX Runtime. Immutable, and safe to use from several threads, which
    then encode side by side; how many threads share a text changes no bit of it."""

    requested: tuple[str, ...] = ("cpu",)

    def __init__(
        self,
        weights: graphs.Transformer,
        tokenizer: bytes,
        spec: EncoderSpec,
        where: str = "encoder",
        name: str = "",
        threads: int = 1,
    ) -> None:
        """`name` is one of SETS, by default this CPU's; up to `threads` CPUs share a long text. Raises BundleError for
        a tokenizer that is not one of an encoder, and InputError for a set that is not here, or cannot add up these
        weights."""
        name = name or instruction_set()
        if LIBRARY is None or name not in SETS or not LIBRARY.edgeret_panel(SETS.index(name)):
            raise InputError(f"{where}: no arithmetic of our own for {name} here")
        self._library, self._set, self.name, self.threads = LIBRARY, SETS.index(name), name, threads
        panel = LIBRARY.edgeret_panel(self._set)
        packed = _begin(lambda: _Weights(weights, panel))
        super().__init__(tokenizer, spec, spec.max_tokens, where)
        self._weights = packed()
        if name in SEVEN_BITS and self._weights.largest > MAX_SEVEN:
            raise InputError(f"{where}: weights of 8 bits, which {name} cannot add up exactly")
        self._pooled = (spec.pooling == "cls", spec.normalised)
        self._rooms: list[NDArray[np.uint8]] = []
        self._late: list[NDArray[np.uint8]] = []
        self._kept = self._bytes(min(KEPT_TOKENS, spec.max_tokens), min(KEPT_TOKENS, spec.max_tokens))
        weakref.finalize(self, _wait_for, LIBRARY, self._late, self._weights)

    @property
    def providers(self) -> tuple[str, ...]:
        """The CPU."""
        return self.requested

    @property
    def engine(self) -> str:
        """Ours, and for which instructions."""
        return f"edgeret ({self.name})"

    def _vector(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        return self._vectors(ids)[0]

    def _vectors(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        vectors, tokens = self._read(np.ascontiguousarray(ids, np.int64), np.array([len(ids)], np.int64))
        return vectors[0], tokens

    def _side_by_side(self, texts: Sequence[NDArray[np.int64]]) -> NDArray[np.float32]:
        ends = np.cumsum([len(ids) for ids in texts], dtype=np.int64)
        found = np.empty((len(texts), self._weights.hidden), np.float32)
        first = 0
        while first < len(texts):
            start = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, start + TOGETHER, "right")))
            found[first:last], _ = self._read(np.concatenate(texts[first:last]), ends[first:last] - start)
            first = last
        return found

    def _read(self, ids: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The vectors of texts (texts, dimension) and of all their tokens, of which each text's end at `ends`."""
        lengths = np.diff(ends, prepend=0)
        count, weights, longest = len(ids), self._weights, int(lengths.max())
        if not lengths.all():
            raise InputError("a text without a single token has no vector; give one with words")
        vectors = np.empty((len(ends), weights.hidden), np.float32)
        tokens = np.empty((count, weights.hidden), np.float32)
        room = self._take(self._bytes(count, longest))
        asked = (self._set, address(ids), address(ends), len(ends), self.threads, *self._pooled)
        failed = LATE  # where an interrupt comes before the answer, somebody may be in the room
        try:
            failed = self._library.edgeret_transform(
                weights.at, *asked, address(room), address(tokens), address(vectors)
            )
        finally:
            if failed & LATE:
                self._late.append(room)
            elif len(room) == self._kept:
                self._rooms.append(room)
        failed &= ~LATE
        if failed == 1:
            raise BundleError(
                f"{self._where}: a text of {longest} tokens with numbers up to {ids.max()}, of {weights.tokens} that "
                f"are known; {REBUILD}"
            )
        if failed:
            raise BundleError(f"{self._where}: vectors with numbers that are not finite; {REBUILD}")
        return vectors, tokens

    def _bytes(self, count: int, longest: int) -> int:
        """How many bytes reading takes."""
        return 4 * int(self._library.edgeret_room(self._weights.at, count, longest, self.threads))

    def _take(self, needed: int) -> NDArray[np.uint8]:
        """Bytes for a run, of the ones kept if they are enough; two threads never get the same."""
        if self._late:
            self._look_into_late()
        if needed > self._kept:
            return _aligned(needed)
        try:
            return self._rooms.pop()
        except IndexError:
            return _aligned(self._kept)

    def _look_into_late(self) -> None:
        """Keeps or drops the rooms that late workers have left meanwhile."""
        for _ in range(len(self._late)):
            try:
                room = self._late.pop(0)
            except IndexError:  # another thread looks, too
                return
            if not self._library.edgeret_left(address(room), False):
                self._late.append(room)
            elif len(room) == self._kept:
                self._rooms.append(room)


def _wait_for(library: Any, late: list[NDArray[np.uint8]], weights: _Weights) -> None:
    """Comes back when the workers that an encoder did not wait for have left; they read its weights until then."""
    for room in late:
        library.edgeret_left(address(room), True)


def compiled_encoder(
    model: bytes | PrivateBytes, tokenizer: bytes, spec: EncoderSpec, where: str = "encoder", threads: int = 1
) -> CompiledEncoder | None:
    """An encoder with arithmetic of our own, if there is one for this graph and this CPU; else None. Up to `threads`
    CPUs share a long text. Raises BundleError for a graph or a tokenizer that is not one of an encoder, or could take
    too much time or memory."""
    name = instruction_set()
    if LIBRARY is None or spec.precision != "int8" or name not in QUICK or not LIBRARY.edgeret_panel(SETS.index(name)):
        return None
    from edgeret.encoders.checks import onnx_file  # with the first bundle, as the libraries that it guards
    from edgeret_export.reference.encoders.transformer_graph import read_transformer

    data = model if isinstance(model, bytes) else model.data
    weights = read_transformer(onnx_file.check(data, spec.max_tokens, where), data, spec)
    if weights is None or (name in SEVEN_BITS and max(_largest(layer) for layer in weights.layers) > MAX_SEVEN):
        return None
    return CompiledEncoder(weights, tokenizer, spec, where, name, threads)


def _begin(make: Callable[[], _Weights]) -> Callable[[], _Weights]:
    """Makes something on another CPU, if there is one, and gives what waits for it."""
    if available_cpus() < 2:
        return make
    made: list[_Weights] = []
    helper = threading.Thread(target=lambda: made.append(make()), name="edgeret-packing")
    try:
        helper.start()
    except RuntimeError:  # no thread to be had here
        return make

    def wait() -> _Weights:
        helper.join()
        return made[0] if made else make()  # which fails again, in sight

    return wait


def _largest(layer: graphs.Layer) -> int:
    products = (layer.together, layer.attended, layer.wide, layer.narrow)
    return max(max(int(p.weights.max()), -int(p.weights.min())) for p in products)
