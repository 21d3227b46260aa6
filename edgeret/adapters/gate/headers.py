"""Which headers a proxy passes on. Knows nothing of bodies, and not who may ask."""

from __future__ import annotations

from collections.abc import Iterable

from edgeret.adapters.web.headers import TOKEN, TOLD, Headers

_HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade".split()
)
_OWN = frozenset((b"host", b"content-length", b"expect", TOKEN, TOLD))


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
    """A reply's headers for the client; without a length where the body came in chunks, which goes by them alone."""
    given = [(name.lower(), value) for name, value in headers]
    dropped = {TOLD} | ({b"content-length"} if any(name == b"transfer-encoding" for name, _ in given) else set())
    return [(name, value) for name, value in end_to_end(given) if name not in dropped]
