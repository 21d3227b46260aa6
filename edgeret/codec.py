"""msgpack maps and raw arrays: the encoding of every file of ours in a bundle. Knows nothing of what they mean.

Decoding trusts nothing: types are checked, an array's size must match its shape, and no object is ever built from a
name found in the data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from edgeret.errors import BundleError

DTYPES = ("<f4", "<i4", "<i8")
"""The array types of the format: little-endian float32, int32, int64."""


def pack(value: Mapping[str, Any]) -> bytes:
    """The map as msgpack, the same bytes for the same content (keys in the order given, floats as float64)."""
    return bytes(msgpack.packb(value, use_bin_type=True, default=_pack_array))


def unpack(data: bytes, where: str) -> dict[str, Any]:
    """The map that `data` holds. Raises BundleError if it is anything else."""
    try:
        value = msgpack.unpackb(data, raw=False, strict_map_key=True)
    except (ValueError, msgpack.exceptions.UnpackException, RecursionError) as error:
        raise BundleError(f"{where}: not a msgpack map ({error}); build the bundle again") from None
    if not isinstance(value, dict):
        raise BundleError(f"{where}: expected a msgpack map, found {type(value).__name__}; build the bundle again")
    return value


def get(value: Mapping[str, Any], key: str, kind: type[Any] | tuple[type[Any], ...], where: str) -> Any:
    """`value[key]`, which must be of `kind`. Raises BundleError otherwise."""
    found = value.get(key)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(found, kinds) or (isinstance(found, bool) and bool not in kinds):
        expected = " or ".join(k.__name__ for k in kinds)
        raise BundleError(f'{where}: "{key}" must be {expected}, found {type(found).__name__}; build the bundle again')
    if isinstance(found, float) and not math.isfinite(found):
        raise BundleError(f'{where}: "{key}" is not finite; build the bundle again')
    return found


def get_strings(value: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """`value[key]` as a tuple of strings. Raises BundleError."""
    found = get(value, key, list, where)
    if not all(isinstance(item, str) for item in found):
        raise BundleError(f'{where}: "{key}" must hold strings only; build the bundle again')
    return tuple(found)


def get_array(
    value: Mapping[str, Any], key: str, dtype: str, shape: tuple[int | None, ...], where: str
) -> NDArray[Any]:
    """`value[key]` as a read-only array of `dtype` (one of DTYPES); None in `shape` lets a dimension be any size.

    Raises BundleError when type, shape or byte count disagree, or when a float is not finite.
    """
    packed = get(value, key, dict, where)
    found_dtype, found_shape, data = packed.get("dtype"), packed.get("shape"), packed.get("data")
    sizes_ok = isinstance(found_shape, list) and all(type(n) is int and n >= 0 for n in found_shape)
    if found_dtype != dtype or not sizes_ok or not isinstance(data, bytes):
        raise BundleError(
            f'{where}: "{key}" must be an array of {dtype}, found {found_dtype!r}; build the bundle again'
        )
    fits = len(found_shape) == len(shape) and all(
        want is None or want == have for want, have in zip(shape, found_shape, strict=True)
    )
    size = np.dtype(dtype).itemsize
    for n in found_shape:
        size *= n
    if not fits or size != len(data):
        raise BundleError(
            f'{where}: "{key}" must have shape {shape}, found {found_shape} in {len(data)} bytes; '
            "build the bundle again"
        )
    array: NDArray[Any] = np.frombuffer(data, dtype=dtype).reshape(found_shape)
    if dtype == "<f4" and not np.isfinite(array).all():
        raise BundleError(f'{where}: "{key}" holds numbers that are not finite; build the bundle again')
    return array


def _pack_array(value: object) -> dict[str, Any]:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"cannot pack {type(value).__name__}")
    dtype = value.dtype.newbyteorder("<").str
    if dtype not in DTYPES:
        raise TypeError(f"arrays in a bundle are of {DTYPES}, not {dtype}")
    return {"dtype": dtype, "shape": list(value.shape), "data": np.ascontiguousarray(value, dtype=dtype).tobytes()}
