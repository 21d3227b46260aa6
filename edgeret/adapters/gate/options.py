"""What the gate is asked to do, and whether that can be. Knows nothing of how it is done."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

import httpx

from edgeret import InputError
from edgeret.adapters.gate.limits import Limits
from edgeret.adapters.selection import Amount
from edgeret.quoting import quoted
from edgeret.records import dataclass

LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")
LEAST_TOKEN = 16
_LISTEN = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<host>[^\s:\[\]]+)):(?P<port>\d{1,5})")
_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._~:\[\]-]+")
_TOKEN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Options:
    """What the gate is asked to do. `learned` is the file that keeps what is learned, None to learn nothing; `origins`
    are web pages that may ask, `ca` a file of certificates that are trusted besides."""

    upstream: str
    base: Path
    listen: str = "127.0.0.1:8089"
    amount: Amount = field(default_factory=Amount)
    learned: Path | None = None
    token: str | None = None
    origins: Sequence[str] = ()
    ca: str | None = None
    limits: Limits = field(default_factory=Limits)


def address(listen: str) -> tuple[str, int]:
    """Host and port. Raises InputError."""
    found = _LISTEN.fullmatch(listen)
    if found is None or int(found["port"]) > 65535:
        raise InputError(f"--listen {listen[:80]!r} is no HOST:PORT; a right one is 127.0.0.1:8089")
    return found["v6"] or found["host"], int(found["port"])


def upstream_of(url: str) -> tuple[str, str]:
    """Scheme with authority, and path. Raises InputError for what is no plain URL."""
    right = "a right one is http://127.0.0.1:8080/v1"
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        raise InputError(f"--upstream is no URL; {right}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.port == 0:
        raise InputError(f"--upstream is no http or https URL; {right}")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise InputError(f"--upstream must have no password, query or fragment; {right}")
    return f"{parsed.scheme}://{parsed.netloc.decode()}", parsed.path.rstrip("/")


def origins_of(named: Sequence[str]) -> frozenset[bytes]:
    """Origins as browsers write them, in lower case. Raises InputError."""
    for origin in named:
        if _ORIGIN.fullmatch(origin) is None:
            raise InputError(
                f"--allow-origin {quoted(origin)} is no origin; a right one is http://localhost:3000, without a path. "
                "All pages together, * or null, cannot be named: any page could then use the upstream"
            )
    return frozenset(origin.lower().encode() for origin in named)


def checked_token(token: str | None, host: str) -> bytes | None:
    """The token as bytes. Raises InputError for one that is none, and where one is needed."""
    if token is None:
        if LOOPBACK.fullmatch(host) is None:
            raise InputError(
                f"whoever reaches {host} could use the upstream; set a token with --token-file FILE or "
                "EDGERET_GATE_TOKEN, which clients send as x-edgeret-token, or listen on 127.0.0.1"
            )
        return None
    if len(token) < LEAST_TOKEN or _TOKEN.fullmatch(token) is None:
        raise InputError(f"the token must have at least {LEAST_TOKEN} visible ASCII characters and no spaces")
    return token.encode()
