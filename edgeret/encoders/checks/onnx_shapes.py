"""Sizes of the tensors in an ONNX graph, as far as they can be told before it runs. Knows nothing of operators.

A text may have any number of tokens, so sizes are intervals; and so are the few integers that sizes are computed from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import prod

from edgeret.encoders.checks.onnx_graph import Node, Tensor
from edgeret.records import dataclass

Span = tuple[int, int]
"""The lowest and the highest value a size can have."""
Shape = tuple[Span, ...]
ONE: Span = (1, 1)
LARGEST = (1 << 31) - 1
"""Sums and products beyond this could wrap around inside ONNX Runtime and are taken for unknown."""


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of a tensor: element type, dimensions, elements at most, for few integers their values, and whether
    it is the same for every text."""

    kind: int
    shape: Shape
    size: int
    numbers: tuple[Span, ...] | None = None
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """An operator's outputs, and its work and bytes of scratch memory beyond those for its outputs."""

    outputs: tuple[Value, ...]
    work: int = 0
    scratch: int = 0


class Call:
    """One node with what goes into it."""

    def __init__(self, node: Node, inputs: Sequence[Value | None]) -> None:
        self.node = node
        self.inputs = inputs

    def refuse(self, why: str) -> ValueError:
        """The error to raise."""
        return ValueError(f"operator {self.node.operator}: {why}")

    def input(self, position: int) -> Value:
        """An input that must be there."""
        found = self.optional(position)
        if found is None:
            raise self.refuse(f"input {position} is missing")
        return found

    def optional(self, position: int) -> Value | None:
        """An input that may be left out."""
        return self.inputs[position] if position < len(self.inputs) else None

    def parameter(self, position: int, *shapes: Shape) -> None:
        """Makes sure that an input, if it is there, has one of these shapes. ONNX Runtime trusts some blindly."""
        found = self.optional(position)
        if found is not None and found.shape not in shapes:
            raise self.refuse(f"input {position} has shape {_plain(found.shape)}, expected {_plain(shapes[-1])}")

    def number(self, name: str, default: int) -> int:
        """An integer attribute."""
        found = self.node.attributes.get(name, default)
        if type(found) is not int:
            raise self.refuse(f"attribute {name} must be an integer")
        return found

    def axis(self, name: str, rank: int, default: int) -> int:
        """An attribute that names a dimension, counted from the front."""
        return self.front(self.number(name, default), rank)

    def front(self, axis: int, rank: int) -> int:
        """A dimension, counted from the front."""
        if not -rank <= axis < rank:
            raise self.refuse(f"dimension {axis} of {rank}")
        return axis % rank

    def integers(self, name: str, position: int) -> list[int] | None:
        """Integers that are an attribute or, in newer versions, an input that is a constant; None if there are none."""
        if name in self.node.attributes:
            found = self.node.attributes[name]
            if type(found) is not list:
                raise self.refuse(f"attribute {name} must be integers")
            return found
        value = self.optional(position)
        if value is None:
            return None
        if value.numbers is None or any(low != high for low, high in value.numbers):
            raise self.refuse(f"its {name} are no constant")
        return [low for low, _ in value.numbers]


def value(kind: int, shape: Iterable[Span], size: int | None = None, numbers: tuple[Span, ...] | None = None) -> Value:
    """A value with at most `size` elements, or as many as its dimensions allow."""
    shape = tuple(shape)
    most = prod(high for _, high in shape)
    return Value(kind, shape, most if size is None else min(size, most), numbers)


def _plain(shape: Shape) -> str:
    return str([high if low == high else f"{low} to {high}" for low, high in shape])


def constant(tensor: Tensor) -> Value:
    """The value of a constant."""
    numbers = None if tensor.numbers is None else tuple((n, n) for n in tensor.numbers)
    return replace(value(tensor.kind, [(n, n) for n in tensor.dims], None, numbers), fixed=True)


def alike(call: Call, spans: Iterable[Span]) -> Span:
    """The size of dimensions that must be equal. Raises ValueError if they cannot be."""
    lows, highs = zip(*spans, strict=True)
    if max(lows) > min(highs):
        raise call.refuse(f"sizes {max(lows)} and {min(highs)} do not fit together")
    return max(lows), min(highs)


def broadcast(call: Call, shapes: Sequence[Shape]) -> Shape:
    """The shape of tensors that are stretched to one another. Raises ValueError if they do not fit."""
    rank = max(map(len, shapes), default=0)
    result = []
    for place in range(-rank, 0):
        spans = [shape[place] for shape in shapes if len(shape) >= -place]
        large = [span for span in spans if span[0] > 1]
        result.append(alike(call, large) if large else (min(s[0] for s in spans), max(s[1] for s in spans)))
    return tuple(result)


Rule = Callable[[Call], Result]
"""How an operator's outputs follow from its inputs. Raises ValueError for what is refused."""
