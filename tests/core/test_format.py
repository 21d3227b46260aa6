"""format.c writes what printf writes: Python's `%` goes by the C library's rules, and by no locale."""

from __future__ import annotations

import ctypes
import math
import random
import struct

import pytest
from core_build import Library


class Format:
    def __init__(self, core_library: Library) -> None:
        self.call = core_library("format").er_format
        self.call.restype = ctypes.c_size_t

    def __call__(self, text: str, *values: object, size: int = 800) -> str:
        room = ctypes.create_string_buffer(b"?" * size, size)
        length = self.call(room, ctypes.c_size_t(size), text.encode(), *values)
        assert room.raw[length] == 0
        return room.raw[:length].decode()


@pytest.fixture(scope="module")
def written(core_library: Library) -> Format:
    return Format(core_library)


def numbers() -> list[float]:
    drawn = random.Random(7)
    bits = [struct.unpack("<d", drawn.randbytes(8))[0] for _ in range(300)]
    halves = [drawn.randrange(-4000, 4000) / 2 ** drawn.randrange(12) for _ in range(300)]
    ends = [
        0.0,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        9.5,
        0.5,
        1.5,
        99.99999,
        999999.5,
        1e16,
        1e-5,
        1e-4,
        math.inf,
        -math.inf,
    ]
    return [one for one in bits + halves + ends if one == one]


@pytest.mark.parametrize("how", ["%g", "%.17g", "%.3g", "%.1g", "%e", "%.0e", "%.16e", "%f", "%.0f", "%.2f", "%.20f"])
def test_numbers_are_written_to_the_last_digit(written: Format, how: str) -> None:
    for number in numbers():
        assert written(how, ctypes.c_double(number)) == how % number, number


def test_whole_numbers_have_widths_and_zeros(written: Format) -> None:
    for number in (0, 7, -7, 42, -123456, 2**31 - 1, -(2**31)):
        for how in ("%d", "%4d", "%04d", "%02d"):
            assert written(how, ctypes.c_int(number)) == how % number
        assert written("%lld", ctypes.c_longlong(number)) == str(number)
        assert written("%08x", ctypes.c_uint(number & 0xFFFFFFFF)) == f"{number & 0xFFFFFFFF:08x}"
    assert written("%llu %zu", ctypes.c_ulonglong(2**64 - 1), ctypes.c_size_t(2**40)) == f"{2**64 - 1} {2**40}"
    assert written("%lld", ctypes.c_longlong(-(2**63))) == str(-(2**63))


def test_texts_are_cut_where_the_format_or_the_room_ends(written: Format) -> None:
    assert written("%.*s|%.3s|%s|%c%%", 2, b"abc", b"wxyz", b"", ord("q")) == "ab|wxy||q%"
    assert written("%.3s", b"ab") == "ab"
    assert written("%s-%d", b"long", 12345, size=8) == "long-12"
    assert written("%s", b"", size=1) == ""
