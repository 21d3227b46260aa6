"""ONNX operators that move values or make them up: from the sizes of what goes in to the sizes of what comes out.

What cannot be bounded is refused. Knows nothing of arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from edgeret.encoders.checks.onnx_graph import FLOAT, INT64, MAX_NUMBERS, Tensor
from edgeret.encoders.checks.onnx_shapes import (
    LARGEST,
    ONE,
    Call,
    Result,
    Rule,
    Span,
    alike,
    broadcast,
    constant,
    value,
)


def _identity(call: Call) -> Result:
    return Result((replace(call.input(0), fixed=False),))


def _gather(call: Call) -> Result:
    data, places = call.input(0), call.input(1)
    axis = call.axis("axis", len(data.shape), 0)
    numbers = None
    if data.numbers is not None and len(data.shape) == 1 and places.numbers is not None and len(places.shape) <= 1:
        count = len(data.numbers)
        if all(low == high and -count <= low < count for low, high in places.numbers):
            numbers = tuple(data.numbers[low] for low, _ in places.numbers)
    return Result((value(data.kind, (*data.shape[:axis], *places.shape, *data.shape[axis + 1 :]), None, numbers),))


def _gather_elements(call: Call) -> Result:
    return Result((value(call.input(0).kind, call.input(1).shape, call.input(1).size),))


def _shape(call: Call) -> Result:
    first = call.input(0)
    spans = first.shape[call.number("start", 0) : call.number("end", len(first.shape))]
    return Result((value(INT64, [(len(spans), len(spans))], None, spans),))


def _constant(call: Call) -> Result:
    (name, found), *others = call.node.attributes.items() or [("", None)]
    if others or name not in ("value", "value_int", "value_ints", "value_float"):
        raise call.refuse("must hold one tensor or number")
    if type(found) is Tensor:
        return Result((constant(found),))
    if name == "value_float":
        return Result((value(FLOAT, ()),))
    numbers = [call.number(name, 0)] if name == "value_int" else call.integers(name, 0)
    if numbers is None or len(numbers) > MAX_NUMBERS:
        raise call.refuse(f"must hold {MAX_NUMBERS} integers at most")
    dims = () if name == "value_int" else (len(numbers),)
    return Result((constant(Tensor(INT64, dims, tuple(numbers))),))


def _target(call: Call, position: int) -> tuple[Span, ...]:
    """An input that says how large something shall be."""
    found = call.input(position)
    if found.numbers is None or len(found.shape) != 1:
        raise call.refuse("its size cannot be bounded")
    return tuple((max(0, low), max(0, high)) for low, high in found.numbers)


def _constant_of_shape(call: Call) -> Result:
    tensor = call.node.attributes.get("value")
    shape = _target(call, 0)
    kind, fill = (tensor.kind, tensor.numbers) if type(tensor) is Tensor else (FLOAT, None)
    count = prod(high for _, high in shape)
    exact = fill is not None and len(fill) == 1 and count <= MAX_NUMBERS and all(low == high for low, high in shape)
    return Result((value(kind, shape, None, ((fill[0], fill[0]),) * count if exact and fill else None),))


def _expand(call: Call) -> Result:
    first = call.input(0)
    return Result((value(first.kind, broadcast(call, (first.shape, _target(call, 1)))),))


def _range(call: Call) -> Result:
    ends = [call.input(i).numbers for i in range(3)]
    if any(numbers is None or len(numbers) != 1 for numbers in ends):
        raise call.refuse("its size cannot be bounded")
    start, stop, step = (numbers[0] for numbers in ends if numbers)
    if step[0] < 1:
        raise call.refuse("its size cannot be bounded")
    low, high = -((start[1] - stop[0]) // step[1]), -((start[0] - stop[1]) // step[0])
    return Result((value(call.input(0).kind, [(max(0, low), max(0, high))]),))


def _reshape(call: Call) -> Result:
    first, target = call.input(0), call.input(1)
    if len(target.shape) != 1 or target.shape[0][0] != target.shape[0][1]:
        raise call.refuse("the number of its dimensions is not known")
    spans: list[Span] = []
    copies = not call.number("allowzero", 0)
    for i, (low, high) in enumerate(target.numbers or [(-1, LARGEST)] * target.shape[0][0]):
        old = first.shape[i] if copies and low <= 0 <= high and i < len(first.shape) else None
        if low == high == 0 and old:
            spans.append(old)
        elif low < 0 and (low, high) != (-1, -1):
            spans.append((0, first.size))
        else:
            spans.append((low, max(high, old[1]) if old else high))
    if (-1, -1) in spans:
        rest = [span for span in spans if span != (-1, -1)]
        least = prod(low for low, _ in first.shape) // max(1, prod(high for _, high in rest))
        most = first.size // max(1, prod(max(1, low) for low, _ in rest))
        spans = [span if span != (-1, -1) else (min(least, most), most) for span in spans]
    return Result((value(first.kind, spans, first.size, first.numbers),))


def _transpose(call: Call) -> Result:
    first = call.input(0)
    rank = len(first.shape)
    order = call.node.attributes.get("perm", list(range(rank))[::-1])
    if type(order) is not list or sorted(order) != list(range(rank)):
        raise call.refuse(f"attribute perm must order {rank} dimensions")
    return Result((value(first.kind, [first.shape[i] for i in order], first.size),))


def _squeeze(call: Call) -> Result:
    first = call.input(0)
    axes = call.integers("axes", 1)
    if not axes:
        raise call.refuse("its axes are missing")
    gone = {call.front(axis, len(first.shape)) for axis in axes}
    shape = [span for i, span in enumerate(first.shape) if i not in gone]
    return Result((value(first.kind, shape, first.size, first.numbers),))


def _unsqueeze(call: Call) -> Result:
    first = call.input(0)
    axes = call.integers("axes", 1) or []
    rank = len(first.shape) + len(axes)
    added = {call.front(axis, rank) for axis in axes}
    if len(added) != len(axes):
        raise call.refuse("adds a dimension twice")
    rest = iter(first.shape)
    return Result(
        (value(first.kind, [ONE if i in added else next(rest) for i in range(rank)], first.size, first.numbers),)
    )


def _flatten(call: Call) -> Result:
    first = call.input(0)
    axis = call.number("axis", 1)
    if not 0 <= axis <= len(first.shape):
        raise call.refuse(f"dimension {axis} of {len(first.shape)}")
    halves = (first.shape[:axis], first.shape[axis:])
    shape = [(prod(low for low, _ in half), prod(high for _, high in half)) for half in halves]
    return Result((value(first.kind, shape, first.size),))


def _concat(call: Call) -> Result:
    values = [call.input(i) for i in range(len(call.inputs))]
    rank = len(call.input(0).shape)
    if any(len(v.shape) != rank for v in values):
        raise call.refuse("joins tensors of different ranks")
    axis = call.axis("axis", rank, 0)
    joined = sum(v.shape[axis][0] for v in values), sum(v.shape[axis][1] for v in values)
    shape = [joined if i == axis else alike(call, (v.shape[i] for v in values)) for i in range(rank)]
    known = rank == 1 and all(v.numbers is not None for v in values) and joined[1] <= MAX_NUMBERS
    numbers = tuple(span for v in values for span in v.numbers or ()) if known else None
    return Result((value(values[0].kind, shape, sum(v.size for v in values), numbers),))


def _split(call: Call) -> Result:
    first = call.input(0)
    axis = call.axis("axis", len(first.shape), 0)
    sizes = call.integers("split", 1) or [-1] * len(call.node.outputs)
    if len(sizes) != len(call.node.outputs):
        raise call.refuse(f"has {len(call.node.outputs)} outputs and sizes for {len(sizes)}")
    low, high = first.shape[axis]
    count = len(sizes)
    even = low // count if low == high and low % count == 0 else 0
    parts = [(n, n) if n >= 0 else (even, -(-high // count)) for n in sizes]
    shapes = [(*first.shape[:axis], part, *first.shape[axis + 1 :]) for part in parts]
    return Result(tuple(value(first.kind, shape, first.size) for shape in shapes))


def _slice(call: Call) -> Result:
    first = call.input(0)
    rank = len(first.shape)
    starts, ends, steps = (v.numbers if v is not None else None for v in map(call.optional, (1, 2, 4)))
    axes = call.integers("axes", 3)
    count = len(starts or ())
    if starts is None or ends is None or len(ends) != count or (call.optional(4) is not None and steps is None):
        return Result((value(first.kind, [(0, high) for _, high in first.shape], first.size),))
    places = [call.front(axis, rank) for axis in (range(count) if axes is None else axes)]
    shape, numbers = list(first.shape), first.numbers if rank == 1 else None
    if len(set(places)) != len(places) or len(places) != count or len(steps or starts) != count:
        raise call.refuse("needs a start, an end and a step for each dimension it cuts")
    for place, start, end, step in zip(places, starts, ends, steps or (ONE,) * count, strict=True):
        turned = start == step == (-1, -1) and end[1] < -LARGEST
        shape[place] = (
            shape[place] if turned else _cut(shape[place], start, end) if step == ONE else (0, shape[place][1])
        )
        known = all(low == high for low, high in (start, end, step)) and step[0] != 0
        numbers = numbers[start[0] : end[0] : step[0]] if numbers is not None and known and step[0] > 0 else None
    return Result((value(first.kind, shape, first.size, numbers),))


def _cut(size: Span, start: Span, end: Span) -> Span:
    """The length of what lies between two places; a place below zero counts from the back."""
    low, high = size
    if start[0] != start[1] or end[0] < 0 <= end[1]:
        return 0, high
    if start[0] < 0:
        return 0, min(high, -start[0])
    if end[0] < 0:
        return max(0, low + end[0] - start[0]), max(0, high + end[1] - start[0])
    return max(0, min(low, end[0]) - start[0]), max(0, min(high, end[1]) - start[0])


LAYOUT_RULES: Mapping[str, Rule] = {
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "Identity": _identity,
    "Range": _range,
    "Reshape": _reshape,
    "Shape": _shape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
