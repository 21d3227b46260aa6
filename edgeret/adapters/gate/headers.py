"""Which headers a proxy passes on, and who may ask it. Knows nothing of bodies."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Sequence

Headers = list[tuple[bytes, bytes]]

TOKEN = b"x-edgeret-token"
"""Where a client says the gate's token; `authorization` is the upstream's."""
TOLD = b"x-edgeret"

_HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade".split()
)
_OWN = frozenset((b"host", b"content-length", b"expect", TOKEN, TOLD))
_LOOPBACK = re.compile(rb"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE)


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Without those that belong to one connection (RFC 9110, 7.6.1): the known ones, and those that it names itself."""
    given = [(name.lower(), value) for name, value in headers]
    own = [value for name, value in given if name == b"connection"]
    named = {part.strip().lower() for value in own for part in value.split(b",")}
    return [(name, value) for name, value in given if name not in _HOP_BY_HOP and name not in named]


def forwarded(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """A request's headers for the upstream, but for its host and its length."""
    return [(name, value) for name, value in end_to_end(headers) if name not in _OWN]


def returned(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """A reply's headers for the client."""
    return [(name, value) for name, value in end_to_end(headers) if name != TOLD]


def first(headers: Sequence[tuple[bytes, bytes]], wanted: bytes) -> bytes | None:
    """The first value of a header, None where it is missing."""
    return next((value for name, value in headers if name.lower() == wanted), None)


def may_ask(headers: Sequence[tuple[bytes, bytes]], token: bytes | None) -> bool:
    """Whether the client said the token; without one, whether it asked for this machine by a name of this machine.
    A web page that had its own name point here would ask by that."""
    if token is None:
        return _LOOPBACK.fullmatch(first(headers, b"host") or b"") is not None
    return hmac.compare_digest(first(headers, TOKEN) or b"", token)
