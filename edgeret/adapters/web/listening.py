"""uvicorn within our bounds, on a port or a socket of this machine, run until it is stopped. Knows nothing of what it
serves."""

from __future__ import annotations

import asyncio
import errno
import gc
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import uvicorn

from edgeret import InputError
from edgeret.adapters.web.connections import Connection, Connections
from edgeret.adapters.web.door import Door

NOT_STARTED = (1, 3)
"""Exit codes by which releases of uvicorn say that they could not listen."""
SWITCH_S = 0.001
"""After so long a thread that reads a body lets the others on: at Python's 5 ms an answer, which takes many turns,
waited for a large body up to a second."""
ACCEPTED, QUEUED = 4, 1024
"""Connections that are accepted at a time, before any of them counts, and those that wait for that in the system."""
STOP_S = 5
"""Answers that are under way have so long to end once a server is told to stop."""


def run(server: uvicorn.Server, cannot: str) -> None:
    """Runs until it is stopped by a signal. Raises InputError, which says `cannot`, if it could not listen."""
    gc.freeze()  # what is there stays: looked through each time that a large body was read, it would hold all up
    sys.setswitchinterval(SWITCH_S)
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    except SystemExit as end:
        if end.code in NOT_STARTED:
            raise InputError(cannot) from None
        if end.code != 128 + 15:
            raise


def config_of(door: Door, host: str, port: int, connections: Connections) -> uvicorn.Config:
    """How uvicorn runs a server of ours."""
    return uvicorn.Config(
        door,
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
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_S,
        backlog=ACCEPTED,
    )


class Server(uvicorn.Server):
    """Says where it listens, and once what goes wrong in it; ends quietly: whoever stopped it knows."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[int], None], say: Callable[[str], None]) -> None:
        """`listening` is told the port."""
        super().__init__(config)
        self._listening, self._say = listening, say
        self._said: set[str] = set()

    async def startup(self, sockets: Any = None) -> None:
        """Begins to listen."""
        asyncio.get_running_loop().set_exception_handler(self._failed)
        await self.listen(sockets)
        listeners = [socket for server in self.servers for socket in server.sockets]
        for socket in listeners:
            with socket.dup() as own:  # asyncio takes one number for both
                own.listen(QUEUED)
        name = listeners[0].getsockname()
        self._listening(name[1] if isinstance(name, tuple) else 0)

    async def listen(self, sockets: Any) -> None:
        """Opens what is listened on, as uvicorn does."""
        await super().startup(sockets)

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Told by asyncio, which would write a traceback each time."""
        error = context.get("exception")
        kind = "too many files are open" if _is_full(error) else f"an error of its own, {type(error).__name__}"
        if kind not in self._said:
            self._said.add(kind)
            self._say(f"{kind}; goes on (this is said once)")


def _is_full(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)
