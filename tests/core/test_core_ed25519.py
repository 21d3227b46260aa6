"""SHA-512 and Ed25519 of the core: against hashlib, Wycheproof's vectors and the reader in Python."""

from __future__ import annotations

import ctypes as c
import hashlib

import pytest
from core_build import Library
from signers import Signer, vectors

from edgeret.bundle.ed25519 import is_key, verify


@pytest.fixture(scope="module")
def probe(core_library: Library) -> c.CDLL:
    library = core_library("sha512", "ed25519", "ed25519_numbers", "probe_ed25519")
    library.probe_sha512.argtypes = (c.c_char_p, c.c_size_t, c.c_size_t, c.c_char_p)
    library.probe_verify.argtypes = (c.c_char_p, c.c_char_p, c.c_size_t, c.c_char_p, c.c_int)
    library.probe_is_key.argtypes = (c.c_char_p,)
    return library


def test_the_hash_is_that_of_hashlib_however_it_is_cut(probe: c.CDLL) -> None:
    digest = c.create_string_buffer(64)
    for size in (*range(300), 5_000):
        data = bytes(i * 7 % 256 for i in range(size))
        for piece in (1, 111, 128, 129):
            probe.probe_sha512(data, size, piece, digest)
            assert digest.raw == hashlib.sha512(data).digest(), (size, piece)


def test_vectors_of_wycheproof_in_the_core(probe: c.CDLL) -> None:
    seen = 0
    for vector in vectors():
        key, message, signature = vector["key"], vector["message"], vector["signature"]
        if len(signature) != 64:  # the header's functions take 64 bytes: whoever reads a file has seen to that
            continue
        seen += 1
        found = bool(probe.probe_verify(key, message, len(message), signature, 1))
        assert found == verify(key, message, signature), vector["id"]
        if vector["result"] != "acceptable":
            assert found == (vector["result"] == "valid"), vector["id"]
    assert seen > 190


def test_both_readers_agree_on_keys_and_on_changed_signatures(probe: c.CDLL) -> None:
    for number in range(300):
        some = hashlib.sha256(f"{number}".encode()).digest()
        assert bool(probe.probe_is_key(some)) == is_key(some)
    for number in range(40):
        signer, message = Signer(f"signer {number}"), bytes(range(number))
        signature = signer.secret.sign(message)
        assert probe.probe_verify(signer.raw, message, number, signature, 1)
        changed = bytearray(signature)
        changed[number * 5 % 64] ^= 1 << number % 8
        assert not probe.probe_verify(signer.raw, message, number, bytes(changed), 1)
    for small in (
        bytes(32),
        b"\1" + bytes(31),
        b"\xec" + b"\xff" * 30 + b"\x7f",
        b"\xee" + b"\xff" * 30 + b"\x7f",
        b"\xff" * 32,
    ):
        assert bool(probe.probe_is_key(small)) == is_key(small)
