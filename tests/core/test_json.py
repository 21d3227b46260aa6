"""The core's JSON against Python's, read as strictly."""

from __future__ import annotations

import ctypes
import json
import math
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from core_build import Library

DESKTOP = Path(__file__).parents[2] / "examples" / "desktop"
DEEPEST = 64
SMALL = (
    b'{"a":[1,2.5e3,-0,0.1,true,false,null,"x\\u00e9\\ud83d\\ude00\\n"],"b":{"c":[],"d":{}}}', b"[]", b" 1 ",
    b'"\\u0000"', b"[1e308,1e309,1.7976931348623157e308,2.2250738585072014e-307]", '{"é":"ü","日本":"😀"}'.encode(),
    b"[[[[]]]]",
    b'{"a":1,"a":2}', b'["\\ud800"]', b'["\\ud800\\u0041"]', b'[1,]', b'{"a":}', b"\xef\xbb\xbf[]", b"NaN", b"",
)  # fmt: skip
LETTERS = b'{}[]",:\\u0123456789eE.+-tfn \n\xc3\xa9\xed\xa0\x80\xf0\x9f\x98\x80\x00\x1fabd'


class Whole(str):
    """A number without point and exponent, as it was written."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(text)


def _depth(value: Any) -> int:
    if not isinstance(value, list | dict):
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value), default=0)


def _written(value: Any) -> bytes:
    """As probe_json.c writes it."""
    if value is None or isinstance(value, bool):
        return {None: b"n", True: b"t", False: b"f"}[value]
    if isinstance(value, Whole | float):
        number = float(value)
        if math.isinf(number):
            raise ValueError("too large")
        return b"%c%s;" % (b"i" if isinstance(value, Whole) else b"d", b"%.17g" % number)
    if isinstance(value, str):
        data = value.encode()
        return b"s%d:%s" % (len(data), data)
    if isinstance(value, list):
        return b"[" + b"".join(map(_written, value)) + b"]"
    return b"{" + b"".join(_written(k) + _written(v) for k, v in value.items()) + b"}"


def _expected(data: bytes) -> bytes | None:
    try:
        value = json.loads(data.decode(), object_pairs_hook=_once, parse_constant=_no_number, parse_int=Whole)
        return _written(value) if _depth(value) <= DEEPEST else None
    except (ValueError, RecursionError):
        return None


class Probe:
    def __init__(self, library: ctypes.CDLL) -> None:
        self._probe, self._room = library.probe_json, ctypes.create_string_buffer(1 << 22)
        self._probe.restype = ctypes.c_int64

    def __call__(self, data: bytes, nested: int = DEEPEST, containers: int = 1_000_000) -> bytes | None:
        size = self._probe(data, ctypes.c_size_t(len(data)), nested, containers, self._room, ctypes.c_size_t(1 << 22))
        return None if size < 0 else ctypes.string_at(self._room, size)


@pytest.fixture(scope="module")
def probe(core_library: Library) -> Probe:
    return Probe(core_library("json", "distinct", "probe_json"))


def test_what_it_reads_is_what_python_reads(probe: Probe) -> None:
    files = [(DESKTOP / name).read_bytes() for name in ("tools.json", "tools.jsonl") if (DESKTOP / name).exists()]
    lines = [line for data in files for line in data.splitlines()]
    for data in (*files, *lines, *SMALL):
        assert probe(data) == _expected(data), data[:200]


def test_texts_that_are_nearly_json(probe: Probe) -> None:
    chance, refused = random.Random(5), 0
    for _ in range(8_000):
        data = bytearray(chance.choice(SMALL[:10]))
        for _ in range(chance.randint(1, 3)):
            at, way = chance.randrange(len(data) + 1), chance.randrange(3)
            if way == 2:
                del data[at : at + chance.randint(1, 4)]
            else:
                data[at : at + way] = bytes([chance.choice(LETTERS)])
        expected = _expected(bytes(data))
        refused += expected is None
        assert probe(bytes(data)) == expected, bytes(data)
    assert 1_000 < refused < 7_500


def test_numbers_are_right_to_the_last_bit(probe: Probe) -> None:
    chance = random.Random(7)
    for _ in range(20_000):
        number = struct.unpack("<d", chance.randbytes(8))[0]
        narrow = struct.unpack("<f", chance.randbytes(4))[0]
        for value in (number, float(narrow), chance.uniform(-20, 0)):
            if math.isfinite(value) and (value == 0 or abs(value) > 1e-300):
                assert probe(repr(value).encode()) == b"d%.17g;" % value


def test_bounds(probe: Probe) -> None:
    assert probe(b"[" * 64 + b"]" * 64) is not None
    assert probe(b"[" * 65 + b"]" * 65) is None
    assert probe(b"[[],[],[]]", containers=4) is not None
    assert probe(b"[[],[],[]]", containers=3) is None
    keys = [b'"k%d":1' % i for i in range(50_000)]
    assert probe(b"{" + b",".join(keys) + b"}") is not None
    assert probe(b"{" + b",".join((*keys, keys[7])) + b"}") is None
