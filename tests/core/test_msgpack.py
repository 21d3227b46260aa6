"""The core's msgpack against the reader's."""

from __future__ import annotations

import ctypes
import random
from typing import Any

import msgpack
import pytest
from core_build import Library
from numpy import arange, float32, int8

from edgeret.bundle.codec import MAX_CONTAINERS, MAX_ITEMS, pack, unpack
from edgeret.errors import BundleError

VALUES = (
    {"a": 1, "b": [-1, -33, 200, 70_000, 2**40, -(2**40), 2**63, 1.5, None, True, False, "é", b"\x00\xff"], "c": {}},
    {"names": ["x" * 31, "x" * 32, "x" * 300, "x" * 70_000], "deep": {"a": {"b": {"c": [[[[]]]]}}}},
    {
        "numbers": arange(12, dtype=float32).reshape(3, 4),
        "bytes": arange(70, dtype=int8),
        "large": arange(1 << 15, dtype=float32),
    },
)


def _written(value: Any) -> bytes:
    """As probe_msgpack.c writes it."""
    if value is None or isinstance(value, bool):
        return {None: b"n", True: b"t", False: b"f"}[value]
    if isinstance(value, int):
        return b"i%d;" % min(value, 2**63 - 1)
    if isinstance(value, float):
        return b"d%.17g;" % value
    if isinstance(value, str):
        return b"s%d:%s" % (len(value.encode()), value.encode())
    if isinstance(value, bytes | memoryview):
        return b"b%d:%s" % (len(value), bytes(value))
    if isinstance(value, list):
        return b"[%d:" % len(value) + b"".join(map(_written, value))
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return b"{%d:" % len(value) + b"".join(_written(k) + _written(v) for k, v in value.items())
    raise ValueError("a key that is no text, or a timestamp: the format has none")


def _expected(data: bytes) -> bytes | None:
    try:
        return _written(unpack(data, "here"))
    except (BundleError, ValueError):
        return None


class Probe:
    def __init__(self, library: ctypes.CDLL) -> None:
        self._probe, self._room = library.probe_msgpack, ctypes.create_string_buffer(1 << 22)
        self._probe.restype = ctypes.c_int64

    def __call__(self, data: bytes) -> bytes | None:
        size = self._probe(data, ctypes.c_size_t(len(data)), self._room, ctypes.c_size_t(1 << 22))
        return None if size < 0 else ctypes.string_at(self._room, size)


@pytest.fixture(scope="module")
def probe(core_library: Library) -> Probe:
    return Probe(core_library("msgpack", "distinct", "probe_msgpack"))


def test_what_it_reads_is_what_python_reads(probe: Probe) -> None:
    for value in VALUES:
        assert probe(pack(value)) == _expected(pack(value))


def test_bytes_that_are_nearly_a_map(probe: Probe) -> None:
    chance, refused = random.Random(3), 0
    small = [
        pack(VALUES[0]),
        pack({**VALUES[2], "large": 1}),
        msgpack.packb({"a": [1.5], "b": {"c": 2}}, use_single_float=True),
    ]
    for _ in range(8_000):
        data = bytearray(chance.choice(small))
        for _ in range(chance.randint(1, 3)):
            at, way = chance.randrange(len(data) + 1), chance.randrange(4)
            if way == 2:
                del data[at : at + chance.randint(1, 4)]
            else:
                data[at : at + (way > 0)] = bytes([chance.randrange(256)])
        expected = _expected(bytes(data))
        refused += expected is None
        assert probe(bytes(data)) == expected, bytes(data)
    assert 1_000 < refused < 7_500


def test_what_is_made_to_exhaust_memory_is_refused(probe: Probe) -> None:
    def array(count: int, one: bytes) -> bytes:
        return b"\x81\xa1a\xdd" + count.to_bytes(4, "big") + one * count

    def nested(count: int) -> bytes:
        return b"\x81\xa1a" + b"\x91" * count + b"\x01"

    assert probe(array(MAX_CONTAINERS - 2, b"\x80")) is not None
    assert probe(array(MAX_CONTAINERS - 1, b"\x80")) is None
    assert probe(array(MAX_ITEMS - 1, b"\x01")) is not None
    assert probe(array(MAX_ITEMS, b"\x01")) is None
    assert probe(b"\x81\xa1a\xdd\xff\xff\xff\xff") is None
    assert probe(b"\x81\xa1a\xdf\xff\xff\xff\xff") is None
    for count in (500, 1_021, 1_022, 1_023, 1_024, 2_000, 1_000_000):
        try:
            unpack(nested(count), "here")
            refused = False
        except BundleError:
            refused = True
        assert (probe(nested(count)) is None) == refused, count


def test_keys_are_texts_and_there_once(probe: Probe) -> None:
    assert probe(b"\x82\xa1a\x01\xa1b\x01") is not None
    for data in (
        b"\x82\xa1a\x01\xa1a\x01",
        b"\x81\xc4\x01a\x01",
        b"\x81\x01\x01",
        b"\x81\xa1\xff\x01",
        b"\x91\x01",
        b"\x80\x80",
    ):
        assert probe(data) is None
    many = [b"\xa5%05d\x01" % i for i in range(90_000)]
    assert probe(b"\xdf" + len(many).to_bytes(4, "big") + b"".join(many)) is not None
    many[70_000] = many[5]
    assert probe(b"\xdf" + len(many).to_bytes(4, "big") + b"".join(many)) is None
