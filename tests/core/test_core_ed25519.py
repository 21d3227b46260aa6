"""SHA-512 of the core against hashlib, and which 32 bytes are a key against the curve's equation."""

from __future__ import annotations

import ctypes as c
import hashlib

from core_build import Library

from edgeret.bundle.ed25519 import is_key

P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P


def test_the_hash_is_that_of_hashlib_however_it_is_cut(core_library: Library) -> None:
    probe = core_library("sha512", "probe_sha512")
    probe.probe_sha512.argtypes = (c.c_char_p, c.c_size_t, c.c_size_t, c.c_char_p)
    digest = c.create_string_buffer(64)
    for size in (*range(300), 5_000):
        data = bytes(i * 7 % 256 for i in range(size))
        for piece in (1, 111, 128, 129):
            probe.probe_sha512(data, size, piece, digest)
            assert digest.raw == hashlib.sha512(data).digest(), (size, piece)


def test_keys_are_the_points_of_the_curve() -> None:
    found = 0
    for number in range(300):
        some = hashlib.sha256(f"{number}".encode()).digest()
        y = int.from_bytes(some, "little") % 2**255
        x_squared = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
        assert is_key(some) == (y < P and pow(x_squared, (P - 1) // 2, P) == 1)
        found += is_key(some)
    assert 100 < found < 200


def test_points_of_small_order_and_second_encodings_are_none() -> None:
    for small in (
        bytes(32),
        b"\1" + bytes(31),
        b"\xec" + b"\xff" * 30 + b"\x7f",
        b"\xee" + b"\xff" * 30 + b"\x7f",
        b"\xff" * 32,
    ):
        assert not is_key(small)
