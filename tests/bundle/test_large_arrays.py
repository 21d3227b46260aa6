"""Large arrays stay where they are in a file's bytes, and nothing else about decoding changes."""

from __future__ import annotations

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret.bundle.codec import WORTH_LEAVING, get_array, pack, unpack
from edgeret.errors import BundleError

AROUND = WORTH_LEAVING // 4
"""Floats of an array that is just worth it."""


@given(st.lists(st.sampled_from([0, 1, 20_000, AROUND - 1, AROUND, AROUND + 1, 40_000]), max_size=5), st.booleans())
def test_arrays_of_any_size_are_what_was_packed(sizes: list[int], nested: bool) -> None:
    arrays = {f"a{i}": np.arange(size, dtype="<f4") for i, size in enumerate(sizes)}
    value = {"names": ["x", "data"], "inner": arrays, "last": 1} if nested else {**arrays, "last": 1}
    found = unpack(pack(value), "here")
    inner = found["inner"] if nested else found
    for name, array in arrays.items():
        np.testing.assert_array_equal(get_array(inner, name, "<f4", (None,), "here"), array)
    assert found["last"] == 1


def test_a_large_array_is_read_where_it_stands() -> None:
    data = pack({"vectors": np.ones((AROUND, 2), "<f4")})
    found = get_array(unpack(data, "here"), "vectors", "<f4", (None, 2), "here")
    whole = np.frombuffer(data, np.uint8)
    assert np.shares_memory(found, whole)
    assert not found.flags.writeable


def with_large() -> bytes:
    return pack({"vectors": np.ones(AROUND, "<f4"), "last": 1})


@pytest.mark.parametrize(
    "data",
    [
        msgpack.packb({"x": msgpack.ExtType(0, b"\0\0\0\0")}),
        msgpack.packb({"x": msgpack.ExtType(0, b"\0\0\0\0"), "data": b"x" * WORTH_LEAVING}),
        msgpack.packb({"data": b"x" * WORTH_LEAVING, "x": msgpack.ExtType(0, b"\0\0\0\0")}),
        msgpack.packb({"data": b"x" * WORTH_LEAVING, "x": msgpack.ExtType(0, b"\0\0\0\1")}),
        msgpack.packb({"x": b"\xa4data\xc6\0\1\0\0" + b"y" * WORTH_LEAVING}),
        msgpack.packb({"x": b"\xa4data\xc6\0\1\0\0", "data": b"y" * WORTH_LEAVING}),
        with_large()[:-1],
        with_large() + b"\0",
        with_large().replace(b"\xa4data\xc6\0", b"\xa4data\xc6\1"),
        with_large().replace(b"\xa4data\xc6\0\1\0\0", b"\xa4data\xc6\0\1\0\1"),
    ],
    ids=["ext", "ext before", "ext after", "ext numbered", "inside", "inside small", "cut", "more", "long", "one more"],
)
def test_forged_files_are_refused(data: bytes) -> None:
    with pytest.raises(BundleError, match="here: not a msgpack map"):
        unpack(data, "here")
