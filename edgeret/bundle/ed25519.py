"""Ed25519 signatures (RFC 8032), verified by the library. Signs nothing, and knows nothing of bundles."""

from __future__ import annotations

from edgeret.core.library import Text, the_library

KEY_BYTES, SIGNATURE_BYTES = 32, 64


def is_key(public: bytes) -> bool:
    """Whether 32 bytes are a public key: a point, in its only encoding, that is not of small order. What one of small
    order signs cannot be told from what anybody signs."""
    return len(public) == KEY_BYTES and bool(the_library().quick.er_ed25519_is_key(public))


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether `signature` (64 bytes) over `message` was made with the secret of `public`; False for keys that are none.

    The equation is that without the cofactor, and R is compared as bytes, so that all readers agree on all bytes.
    """
    if len(public) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    return bool(the_library().quick.er_ed25519_verify(public, Text(message, len(message)), signature))
