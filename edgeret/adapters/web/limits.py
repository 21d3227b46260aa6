"""How much a server takes from its clients: sizes, times and counts, each with its reason. Knows nothing else."""

from __future__ import annotations

from edgeret.records import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`body_bytes` of a request, `requests` that are answered at once, `silence_s` for which an upstream
    may say nothing, where there is one.

    The others bound what clients take beside that, and no program comes near them: `head_bytes` and `head_lines` of a
    request's header, `head_s` until it is there; `pause_s` for which a client may read nothing of its answer, and be
    behind with its body, of which it must send `body_rate` bytes a second; `linger_s` for the rest of a body that
    nobody wants; `connections` in all, of which one address gets `per_address`; `read_bytes` of large bodies that are
    held at once.
    """

    body_bytes: int = 100 << 20
    requests: int = 64
    silence_s: float = 600.0
    head_bytes: int = 32 << 10
    head_lines: int = 128
    head_s: float = 10.0
    pause_s: float = 30.0
    body_rate: int = 16 << 10
    linger_s: float = 2.0
    connections: int = 256
    per_address: int = 192
    read_bytes: int = 32 << 20
