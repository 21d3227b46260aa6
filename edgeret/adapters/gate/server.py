"""The gate on a port of this machine: its parts put together, run until it is stopped."""

from __future__ import annotations

import asyncio
import errno
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn

from edgeret import InputError
from edgeret.adapters.gate.connections import Connection, Connections, most_connections
from edgeret.adapters.gate.lessons import Learning
from edgeret.adapters.gate.options import Options, address, checked_token, origins_of, upstream_of
from edgeret.adapters.gate.proxy import Gate
from edgeret.adapters.gate.trimming import MOST_ENTRIES, Trimmer
from edgeret.adapters.gate.upstream import Upstream, trusted
from edgeret.adapters.gate.visitors import Visitors
from edgeret.adapters.tool_sets import ToolSets

NOT_STARTED = (1, 3)
"""Exit codes by which releases of uvicorn say that they could not listen."""
SWITCH_S = 0.001
"""After so long a thread that reads a body lets the others on: at Python's 5 ms an answer, which takes many turns,
waited for a large body up to a second."""
ACCEPTED, QUEUED = 4, 1024
"""Connections that are accepted at a time, before any of them counts, and those that wait for that in the system."""


def run(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Runs until it is stopped by a signal, and gives what was done. `say` is told where it listens, and what goes
    wrong. Raises InputError for options that do not fit, and what `edgeret.load` raises."""
    with prepared(options, say) as (server, done):
        gc.freeze()  # what is there stays: looked through each time that a large body was read, it would hold all up
        sys.setswitchinterval(SWITCH_S)
        try:
            server.run()
        except KeyboardInterrupt:
            pass
        except SystemExit as end:
            if end.code in NOT_STARTED:
                raise InputError(
                    f"cannot listen on {options.listen}; is it in use? Choose another with --listen"
                ) from None
            if end.code != 128 + 15:
                raise
    return done()


@contextmanager
def prepared(
    options: Options, say: Callable[[str], None]
) -> Iterator[tuple[uvicorn.Server, Callable[[], dict[str, Any]]]]:
    """A server that is ready to run, and what says what it did. Raises as `run` does."""
    host, port = address(options.listen)
    upstream, path = upstream_of(options.upstream)
    visitors, limits = Visitors(checked_token(options.token, host), origins_of(options.origins)), options.limits
    asked = Upstream(upstream, limits.silence_s, most_connections(limits) // 4, trusted(options.ca))
    sets = ToolSets(options.base, overlay=options.learned, tools=MOST_ENTRIES)
    learning = Learning(say) if options.learned is not None else None
    connections = Connections(limits)
    gate = Gate(asked, Trimmer(sets, options.amount), visitors, connections, learning)

    def listening(port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        say(f"listening; give your client the base URL http://{shown}:{port}{path} instead of {upstream}{path}")

    def done() -> dict[str, Any]:
        told: dict[str, Any] = {name: getattr(gate.counts, name) for name in ("requests", "trimmed", "refused")}
        return told | {"learned": 0 if learning is None else learning.learned}

    config = uvicorn.Config(
        gate,
        host,
        port,
        loop="asyncio",
        http=partial(Connection, among=connections),  # type: ignore[arg-type]  # it is called, and nothing else
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=5,
        backlog=ACCEPTED,
    )
    try:
        yield _Server(config, listening, say), done
    finally:
        sets.close()


class _Server(uvicorn.Server):
    """Says where it listens, and once what goes wrong in it; ends quietly: whoever stopped it knows."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[int], None], say: Callable[[str], None]) -> None:
        super().__init__(config)
        self._listening, self._say = listening, say
        self._said: set[str] = set()

    async def startup(self, sockets: Any = None) -> None:
        """Begins to listen."""
        asyncio.get_running_loop().set_exception_handler(self._failed)
        await super().startup(sockets)
        listeners = [socket for server in self.servers for socket in server.sockets]
        for socket in listeners:
            with socket.dup() as own:  # asyncio takes one number for both
                own.listen(QUEUED)
        self._listening(listeners[0].getsockname()[1])

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Told by asyncio, which would write a traceback each time."""
        error = context.get("exception")
        kind = "too many files are open" if _is_full(error) else f"an error of its own, {type(error).__name__}"
        if kind not in self._said:
            self._said.add(kind)
            self._say(f"{kind}; goes on (this is said once)")


def _is_full(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)
