"""The gate on a port of this machine: its options checked, its parts put together, run until it is stopped."""

from __future__ import annotations

import asyncio
import errno
import re
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from edgeret import InputError
from edgeret.adapters.gate.connections import Connection, Connections, most_connections
from edgeret.adapters.gate.lessons import Learning
from edgeret.adapters.gate.limits import Limits
from edgeret.adapters.gate.proxy import Gate
from edgeret.adapters.gate.trimming import MOST_ENTRIES, Trimmer
from edgeret.adapters.gate.upstream import Upstream, trusted
from edgeret.adapters.gate.visitors import Visitors
from edgeret.adapters.selection import Amount
from edgeret.adapters.tool_sets import ToolSets
from edgeret.quoting import quoted
from edgeret.records import dataclass

LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")
LEAST_TOKEN = 16
NOT_STARTED = (1, 3)
"""Exit codes by which releases of uvicorn say that they could not listen."""
BACKLOG = 128
"""Of connections that wait to be accepted. asyncio tries to accept so many at a time, whatever comes of it."""
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


def run(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Runs until it is stopped by a signal, and gives what was done. `say` is told where it listens, and what goes
    wrong. Raises InputError for options that do not fit, and what `edgeret.load` raises."""
    host, port = address(options.listen)
    upstream, path = upstream_of(options.upstream)
    token = checked_token(options.token, host)
    visitors, limits = Visitors(token, origins_of(options.origins)), options.limits
    asked = Upstream(upstream, limits.silence_s, most_connections(limits) // 4, trusted(options.ca))
    sets = ToolSets(options.base, overlay=options.learned, tools=MOST_ENTRIES)
    learning = Learning(say) if options.learned is not None else None
    gate = Gate(asked, Trimmer(sets, options.amount), visitors, limits, learning)

    def listening(port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        say(f"listening; give your client the base URL http://{shown}:{port}{path} instead of {upstream}{path}")

    try:
        _serve(server_for(gate, host, port, limits, listening, say), host, port)
    finally:
        sets.close()
    told: dict[str, Any] = {name: getattr(gate.counts, name) for name in ("requests", "trimmed", "refused")}
    return told | {"learned": 0 if learning is None else learning.learned}


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


class Server(uvicorn.Server):
    """Says where it listens, and once what goes wrong in it; ends quietly: whoever stopped it knows."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[int], None], say: Callable[[str], None]) -> None:
        super().__init__(config)
        self._listening, self._say = listening, say
        self._said: set[str] = set()

    async def startup(self, sockets: Any = None) -> None:
        """Begins to listen."""
        asyncio.get_running_loop().set_exception_handler(self._failed)
        await super().startup(sockets)
        for server in self.servers:
            for socket in server.sockets:
                self._listening(socket.getsockname()[1])
                return

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Told by asyncio, which would write a traceback each time."""
        error = context.get("exception")
        kind = "too many files are open" if _is_full(error) else f"an error of its own, {type(error).__name__}"
        if kind not in self._said:
            self._said.add(kind)
            self._say(f"{kind}; goes on (this is said once)")


def _is_full(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def server_for(
    gate: Gate, host: str, port: int, limits: Limits, listening: Callable[[int], None], say: Callable[[str], None]
) -> Server:
    """What serves the gate there, once it is run."""
    config = uvicorn.Config(
        gate,
        host,
        port,
        loop="asyncio",
        http=partial(Connection, among=Connections(limits)),  # type: ignore[arg-type]  # it is called, and nothing else
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=5,
        backlog=BACKLOG,
    )
    return Server(config, listening, say)


def _serve(server: Server, host: str, port: int) -> None:
    """Raises InputError where it cannot listen."""
    try:
        server.run()
    except KeyboardInterrupt:
        return
    except SystemExit as end:
        if end.code in NOT_STARTED:
            raise InputError(f"cannot listen on {host}:{port}; is it in use? Choose another with --listen") from None
        if end.code != 128 + 15:
            raise
