"""Headers by name, and those that are ours. Knows nothing of what they are for."""

from __future__ import annotations

from collections.abc import Sequence

Headers = list[tuple[bytes, bytes]]

TOKEN = b"x-edgeret-token"
"""Where a client says the token; behind the gate, `authorization` is the upstream's."""
TOLD = b"x-edgeret"


def first(headers: Sequence[tuple[bytes, bytes]], wanted: bytes) -> bytes | None:
    """The first value of a header, None where it is missing."""
    return next((value for name, value in headers if name.lower() == wanted), None)


def every(headers: Sequence[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    """All values of a header."""
    return [value for name, value in headers if name.lower() == wanted]
