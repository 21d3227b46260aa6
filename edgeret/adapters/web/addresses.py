"""Where a server listens and who may ask it, as options say it; checked. Knows nothing of what it serves."""

from __future__ import annotations

import re
from collections.abc import Sequence

from edgeret import InputError
from edgeret.quoting import quoted

LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")
LEAST_TOKEN = 16
_LISTEN = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<host>[^\s:\[\]]+)):(?P<port>\d{1,5})")
_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._~:\[\]-]+")
_TOKEN = re.compile(r"[\x21-\x7e]+")


def address(listen: str, right: str) -> tuple[str, int]:
    """Host and port. Raises InputError, which shows a `right` one."""
    found = _LISTEN.fullmatch(listen)
    if found is None or int(found["port"]) > 65535:
        raise InputError(f"--listen {listen[:80]!r} is no HOST:PORT; a right one is {right}")
    return found["v6"] or found["host"], int(found["port"])


def origins_of(named: Sequence[str]) -> frozenset[bytes]:
    """Origins as browsers write them, in lower case. Raises InputError."""
    for origin in named:
        if _ORIGIN.fullmatch(origin) is None:
            raise InputError(
                f"--allow-origin {quoted(origin)} is no origin; a right one is http://localhost:3000, without a path. "
                "All pages together, * or null, cannot be named: any page could then ask"
            )
    return frozenset(origin.lower().encode() for origin in named)


def checked_token(token: str | None, host: str, variable: str, could: str) -> bytes | None:
    """The token as bytes. Raises InputError for one that is none, and where one is needed: it then says what all
    others `could` do, and the environment's `variable` that sets one."""
    if token is None:
        if LOOPBACK.fullmatch(host) is None:
            raise InputError(
                f"whoever reaches {host} could {could}; set a token with --token-file FILE or {variable}, which "
                "clients send as x-edgeret-token, or listen on 127.0.0.1"
            )
        return None
    if len(token) < LEAST_TOKEN or _TOKEN.fullmatch(token) is None:
        raise InputError(f"the token must have at least {LEAST_TOKEN} visible ASCII characters and no spaces")
    return token.encode()
