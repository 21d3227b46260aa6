"""Families of forgeries of arrays: their type, shape and bytes, and single numbers inside them.

As in forge_fields.py, a family makes the same forgery of the same number and says what it did.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from forge import Forgery, Raw
from forge_fields import Family, at, cell, places

Packed = dict[str, Any]
HUGE = 2**63 - 1
DTYPES = (
    "<f4",
    "<i4",
    "<i8",
    "<f8",
    ">f4",
    "f",
    "<f2",
    "|O",
    "O",
    "<M8[s]",
    "<U4",
    "|V4",
    "f4,f4",
    "(1000000,)f4",
    "",
    "x",
)
SHAPES: Sequence[tuple[str, Callable[[list[int]], Any]]] = (
    ("empty", lambda shape: []),
    ("zero", lambda shape: [0] * len(shape)),
    ("zero and huge", lambda shape: [0, HUGE]),
    ("huge and zero", lambda shape: [HUGE, 0]),
    ("huge", lambda shape: [HUGE] * len(shape)),
    ("beyond 64 bits", lambda shape: [2**64 - 1] * len(shape)),
    ("halves of 64 bits", lambda shape: [2**31, 2**33]),
    ("negative", lambda shape: [-n for n in shape]),
    ("minus one", lambda shape: [-1, *shape[1:]]),
    ("one more", lambda shape: [shape[0] + 1, *shape[1:]]),
    ("one less", lambda shape: [shape[0] - 1, *shape[1:]]),
    ("turned", lambda shape: shape[::-1]),
    ("flat", lambda shape: [math.prod(shape)]),
    ("one dimension more", lambda shape: [*shape, 1]),
    ("a thousand dimensions more", lambda shape: [*shape, *([1] * 1_000)]),
    ("33 dimensions of huge zeros", lambda shape: [0, *([HUGE] * 32)]),
    ("floats", lambda shape: [float(n) for n in shape]),
    ("booleans", lambda shape: [True for _ in shape]),
    ("strings", lambda shape: [str(n) for n in shape]),
    ("None", lambda shape: None),
    ("a number", lambda shape: math.prod(shape)),
    ("a map", lambda shape: {str(i): n for i, n in enumerate(shape)}),
    ("in a longer form", lambda shape: [Raw(b"\xd3" + n.to_bytes(8, "big")) for n in shape]),
)
CONTENT: Sequence[tuple[str, Callable[[bytes], Any]]] = (
    ("a byte short", lambda data: data[:-1]),
    ("a byte long", lambda data: data + b"\0"),
    ("empty", lambda data: b""),
    ("half", lambda data: data[: len(data) // 2]),
    ("double", lambda data: data * 2),
    ("a string", lambda data: "a" * len(data)),
    ("a list", lambda data: list(data)),
    ("None", lambda data: None),
    (
        "of another byte order",
        lambda data: np.frombuffer(data, "<u4").byteswap().tobytes() if len(data) % 4 == 0 else b"",
    ),
    ("50 MB", lambda data: bytes(50_000_000)),
)
NUMBERS = (
    *(math.nan, math.inf, -math.inf, 3e38, -3e38, 1e30, 1e20, 1e10, 1e-45, -1e-45, 1e-30, 0.5, 1.0, -1.0, 2.0, -2.0),
    *(0, -0.0, -3, -4, 5, 6, 7, 17, 127, 1000, 2**15, 2**16, 2**24, 2**31 - 1, -(2**31), 2**31 - 2),
)
RESIZED: Sequence[tuple[str, Callable[[np.ndarray], np.ndarray]]] = (
    ("no rows", lambda array: array[:0]),
    ("one row", lambda array: array[:1]),
    ("all rows but the last", lambda array: array[:-1]),
    ("the last row twice", lambda array: np.concatenate((array, array[-1:]))),
    ("all rows twice", lambda array: np.concatenate((array, array))),
    ("all rows a thousand times", lambda array: np.concatenate([array] * 1_000)),
    ("rows backwards", lambda array: array[::-1]),
    ("the first row everywhere", lambda array: np.broadcast_to(array[:1], array.shape)),
    ("no columns", lambda array: array[:, :0] if array.ndim == 2 else array[:0]),
    ("columns twice", lambda array: np.concatenate((array, array), axis=-1)),
    ("a column less", lambda array: array[..., :-1]),
    ("a million rows of no columns", lambda array: np.zeros((1_000_000, 0))),
)


def get(packed: Packed) -> np.ndarray:
    """The numbers of an array, to change."""
    return np.frombuffer(packed["data"], packed["dtype"]).reshape(packed["shape"]).copy()


def pack(array: Any, dtype: str) -> Packed:
    """An array as it is written."""
    with np.errstate(all="ignore"):
        array = np.asarray(array).astype(dtype)
    return {"dtype": dtype, "shape": list(array.shape), "data": np.ascontiguousarray(array).tobytes()}


def spoil_array(packed: Packed, number: int) -> str:
    """Changes an array in place in one way, and says which."""
    kinds = (len(DTYPES), len(SHAPES), len(CONTENT), len(RESIZED), len(NUMBERS), len(NUMBERS), len(NUMBERS))
    kind = number
    which = 0
    while kind >= kinds[which]:
        kind -= kinds[which]
        which += 1
    if which == 0:
        packed["dtype"] = DTYPES[kind]
        return f"dtype {DTYPES[kind]}"
    if which == 1:
        packed["shape"] = SHAPES[kind][1](packed["shape"])
        return f"shape {SHAPES[kind][0]}"
    if which == 2:
        packed["data"] = CONTENT[kind][1](packed["data"])
        return f"data {CONTENT[kind][0]}"
    array = get(packed)
    if which == 3:
        packed.update(pack(RESIZED[kind][1](array), packed["dtype"]))
        return RESIZED[kind][0]
    return _spoil_number(packed, array, which - 4, NUMBERS[kind])


def _spoil_number(packed: Packed, array: np.ndarray, which: int, value: float) -> str:
    """The first number, one in the middle, or all."""
    if not array.size:
        return "nothing"
    if array.dtype.kind in "iu":
        least, most = (max(-(2**31), np.iinfo(array.dtype).min), min(2**31 - 1, np.iinfo(array.dtype).max))
        value = int(np.clip(value, least, most)) if math.isfinite(value) else most
    where = (0, array.size * 5 // 8, slice(None))[which]
    with np.errstate(all="ignore"):
        array.ravel()[where] = value
    packed.update(pack(array, packed["dtype"]))
    return f"{('the first', 'one', 'every')[which]} number {value}"


WAYS = len(DTYPES) + len(SHAPES) + len(CONTENT) + len(RESIZED) + 3 * len(NUMBERS)


def spoil_arrays(tree: Any, number: int) -> str:
    """Changes one of the arrays of a tree."""
    found = [p for p in places(tree) if isinstance(value := at(tree, p), dict) and {"dtype", "data"} <= value.keys()]
    row, kind = cell(number, len(found), WAYS)
    return f"{'/'.join(map(str, found[row]))}: {spoil_array(at(tree, found[row]), kind)}"


def arrays_of(role: str) -> Family:
    """A family over the arrays of a role's map."""
    return lambda forgery, number: f"{role}/{spoil_arrays(forgery.map(role), number)}"


def arrays_of_info(*inside: str) -> Family:
    """A family over the arrays of a map of the manifest's info."""

    def family(forgery: Forgery, number: int) -> str:
        return f"{'/'.join(inside)}/{spoil_arrays(at(forgery.info, inside), number)}"

    return family


ARRAYS: dict[str, Family] = {
    **{
        f"{role}-arrays": arrays_of(role)
        for role in ("word-vectors", "index", "graph", "head", "memory", "familiarity")
    },
    "calibration-arrays": arrays_of_info("calibration"),
    "golden-arrays": arrays_of_info("golden"),
}
