"""A transformer's weights, read from an ONNX graph whose every step is one that we can do ourselves. Runs nothing.

Whatever differs in one operator from what a build makes of a BERT in int8 is another graph, and ONNX Runtime's to run:
absolute positions, one type of token, norms behind each part, exact GELU, dynamic quantisation, no weights behind the
last layer. Nothing is guessed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeret.encoders.base import OUTPUT, TOKENS_OUTPUT, EncoderSpec
from edgeret.encoders.checks.onnx_graph import FLOAT, INT8, INT64, Data, Graph, Node
from edgeret.records import dataclass

NORM, GELU = "LayerNormalization", "com.microsoft.Gelu"
PRODUCT, ATTENTION = "com.microsoft.DynamicQuantizeMatMul", "com.microsoft.QAttention"
BEHIND = frozenset(
    {
        *("Shape", "Gather", "Unsqueeze", "Expand", "Cast", "ReduceSum", "Clip", "Mul", "Div", "Concat", "ReduceL2"),
        *("Slice", "Reshape", "Squeeze", "Where", "Equal", "ArgMax", "GatherElements"),
    }
)
"""What pools and normalises; it may hold no weights."""
BLOCK = 64
"""Widths must be multiples of so many numbers, and a head's of a quarter."""
MAX_WIDTH = 16384
"""Beyond, a sum of bytes could overflow 32 bits."""
_TYPES = {FLOAT: "<f4", INT8: "|i1", INT64: "<i8"}


@dataclass(frozen=True, slots=True)
class Product:
    """Weights int8 (rows, columns) with a scale and a bias a column, float32 (columns,), and what a row's numbers are
    multiplied by before they are rounded, float32 (rows,)."""

    weights: NDArray[np.int8]
    scales: NDArray[np.float32]
    bias: NDArray[np.float32]
    shrink: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Norm:
    """A layer normalisation: gain and bias, float32 (hidden,), and what is added to the variance."""

    gain: NDArray[np.float32]
    bias: NDArray[np.float32]
    epsilon: float


@dataclass(frozen=True, slots=True)
class Layer:
    """Query, key and value side by side, the product behind attention, and the two of the feed-forward part."""

    together: Product
    attended: Product
    between: Norm
    wide: Product
    narrow: Product
    behind: Norm


@dataclass(frozen=True, slots=True)
class Transformer:
    """All weights of an encoder; arrays read the graph's file. `words` are int8 (tokens, hidden) with a scale a row,
    float32 (tokens,), or float32 without; `positions` float32 (positions, hidden), and `first_type` what the first type
    of token adds, float32 (hidden,), or None."""

    words: NDArray[np.int8] | NDArray[np.float32]
    word_scales: NDArray[np.float32] | None
    positions: NDArray[np.float32]
    first_type: NDArray[np.float32] | None
    embedded: Norm
    layers: tuple[Layer, ...]
    heads: int

    @property
    def places(self) -> NDArray[np.float32]:
        """What is added to a word's row where it stands, float32 (positions, hidden)."""
        return self.positions if self.first_type is None else self.positions + self.first_type


class _OtherError(Exception):
    """The graph is another one."""


def read_transformer(graph: Graph, data: Data, spec: EncoderSpec) -> Transformer | None:
    """The weights of a checked graph in `data`, if it is such a transformer and reads texts as long as the `spec` says;
    else None."""
    if spec.precision != "int8" or spec.pooling not in ("mean", "cls"):
        return None
    try:
        return _Reader(graph, data).transformer(spec)
    except _OtherError:
        return None


class _Reader:
    """Walks a graph from its end."""

    def __init__(self, graph: Graph, data: Data) -> None:
        self._tensors, self._data = graph.tensors, data
        self._makers = {name: node for node in graph.nodes for name in node.outputs}
        self._inputs = frozenset(graph.inputs)

    def transformer(self, spec: EncoderSpec) -> Transformer:
        self._pooled(OUTPUT, set())
        hidden, name, layers, heads = spec.dimension, TOKENS_OUTPUT, [], set()
        while self._maker(self._maker(name, NORM).inputs[0], "Add").inputs and not self._is_embedding(name):
            layer, name, count = self._layer(name, hidden)
            layers.append(layer)
            heads.add(count)
        if not layers or len(heads) != 1:
            raise _OtherError
        (count,) = heads
        _need(hidden % BLOCK == 0 and count > 0 and hidden % count == 0 and hidden // count % (BLOCK // 4) == 0)
        words, scales, positions, first = self._embedding(self._maker(name, NORM).inputs[0], hidden)
        _need(len(positions) >= spec.max_tokens)
        return Transformer(words, scales, positions, first, self._norm(name, hidden), tuple(layers[::-1]), count)

    def _pooled(self, name: str, seen: set[str]) -> None:
        """Makes sure that nothing but the layers' last output, the mask and single numbers is behind a value."""
        if name in seen or name in (TOKENS_OUTPUT, "attention_mask", "input_ids", ""):
            return
        seen.add(name)
        if name in self._tensors:
            _need(self._tensors[name].kind == INT64 or int(np.prod(self._tensors[name].dims)) <= 1)
            return
        node = self._makers.get(name)
        if node is None or node.operator not in BEHIND:
            raise _OtherError
        for each in node.inputs:
            self._pooled(each, seen)

    def _layer(self, name: str, hidden: int) -> tuple[Layer, str, int]:
        """The layer that a value comes from, the value that goes into it, and its heads."""
        narrow, middle = self._sum(name)
        inner = narrow.inputs[1]
        width = self._tensors[inner].dims[0] if inner in self._tensors else 0
        _need(width % BLOCK == 0 and 0 < width <= MAX_WIDTH)
        shrunk, wide_name = self._shrunk(narrow.inputs[0], width)
        wide = self._maker(self._maker(wide_name, GELU).inputs[0], PRODUCT)
        shrink, found = self._shrunk(wide.inputs[0], hidden)
        _need(found == middle)
        attended, before = self._sum(middle)
        shared, context = self._shrunk(attended.inputs[0], hidden)
        attention = self._maker(context, ATTENTION)
        together, found = self._attention(attention, hidden)
        _need(found == before)
        layer = Layer(
            together,
            self._product(attended, shared, hidden),
            self._norm(middle, hidden),
            self._product(wide, shrink, width),
            self._product(narrow, shrunk, hidden),
            self._norm(name, hidden),
        )
        return layer, before, attention.attributes["num_heads"]

    def _sum(self, name: str) -> tuple[Node, str]:
        """A normalised sum's product, and the value beside it."""
        first, second = self._maker(self._maker(name, NORM).inputs[0], "Add").inputs
        if self._operator(second) == PRODUCT:
            first, second = second, first
        return self._maker(first, PRODUCT), second

    def _shrunk(self, name: str, width: int) -> tuple[NDArray[np.float32], str]:
        """What a value's numbers are multiplied by before a product, and the value without."""
        node = self._makers.get(name)
        if node is None or node.operator != "Mul" or node.inputs[1] not in self._tensors:
            return np.ones(width, np.float32), name
        return self._array(node.inputs[1], FLOAT, width), node.inputs[0]

    def _product(self, node: Node, shrink: NDArray[np.float32], columns: int) -> Product:
        _, weights, scales, zeros, *bias = node.inputs
        return self._weights(weights, scales, zeros, bias[0] if bias else "", shrink, columns)

    def _attention(self, node: Node, hidden: int) -> tuple[Product, str]:
        """Query, key and value, and the value that they are made of."""
        if len(node.inputs) < 8 or any(node.inputs[8:]):
            raise _OtherError
        tokens, weights, bias, scale, scales, mask, zero, zeros = node.inputs[:8]
        rounded = self._maker(tokens, "DynamicQuantizeLinear")
        _need(rounded.outputs == (tokens, scale, zero))
        _need(node.attributes.keys() <= {"num_heads", "unidirectional", "mask_filter_value"})
        _need(node.attributes.get("unidirectional", 0) == 0 and type(node.attributes.get("num_heads")) is int)
        # One text is never padded, so a mask that comes from the tokens' own changes nothing.
        _need(self._maker(self._maker(mask, "ReduceSum").inputs[0], "Cast").inputs == ("attention_mask",))
        shrink, name = self._shrunk(rounded.inputs[0], hidden)
        return self._weights(weights, scales, zeros, bias, shrink, 3 * hidden), name

    def _weights(
        self, weights: str, scales: str, zeros: str, bias: str, shrink: NDArray[np.float32], columns: int
    ) -> Product:
        _need(not zeros or self._is_zero(zeros, columns))
        return Product(
            self._array(weights, INT8, len(shrink), columns),
            self._array(scales, FLOAT, columns),
            self._array(bias, FLOAT, columns) if bias else np.zeros(columns, np.float32),
            shrink,
        )

    def _is_zero(self, name: str, count: int) -> bool:
        """Whether a constant is so many zeros, which look the same however they are written."""
        tensor = self._tensors.get(name)
        return tensor is not None and tensor.dims == (count,) and not any(self._data[slice(*tensor.span)])

    def _norm(self, name: str, hidden: int) -> Norm:
        node = self._maker(name, NORM)
        epsilon = node.attributes.get("epsilon", 1e-5)
        _need(len(node.inputs) == 3 and node.attributes.get("axis", -1) in (-1, 2) and type(epsilon) is float)
        return Norm(self._array(node.inputs[1], FLOAT, hidden), self._array(node.inputs[2], FLOAT, hidden), epsilon)

    def _is_embedding(self, name: str) -> bool:
        inputs = self._maker(self._maker(name, NORM).inputs[0], "Add").inputs
        return not any(self._operator(each) == PRODUCT for each in inputs)

    def _embedding(
        self, name: str, hidden: int
    ) -> tuple[NDArray[Any], NDArray[np.float32] | None, NDArray[np.float32], NDArray[np.float32] | None]:
        """Words, their scales, positions and the first type, of values that are added up."""
        parts = [name]
        while sums := [part for part in parts if self._operator(part) == "Add"]:
            parts = [part for part in parts if part not in sums]
            parts += [each for part in sums for each in self._maker(part, "Add").inputs]
            _need(len(parts) <= 3)
        words: tuple[NDArray[Any], NDArray[np.float32] | None] | None = None
        places: NDArray[np.float32] | None = None
        first: NDArray[np.float32] | None = None
        for part in parts:
            if self._operator(part) == "Mul":
                _need(words is None)
                words = self._scaled_words(part, hidden)
                continue
            table, numbers = self._looked_up(part)
            found = self._array(table, FLOAT, -1, hidden)
            if numbers == "input_ids":
                _need(words is None)
                words = found, None
            elif self._counts(numbers):
                _need(places is None)
                places = found
            else:
                _need(self._is_nothing(numbers) and len(found) > 0 and (first is None or not first.any()))
                first = found[0]
        if words is None or places is None:
            raise _OtherError
        return *words, places, first

    def _scaled_words(self, name: str, hidden: int) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Rows of bytes, and the scale that each is multiplied by."""
        wide, scale = self._maker(name, "Mul").inputs
        rows, numbers = self._looked_up(self._maker(wide, "Cast").inputs[0])
        scales, same = self._looked_up(scale)
        _need(numbers == same == "input_ids")
        found = self._array(rows, INT8, -1, hidden)
        return found, self._array(scales, FLOAT, len(found), 1).reshape(-1)

    def _looked_up(self, name: str) -> tuple[str, str]:
        """A table whose rows are looked up, and by what."""
        node = self._maker(name, "Gather")
        _need(node.attributes.get("axis", 0) == 0)
        return node.inputs[0], node.inputs[1]

    def _counts(self, name: str) -> bool:
        """Whether a value is 0, 1, 2 … up to the text's length."""
        numbers = self._beginning(name)
        return numbers is not None and len(numbers) > 1 and bool((numbers == np.arange(len(numbers))).all())

    def _is_nothing(self, name: str) -> bool:
        """Whether a value is zeros: an input that is never anything else, or a constant."""
        if name == "token_type_ids":
            return name in self._inputs
        if self._operator(name) == "Expand":
            name = self._maker(name, "Expand").inputs[0]
        numbers = self._beginning(name)
        return numbers is not None and not numbers.any()

    def _beginning(self, name: str) -> NDArray[np.int64] | None:
        """A constant (1, n) that is cut at the text's length."""
        node = self._makers.get(name)
        if node is None or node.operator != "Slice" or len(node.inputs) != 5 or node.inputs[0] not in self._tensors:
            return None
        constant, start, stop, axis, step = node.inputs
        for each, number in ((start, 0), (axis, 1), (step, 1)):
            if each not in self._tensors or self._tensors[each].numbers != (number,):
                return None
        length = self._maker(self._maker(stop, "Unsqueeze").inputs[0], "Gather").inputs
        if self._maker(length[0], "Shape").inputs != ("input_ids",) or length[1] not in self._tensors:
            return None
        dims = self._tensors[constant].dims
        if self._tensors[length[1]].numbers != (1,) or len(dims) != 2 or dims[0] != 1:
            return None
        numbers: NDArray[np.int64] = self._array(constant, INT64, 1, dims[1])[0]
        return numbers

    def _maker(self, name: str, operator: str) -> Node:
        """The node that makes a value, which must be such an operator."""
        node = self._makers.get(name)
        if node is None or node.operator != operator:
            raise _OtherError
        return node

    def _operator(self, name: str) -> str:
        node = self._makers.get(name)
        return "" if node is None else node.operator

    def _array(self, name: str, kind: int, *shape: int) -> NDArray[Any]:
        """A constant of this type and shape (-1: any size), as it lies in the file."""
        tensor = self._tensors.get(name)
        if tensor is None or tensor.kind != kind or not tensor.raw or len(tensor.dims) != len(shape):
            raise _OtherError
        _need(all(expected in (-1, size) for expected, size in zip(shape, tensor.dims, strict=True)))
        count = int(np.prod(tensor.dims))
        return np.frombuffer(self._data, _TYPES[kind], count, tensor.span[0]).reshape(tensor.dims)


def _need(met: bool) -> None:
    if not met:
        raise _OtherError
