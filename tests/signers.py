"""Signers for tests, by `cryptography`, and signed bundles that were changed by somebody else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgpack
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from forge import wrap

from edgeret.bundle.reader import read_manifest
from edgeret.bundle.signature import Signature, pack_signatures, parse_time, signatures_path
from edgeret.bundle.signature_trust import key_id

VECTORS = Path(__file__).parent / "data" / "ed25519" / "wycheproof.jsonl"
MANY = 200
"""Changed signatures and manifests: as many of each as of the other."""


def at(text: str) -> int:
    """Seconds since 1970."""
    seconds = parse_time(text)
    assert seconds is not None
    return seconds


SIGNED = at("2026-01-01T00:00:00Z")


@dataclass(frozen=True)
class Signer:
    """Who has a secret key; the same name has the same one."""

    name: str

    @property
    def secret(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(self.name.encode()).digest())

    @property
    def raw(self) -> bytes:
        return self.secret.public_key().public_bytes_raw()

    @property
    def id(self) -> str:
        return key_id(self.raw)

    @property
    def public(self) -> bytes:
        """In PEM."""
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return self.secret.public_key().public_bytes(serialization.Encoding.PEM, form)

    def over(self, content_hash: str, signed: int = SIGNED, expires: int | None = None) -> Signature:
        """A signature over a bundle."""
        made = Signature(content_hash, self.id, signed, expires)
        return replace(made, value=self.secret.sign(made.statement))

    def sign(self, bundle: Path, signed: int = SIGNED, expires: int | None = None) -> Path:
        """Puts a signature beside a bundle."""
        path = signatures_path(bundle)
        path.write_bytes(pack_signatures([self.over(read_manifest(bundle).content_hash, signed, expires)]))
        return path


def vectors() -> list[dict[str, object]]:
    """Wycheproof's, with bytes for `key`, `message` and `signature`."""
    rows = [json.loads(line) for line in VECTORS.read_text().splitlines()]
    return [row | {name: bytes.fromhex(row[name]) for name in ("key", "message", "signature")} for row in rows]


def changes(manifest: bytes, signatures: bytes) -> Iterator[tuple[str, bytes, bytes]]:
    """MANY pairs of a manifest and signatures, of which one was changed, and what was done. The changed manifests have
    right digests, and every second one is no map any more: who parses one of these says so."""
    body = msgpack.unpackb(manifest)[3]
    stranger = Signer("stranger")
    for number in range(MANY // 2):
        place, bit = number * 7919 % len(signatures), number % 8
        flipped = bytearray(signatures)
        flipped[place] ^= 1 << bit
        yield f"bit {bit} of byte {place} of the signatures", manifest, bytes(flipped)
    for number in range(MANY // 2):
        place, bit = number * 7919 % len(body), number % 8
        other = bytearray(body) if number % 2 else bytearray(b"\xc1" + body)
        other[place if number % 2 else 0] ^= 1 << bit if number % 2 else 0
        forged = wrap(bytes(other))
        beside = signatures
        if number % 4 < 2:  # signed anew by somebody else, in the name of the one who is trusted or in his own
            made = stranger.over(msgpack.unpackb(forged)[2].hex())
            beside = pack_signatures([made if number % 4 else replace(made, key=Signer("maker").id)])
        yield f"manifest {number}", forged, beside
