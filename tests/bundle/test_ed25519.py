"""Ed25519 of the library, as Python calls it: Wycheproof's vectors, RFC 8032's, and what another library signs."""

from __future__ import annotations

import hashlib

import pytest
from signers import Signer, vectors

from edgeret.bundle.ed25519 import is_key, verify

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
"""Of the base point."""

SHA_ABC = (
    "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
    "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9b"
    "ef1177331a704",
)
"""A key, and its signature of SHA-512 of "abc": RFC 8032, section 7.1."""


@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: str(vector["id"]))
def test_vectors_of_wycheproof(vector: dict) -> None:
    found = verify(vector["key"], vector["message"], vector["signature"])
    if vector["result"] == "acceptable":  # keys with a part of small order: one that is nothing else is refused
        assert found == ("SmallOrderPublicKey" not in vector["flags"])
    else:
        assert found == (vector["result"] == "valid")


def test_the_rfcs_own_vector_of_a_hash() -> None:
    key, signature = (bytes.fromhex(text) for text in SHA_ABC)
    message = hashlib.sha512(b"abc").digest()
    assert verify(key, message, signature)
    assert not verify(key, b"abc", signature)


def test_what_another_library_signs_verifies_and_nothing_near_it() -> None:
    for number in range(20):
        signer, message = Signer(f"signer {number}"), bytes(range(number)) * number
        signature = signer.secret.sign(message)
        assert verify(signer.raw, message, signature)
        assert not verify(signer.raw, message + b"\0", signature)
        assert not verify(Signer("another").raw, message, signature)
        other = bytearray(signature)
        other[number * 3 % 64] ^= 1 << number % 8
        assert not verify(signer.raw, message, bytes(other))
        above = int.from_bytes(signature[32:], "little") + ORDER
        assert not verify(signer.raw, message, signature[:32] + above.to_bytes(32, "little"))


def test_keys_that_are_none() -> None:
    assert is_key(Signer("one").raw)
    assert not is_key(b"") and not is_key(bytes(31)) and not is_key(bytes(33))
    small = [vector["key"] for vector in vectors() if "SmallOrderPublicKey" in vector["flags"]]
    assert small and not any(is_key(key) for key in small)
    assert not is_key((P + 3).to_bytes(32, "little"))  # a second encoding of 3
    no_point = next(y for y in range(2, 50) if not is_key(y.to_bytes(32, "little")))
    assert not verify(no_point.to_bytes(32, "little"), b"", bytes(64))
    assert not verify(b"\1" + bytes(31), b"", b"\1" + bytes(63))  # the neutral point signs everything
