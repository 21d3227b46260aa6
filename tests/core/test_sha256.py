"""SHA-256 of the core, by a processor's own instructions or without them, against hashlib."""

from __future__ import annotations

import ctypes
import hashlib
import os

import pytest
from core_build import Library


@pytest.mark.parametrize("sources", [("sha256", "sha256_native"), ("sha256", "sha256_plain")])
def test_it_is_that_of_hashlib_however_it_is_cut(core_library: Library, sources: tuple[str, ...]) -> None:
    probe = core_library(*sources, "probe_sha256").probe_sha256
    probe.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_char_p)
    digest = ctypes.create_string_buffer(32)
    for size in (*range(200), 1_000, 4_096, 65_537):
        data = os.urandom(size)
        for piece in (1, 55, 64, 65, 1_000):
            if size // piece < 1_500:
                probe(data, size, piece, digest)
                assert digest.raw == hashlib.sha256(data).digest(), (size, piece)
