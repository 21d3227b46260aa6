"""What the gate is asked to do, and whether that can be. Knows nothing of how it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import httpx

from edgeret import InputError
from edgeret.adapters.selection import Amount
from edgeret.adapters.web.limits import Limits
from edgeret.records import dataclass

LISTEN = "127.0.0.1:8089"
TOKEN_VARIABLE = "EDGERET_GATE_TOKEN"
COULD = "use the upstream"


@dataclass(frozen=True, slots=True)
class Options:
    """What the gate is asked to do. `learned` is the file that keeps what is learned, None to learn nothing; `origins`
    are web pages that may ask, `ca` a file of certificates that are trusted besides. `metrics` is where Prometheus may
    ask, HOST:PORT. `loading` are more options of `edgeret.load` for the base."""

    upstream: str
    base: Path
    listen: str = LISTEN
    amount: Amount = field(default_factory=Amount)
    learned: Path | None = None
    token: str | None = None
    origins: Sequence[str] = ()
    ca: str | None = None
    limits: Limits = field(default_factory=Limits)
    metrics: str | None = None
    loading: Mapping[str, Any] = field(default_factory=dict)


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
