"""Writes small ONNX models without the package onnx, which a device has no other use for. Checks nothing.

Numbers of fields are those of onnx.proto; a message is its fields, one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT, INT8 = 1, 3
"""ONNX's numbers for the element types."""
_TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.int8): INT8}
_ATTRIBUTE_INT = 2


def tensor(name: str, values: NDArray[Any]) -> bytes:
    """A TensorProto: constant weights, float32 or int8."""
    dimensions = b"".join(_field(1, size) for size in values.shape)
    data = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()
    return dimensions + _field(2, _TYPES[values.dtype]) + _field(8, name) + _field(9, data)


def node(
    kind: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    domain: str = "",
    attributes: Mapping[str, int] | None = None,
) -> bytes:
    """A NodeProto; its attributes are whole numbers."""
    fields = [_field(1, name) for name in inputs] + [_field(2, name) for name in outputs] + [_field(4, kind)]
    for name, value in (attributes or {}).items():
        fields.append(_field(5, _field(1, name) + _field(3, value) + _field(20, _ATTRIBUTE_INT)))
    return b"".join([*fields, _field(7, domain)])


def float_value(name: str, shape: Sequence[int]) -> bytes:
    """A ValueInfoProto: an input or output of float32 with this shape."""
    dimensions = b"".join(_field(1, _field(1, size)) for size in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, FLOAT) + _field(2, dimensions)))


def model(
    name: str,
    nodes: Sequence[bytes],
    weights: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    operators: Mapping[str, int],
    ir_version: int,
) -> bytes:
    """A whole model file. `operators` gives the version of every operator set, by its domain."""
    parts = ((1, nodes), (2, (name,)), (5, weights), (11, inputs), (12, outputs))
    graph = b"".join(_field(number, value) for number, values in parts for value in values)
    sets = [_field(8, _field(1, domain) + _field(2, version)) for domain, version in operators.items()]
    return b"".join([_field(1, ir_version), _field(7, graph), *sets])


def _field(number: int, value: int | str | bytes) -> bytes:
    """One field of a message in protobuf's encoding: a number as it is, anything else with its length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """A number from 0, seven bits a byte, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
