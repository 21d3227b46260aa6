"""msgpack maps, raw arrays and JSON: the encoding of every file of ours. Knows nothing of what they mean.

Decoding trusts nothing: types are checked, an array's size must match its shape, and no object is ever built from a
name found in the data.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from edgeret.errors import BundleError
from edgeret.fields import get, short
from edgeret.quoting import said

DTYPES = ("<f4", "<f2", "<i4", "<i8", "|i1", "|u1")
"""The array types of the format: little-endian float32, float16, int32, int64, int8, and bytes without a sign."""
MAX_CONTAINERS, MAX_ITEMS = 100_000, 2_000_000
"""Maps and arrays that one file of ours may hold, and entries of all its arrays together. Empty maps are a byte each in
a file and 64 in memory: without a bound, 100 MB of them took 7 GB."""
ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector register of today's processors."""
WORTH_LEAVING = 1 << 16
"""Bytes of an array from which on decoding leaves them where they are in the file, and copies nothing."""
_DATA_KEY = b"\xa4data\xc6"
"""The key of an array's bytes, and the first byte of msgpack's header of more than 65,535; the length follows."""
_HERE, _EXTENSION = 0, b"\xd6\x00"
"""Our extension type, and msgpack's header of four bytes of it; only this module's own memory ever holds it."""
LARGEST = 1e9
"""Magnitude that no number of a bundle's arrays exceeds; sums and products of such numbers stay finite in float32."""


def pack(value: Mapping[str, Any]) -> bytes:
    """The map as msgpack, the same bytes for the same content (keys in the order given, floats as float64).

    Array data begin at multiples of ALIGNMENT from the map's beginning, so that a reader may map them.
    """
    packer = msgpack.Packer(use_bin_type=True, autoreset=False)
    _pack(packer, value)
    return bytes(packer.bytes())


def _pack(packer: Any, value: object) -> None:
    if isinstance(value, np.ndarray):
        _pack_array(packer, value)
    elif isinstance(value, Mapping):
        packer.pack_map_header(len(value))
        for key, inner in value.items():
            packer.pack(key)
            _pack(packer, inner)
    elif isinstance(value, list | tuple):
        packer.pack_array_header(len(value))
        for inner in value:
            _pack(packer, inner)
    else:
        packer.pack(value)


def _pack_array(packer: Any, array: NDArray[Any]) -> None:
    dtype = array.dtype.newbyteorder("<").str
    if dtype not in DTYPES:
        raise TypeError(f"arrays are of {DTYPES}, not {dtype}")
    data = np.ascontiguousarray(array, dtype=dtype).tobytes()
    packer.pack_map_header(4)
    for key, inner in (("dtype", dtype), ("shape", list(array.shape))):
        packer.pack(key)
        packer.pack(inner)
    packer.pack("padding")
    # Behind the padding come its own header of two bytes, the key "data" and the header of the data's length.
    ahead = len(packer.getbuffer()) + 2 + len(msgpack.packb("data")) + _header_size(len(data))
    packer.pack(bytes(-ahead % ALIGNMENT))
    packer.pack("data")
    packer.pack(data)


def _header_size(size: int) -> int:
    """Bytes of msgpack's header of so many bytes."""
    return 2 if size < 1 << 8 else 3 if size < 1 << 16 else 5


class Census:
    """Counts what is decoded while it is decoded, and refuses too much of it."""

    def __init__(self, max_containers: int = MAX_CONTAINERS, max_items: int = MAX_ITEMS) -> None:
        self.containers = self.items = 0
        self.max_containers, self.max_items = max_containers, max_items

    def map(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """A map's pairs as a dictionary, if no key comes twice."""
        self._count(len(pairs))
        value = dict(pairs)
        if len(value) != len(pairs):
            raise ValueError("a map with a key twice")
        return value

    def array(self, items: list[Any]) -> list[Any]:
        """An array, as it is."""
        self._count(len(items))
        return items

    def _count(self, items: int) -> None:
        self.containers += 1
        self.items += items
        if self.containers > self.max_containers or self.items > self.max_items:
            raise ValueError(f"more than {self.max_containers} maps and arrays, or {self.max_items} entries of them")


def unpack(data: bytes, where: str) -> dict[str, Any]:
    """The map that `data` holds. Raises BundleError if it is anything else, holds a key twice, or is made to exhaust
    memory."""
    try:
        return decode(data, Census())
    except ValueError as error:
        raise BundleError(f"{where}: not a msgpack map ({said(error)}); build the bundle again") from None


def decode(data: bytes, census: Census) -> dict[str, Any]:
    """The map that `data` holds, counted by a census that may have counted other maps before. The bytes of large arrays
    are views of `data`.

    Raises ValueError if it is anything else, holds a key twice, or if the census counts too much.
    """
    skeleton, large = _without_large(data)
    try:
        value = msgpack.unpackb(
            skeleton,
            raw=False,
            strict_map_key=True,
            object_pairs_hook=census.map,
            list_hook=census.array,
            ext_hook=large.next,
            max_array_len=min(len(data), MAX_ITEMS),
            max_map_len=min(len(data), MAX_CONTAINERS),
        )
    except (msgpack.exceptions.UnpackException, RecursionError) as error:
        raise ValueError(said(error)) from None
    large.check_all_taken()
    if not isinstance(value, dict):
        raise ValueError(f"expected a map, found {type(value).__name__}")
    return value


class _Large:
    """Stretches of a file that stay where they are, handed out in the order in which they stand."""

    def __init__(self) -> None:
        self.stretches: list[memoryview] = []
        self._taken = 0

    def next(self, code: int, place: bytes) -> memoryview:
        """What msgpack calls for an extension; for one that is none of ours it raises ValueError."""
        if code != _HERE or place != struct.pack(">I", self._taken) or self._taken == len(self.stretches):
            raise ValueError("an extension type, which no file of ours has")
        self._taken += 1
        return self.stretches[self._taken - 1]

    def check_all_taken(self) -> None:
        """Raises ValueError unless every stretch was."""
        if self._taken != len(self.stretches):
            raise ValueError("an array's bytes inside other bytes")


def _without_large(data: bytes) -> tuple[bytes, _Large]:
    """The file with an extension type in place of the bytes of each large array, and those bytes.

    msgpack copies what it decodes, and among very many tools that is most of a file. An array's bytes stand behind a
    key and a header that no text can hold, since a text is UTF-8; where small bytes hold them, the file is refused.
    """
    large, pieces, rest = _Large(), [], 0
    while (at := data.find(_DATA_KEY, rest)) >= 0:
        begin = at + len(_DATA_KEY) + 4
        size = int.from_bytes(data[begin - 4 : begin], "big")
        if size < WORTH_LEAVING or begin + size > len(data):
            pieces.append(data[rest : begin - 4])
            rest = begin - 4
            continue
        pieces += data[rest : begin - 5], _EXTENSION, struct.pack(">I", len(large.stretches))
        large.stretches.append(memoryview(data)[begin : begin + size])
        rest = begin + size
    if not large.stretches:
        return data, large
    return b"".join((*pieces, data[rest:])), large


def unpack_json(data: bytes, where: str) -> Any:
    """What the UTF-8 JSON of a bundle's file says. Raises BundleError, also for what is made to exhaust memory."""
    # Counted in the bytes, strings included: more than there are, and known before anything is allocated.
    if data.count(b"{") + data.count(b"[") > 10 * MAX_CONTAINERS or data.count(b",") > 2 * MAX_ITEMS:
        raise BundleError(f"{where}: too many objects, arrays or entries of them; build the bundle again")
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{where}: not JSON ({said(error)}); build the bundle again") from None


def get_array(
    value: Mapping[str, Any], key: str, dtype: str, shape: tuple[int | None, ...], where: str
) -> NDArray[Any]:
    """`value[key]` as a read-only array of `dtype` (one of DTYPES); None in `shape` lets a dimension be any size.

    Raises BundleError when type, shape or byte count disagree, or when a float is not finite or larger than LARGEST.
    """
    packed = get(value, key, dict, where)
    found_dtype, found_shape, data = packed.get("dtype"), packed.get("shape"), packed.get("data")
    sizes_ok = isinstance(found_shape, list) and all(type(n) is int and n >= 0 for n in found_shape)
    if found_dtype != dtype or not sizes_ok or not isinstance(data, bytes | memoryview):
        raise BundleError(
            f'{where}: "{key}" must be an array of {dtype}, found {short(found_dtype)}; build the bundle again'
        )
    fits = len(found_shape) == len(shape) and all(
        want in (None, have) and have < 1 << 31 for want, have in zip(shape, found_shape, strict=True)
    )
    size = np.dtype(dtype).itemsize
    for n in found_shape:
        size *= n
    if not fits or size != len(data):
        raise BundleError(
            f'{where}: "{key}" must have shape {shape}, found {short(found_shape)} in {len(data)} bytes; '
            "build the bundle again"
        )
    array: NDArray[Any] = np.frombuffer(data, dtype=dtype).reshape(found_shape)
    # Written so that NaN, which is smaller than nothing and larger than nothing, fails too; as Python's floats, since
    # LARGEST would be infinite as a float16.
    floats = dtype in ("<f4", "<f2") and array.size
    if floats and not (float(array.min()) >= -LARGEST and float(array.max()) <= LARGEST):
        raise BundleError(f'{where}: "{key}" holds numbers that are not finite, or too large; build the bundle again')
    return array
