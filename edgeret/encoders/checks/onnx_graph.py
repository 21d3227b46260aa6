"""The graph of an ONNX file, read from its protobuf bytes without onnx. Knows nothing of what operators do.

Only what an encoder needs is let through: whatever ONNX Runtime could read in another way than this file does (unknown
fields, fields twice, weights that do not fill their shape) is refused. So are names that a terminal would obey, since
ONNX Runtime writes names into its log, and weights that are not finite. Weights are looked at, not copied.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from edgeret.encoders.checks.finite import all_finite, floats_in, halves_in, is_least
from edgeret.quoting import UNSEEN
from edgeret.records import dataclass

FLOAT, UINT8, INT8, UINT16, INT32, INT64, BOOL, FLOAT16, DOUBLE = 1, 2, 3, 4, 6, 7, 9, 10, 11
ITEM_BYTES: Mapping[int, int] = {
    **{FLOAT: 4, UINT8: 1, INT8: 1, UINT16: 2, INT32: 4},
    **{INT64: 8, BOOL: 1, FLOAT16: 2, DOUBLE: 8},
}
"""Element types that a tensor may have, by ONNX's numbers."""
MAX_NODES = 8192
MAX_NUMBERS = 64
"""Elements at most of an integer tensor that may be somebody's shape; longer ones are not looked into."""
MAX_RANK = 8

VARINT, BYTES, FIXED32 = 0, 2, 5
TEXT, LINES = "", "\n\r\t"
"""What bytes of a text may hold that is not seen: nothing, or in what people wrote for people line ends and tabs."""
Data = bytes | mmap.mmap
"""A file's bytes, wherever they are."""
Schema = Mapping[int, tuple[int, bool, str | tuple[str] | None]]
"""Field number to wire type, whether the field may be repeated, and what its bytes are: TEXT, LINES, a message of
INNER, by its name, that is only searched for such, or None: whoever needs it reads it."""
UNKNOWN = (-1, False, None)
ONE_NUMBER, ONE_FLOAT, ONE, MANY = (
    (VARINT, False, None),
    (FIXED32, False, None),
    (BYTES, False, None),
    (BYTES, True, None),
)
NUMBERS, FLOATS = (VARINT, True, None), (FIXED32, True, None)
NAME, NAMES, NOTE = (BYTES, False, TEXT), (BYTES, True, TEXT), (BYTES, False, LINES)
ENTRY: Schema = {1: NAME, 2: NOTE}
ENTRIES = (BYTES, True, ("note",))
DIMENSION: Schema = {1: ONE_NUMBER, 2: NAME, 3: NAME}
SHAPE: Schema = {1: (BYTES, True, ("dimension",))}
TENSOR_TYPE: Schema = {1: ONE_NUMBER, 2: (BYTES, False, ("shape",))}
TYPE: Schema = {1: (BYTES, False, ("tensor's type",)), 6: NAME}
VALUE: Schema = {1: NAME, 2: (BYTES, False, ("type",)), 3: NOTE, 4: ENTRIES}
ANNOTATION: Schema = {1: NAME, 2: ENTRIES}
INNER: Mapping[str, Schema] = {
    **{"note": ENTRY, "dimension": DIMENSION, "shape": SHAPE, "tensor's type": TENSOR_TYPE, "type": TYPE},
    **{"value": VALUE, "annotation": ANNOTATION},
}
SMALL = 256
"""Bytes of a message up to which it is remembered that nothing was found: a graph gives one type to many values."""
OPSET: Schema = {1: NAME, 2: ONE_NUMBER}
MODEL: Schema = {
    **{1: ONE_NUMBER, 2: NAME, 3: NAME, 4: NAME, 5: ONE_NUMBER, 6: NOTE, 7: ONE, 8: MANY, 14: ENTRIES},
}
GRAPH: Schema = {
    **{1: MANY, 2: NAME, 5: MANY, 10: NOTE, 11: MANY, 12: MANY},
    **{13: (BYTES, True, ("value",)), 14: (BYTES, True, ("annotation",)), 16: ENTRIES},
}
NODE: Schema = {1: NAMES, 2: NAMES, 3: NAME, 4: NAME, 5: MANY, 6: NOTE, 7: NAME, 9: ENTRIES}
ATTRIBUTE: Schema = {
    **{1: NAME, 2: ONE_FLOAT, 3: ONE_NUMBER, 4: NAME, 5: ONE, 7: FLOATS, 8: NUMBERS, 9: NAMES, 13: NOTE},
    **{20: ONE_NUMBER},
}
TENSOR: Schema = {
    **{1: NUMBERS, 2: ONE_NUMBER, 4: ONE, 5: ONE, 7: ONE, 8: NAME, 9: ONE, 10: ONE, 12: NOTE},
    **{14: ONE_NUMBER, 16: ENTRIES},
}
ATTRIBUTE_FIELDS: Mapping[int, int] = {1: 2, 2: 3, 3: 4, 4: 5, 6: 7, 7: 8, 8: 9}
"""Attribute type to the field that holds its value."""
REFUSED: Mapping[str, Mapping[int, str]] = {
    "model": {20: "training information", 25: "functions"},
    "graph": {15: "sparse initializers"},
    "attribute": {6: "a graph", 11: "graphs", 21: "a reference", 22: "a sparse tensor", 23: "sparse tensors"},
    "tensor": {3: "a segment", 6: "texts", 13: "external data"},
}
TYPED_FIELDS: Mapping[int, int] = {
    **{FLOAT: 4, INT64: 7, DOUBLE: 10},
    **dict.fromkeys((UINT8, INT8, UINT16, INT32, BOOL, FLOAT16), 5),
}
"""Element type to the field that holds elements one by one, where they are not raw bytes."""
FLOAT_BITS: Mapping[int, str] = {FLOAT: "<u4", FLOAT16: "<u2", DOUBLE: "<u8"}
"""Element types that may be not finite, and the whole numbers that hold their bits."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A constant: element type, dimensions and, for few integers, their values in row-major order. `span` is where its
    elements are in the file, `raw` whether they lie there as they do in memory. `nothing`: it is minus infinity alone,
    which stands for what a mask leaves out."""

    kind: int
    dims: tuple[int, ...]
    numbers: tuple[int, ...] | None
    span: tuple[int, int] = (0, 0)
    raw: bool = False
    nothing: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """One operator. Names are "" where an optional input or output is left out; attributes are int, float, a list of
    int, a Tensor, or None for what only the operator itself reads."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in order, constants by name, names of inputs and outputs, and the version of ONNX's own operators."""

    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opset: int


def read_graph(data: Data) -> Graph:
    """The graph of the model in `data`. Raises ValueError saying what is there that an encoder does not need."""
    if data[4:8] == b"ORTM":
        raise ValueError("an ORT flatbuffer, expected an ONNX model")
    model = _read(data, (0, len(data)), MODEL, "model")
    if 7 not in model or 8 not in model:
        raise ValueError("no ONNX model, it lacks a graph or the versions of its operators")
    versions: dict[str, int] = {}
    for span in model[8]:
        opset = _read(data, span, OPSET, "version")
        domain = _domain(opset, 1)
        if domain in versions:
            raise ValueError(f"gives two versions of the operators of {domain!r:.40}")
        versions[domain] = opset.get(2, [0])[0]
    graph = _read(data, model[7][0], GRAPH, "graph")
    if len(graph.get(1, ())) > MAX_NODES:
        raise ValueError(f"expected {MAX_NODES} nodes at most, found {len(graph[1])}")
    tensors: dict[str, Tensor] = {}
    for span in graph.get(5, ()):
        name, tensor = _tensor(data, span)
        if name in tensors or not name:
            raise ValueError(f"constant {name!r:.40} is there twice")
        tensors[name] = tensor
    inputs, outputs = (
        tuple(_text(_read(data, span, VALUE, "value"), 1) for span in graph.get(field, ())) for field in (11, 12)
    )
    nodes = tuple(_node(data, span) for span in graph.get(1, ()))
    _check_masks(nodes, tensors)
    return Graph(nodes, tensors, inputs, outputs, versions.get("", 0))


def _check_masks(nodes: Sequence[Node], tensors: Mapping[str, Tensor]) -> None:
    """Lets minus infinity through where it is chosen by a condition, and nowhere else."""
    masks = {name for name, tensor in tensors.items() if tensor.nothing}
    masks |= {node.outputs[0] for node in nodes if node.outputs and _is_nothing(node.attributes.get("value"))}
    for node in nodes if masks else ():
        for name in node.inputs[: 1 if node.operator == "Where" else None]:
            if name in masks:
                raise ValueError(f"constant {name!r:.40} holds numbers that are not finite")


def _is_nothing(value: object) -> bool:
    return isinstance(value, Tensor) and value.nothing


def _node(data: Data, span: tuple[int, int]) -> Node:
    fields = _read(data, span, NODE, "node")
    domain, operator = _domain(fields, 7), _text(fields, 4)
    attributes: dict[str, Any] = {}
    for attribute in fields.get(5, ()):
        name, value = _attribute(data, attribute, operator)
        if name in attributes:
            raise ValueError(f"{operator!r:.40} has attribute {name!r:.40} twice")
        attributes[name] = value
    inputs, outputs = tuple(fields.get(1, ())), tuple(fields.get(2, ()))
    return Node(f"{domain}.{operator}" if domain else operator, inputs, outputs, attributes)


def _attribute(data: Data, span: tuple[int, int], operator: str) -> tuple[str, Any]:
    fields = _read(data, span, ATTRIBUTE, "attribute", operator)
    name, kind = _text(fields, 1), fields.get(20, [0])[0]
    if kind not in ATTRIBUTE_FIELDS or not fields.keys() <= {1, 13, 20, ATTRIBUTE_FIELDS[kind]}:
        raise ValueError(f"{operator!r:.40}: attribute {name!r:.40} does not hold what its type {kind} says")
    for floats in (*fields.get(2, ()), *fields.get(7, ())):
        if not all_finite(floats_in(data, floats, "<u4")):
            raise ValueError(f"{operator!r:.40}: attribute {name!r:.40} holds numbers that are not finite")
    if kind == 1 and 2 in fields:
        return name, float(np.frombuffer(data[slice(*fields[2][0])], "<f4")[0])
    if kind == 2:
        return name, _signed(fields.get(3, [0])[0])
    if kind == 7:
        return name, [_signed(value) for value in fields.get(8, ())]
    if kind == 4:
        if 5 not in fields:
            raise ValueError(f"{operator!r:.40}: attribute {name!r:.40} lacks its tensor")
        return name, _tensor(data, fields[5][0])[1]
    return name, None


def _tensor(data: Data, span: tuple[int, int]) -> tuple[str, Tensor]:
    fields = _read(data, span, TENSOR, "tensor")
    name, kind, dims = _text(fields, 8), fields.get(2, [0])[0], tuple(fields.get(1, ()))
    if kind not in ITEM_BYTES:
        raise ValueError(f"constant {name!r:.40} has element type {kind}, expected one of {sorted(ITEM_BYTES)}")
    if fields.get(14, [0]) != [0]:
        raise ValueError(f"constant {name!r:.40} holds external data")
    held = [field for field in (4, 5, 7, 9, 10) if field in fields]
    count = prod(dims)
    if len(dims) > MAX_RANK or any(size > len(data) for size in dims) or len(held) > 1:
        raise ValueError(f"constant {name!r:.40} has impossible dimensions {list(dims)!r:.40}")
    start, stop = fields[held[0]][0] if held else (0, 0)
    raw = held == [9]
    if raw or not held:
        found = (stop - start) / ITEM_BYTES[kind]
    elif held == [TYPED_FIELDS[kind]]:
        found = _count(data, start, stop, held[0])
    else:
        found = -1
    if found != count:
        raise ValueError(f"constant {name!r:.40} must hold {count} elements for its dimensions {list(dims)!r:.40}")
    numbers: tuple[int, ...] | None = None
    if kind in (INT32, INT64) and count <= MAX_NUMBERS:
        if raw:
            numbers = tuple(np.frombuffer(data[start:stop], f"<i{ITEM_BYTES[kind]}").tolist())
        else:
            numbers = tuple(_signed(value) for value in _varints(data, start, stop))
    nothing = False
    if kind in FLOAT_BITS:
        long_form = kind == FLOAT16 and not raw
        bits = halves_in(data, (start, stop)) if long_form else floats_in(data, (start, stop), FLOAT_BITS[kind])
        nothing = is_least(bits)
        if not nothing and not all_finite(bits):
            raise ValueError(f"constant {name!r:.40} holds numbers that are not finite")
    return name, Tensor(kind, dims, numbers, (start, stop), raw, nothing)


def _count(data: Data, start: int, stop: int, field: int) -> float:
    """Elements in a packed field: of fixed width, or numbers whose last byte alone is below 128."""
    if field in (4, 10):
        return (stop - start) / (4 if field == 4 else 8)
    octets = np.frombuffer(data, np.uint8, stop - start, start)
    return int((octets < 128).sum()) if octets[-1:].max(initial=0) < 128 else -1


def _domain(fields: Mapping[int, list[Any]], field: int) -> str:
    domain = _text(fields, field)
    return "" if domain == "ai.onnx" else domain


def _text(fields: Mapping[int, list[Any]], field: int) -> str:
    """A name, empty if it is not there."""
    text: str = fields.get(field, [""])[0]
    return text


def _decoded(data: bytes, allowed: str, where: str) -> str:
    """A text that ONNX Runtime may print. Raises ValueError if it is not UTF-8, or holds what is not seen."""
    text = data.decode()
    # The quick answer first: it is no for what is harmless and rare, too.
    if not text.isprintable() and (found := next((c for c in UNSEEN.findall(text) if c not in allowed), None)):
        raise ValueError(f"{where} holds {text!r:.60}, with {ascii(found)[1:-1]}, which nobody sees or terminals obey")
    return text


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _read(data: Data, span: tuple[int, int], schema: Schema, name: str, of: str = "") -> dict[int, list[Any]]:
    """A message's fields by number: integers as they are, texts decoded, everything else as the span of its bytes."""
    found: dict[int, list[Any]] = {}
    at, stop = span
    while at < stop:
        key, at = _varint(data, at, stop)
        number, wire, start = key >> 3, key & 7, at
        expected, repeated, inside = schema.get(number, UNKNOWN)
        packed = wire == BYTES and repeated and expected in (VARINT, FIXED32)
        if wire != expected and not packed:
            what = REFUSED.get(name, {}).get(number, f"field {number} of wire type {wire}, which is unknown")
            raise ValueError(f"{f'{of!r:.40}: ' if of else ''}a {name} holds {what}")
        if number in found and not repeated:
            raise ValueError(f"a {name} holds field {number} twice")
        if wire == BYTES:
            size, start = _varint(data, at, stop)
            at = start + size
        elif wire == FIXED32:
            at += 4
        if at > stop:
            raise ValueError("cut short")
        values = found.setdefault(number, [])
        if wire == VARINT:
            value, at = _varint(data, at, stop)
            values.append(value)
        elif packed and expected == VARINT:
            values += _varints(data, start, at)
        elif isinstance(inside, str):
            values.append(_decoded(data[start:at], inside, f"a {name}"))
        else:
            if inside is not None:
                (_search_small if at - start <= SMALL else _search)(data[start:at], inside)
            values.append((start, at))
    return found


def _search(message: bytes, of: tuple[str]) -> None:
    """Raises ValueError for texts in a message that nobody reads but ONNX Runtime."""
    _read(message, (0, len(message)), INNER[of[0]], of[0])


_search_small = lru_cache(maxsize=1024)(_search)


def _varints(data: Data, at: int, stop: int) -> list[int]:
    values = []
    while at < stop:
        value, at = _varint(data, at, stop)
        values.append(value)
    return values


def _varint(data: Data, at: int, stop: int) -> tuple[int, int]:
    """An integer of seven bits a byte, and where it ends."""
    if at < stop and data[at] < 128:
        return data[at], at + 1
    value = shift = 0
    while at < stop and shift < 70:
        octet = data[at]
        at += 1
        value |= (octet & 127) << shift
        if octet < 128:
            return value & ((1 << 64) - 1), at
        shift += 7
    raise ValueError("cut short")
