"""The service on a port or a socket file of this machine: its parts put together, run until it is stopped."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn

from edgeret import InputError
from edgeret.adapters.serve.app import App
from edgeret.adapters.serve.service import Service
from edgeret.adapters.web import listening
from edgeret.adapters.web.addresses import address, checked_token, origins_of
from edgeret.adapters.web.connections import Connections
from edgeret.adapters.web.limits import Limits
from edgeret.adapters.web.visitors import Visitors
from edgeret.records import dataclass

LISTEN = "127.0.0.1:8090"
TOKEN_VARIABLE = "EDGERET_SERVE_TOKEN"
BOUNDS = Limits(body_bytes=1 << 20)
CONNECT_S = 1.0


@dataclass(frozen=True, slots=True)
class Options:
    """Where it listens: HOST:PORT, or the file `socket`, which this user alone may open. `token` is what clients must
    say, `origins` are web pages that may ask."""

    listen: str = LISTEN
    socket: Path | None = None
    token: str | None = None
    origins: Sequence[str] = ()
    limits: Limits = BOUNDS


def run(service: Service, options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Runs until it is stopped by a signal, and gives what was done. `say` is told where it listens, and what goes
    wrong. Raises InputError for options that do not fit."""
    with prepared(service, options, say) as (server, done):
        where = options.listen if options.socket is None else str(options.socket)
        option = "--port or --listen" if options.socket is None else "--socket"
        listening.run(server, f"cannot listen on {where}; is it in use? Choose another with {option}")
    return done()


@contextmanager
def prepared(
    service: Service, options: Options, say: Callable[[str], None]
) -> Iterator[tuple[uvicorn.Server, Callable[[], dict[str, Any]]]]:
    """A server that is ready to run, and what says what it did. Raises as `run` does."""
    host, port = address(options.listen, LISTEN)
    named = "127.0.0.1" if options.socket is not None else host
    token = checked_token(options.token, named, TOKEN_VARIABLE, "decide, and change what is decided")
    visitors = Visitors(token, origins_of(options.origins), any_host=options.socket is not None)
    connections = Connections(options.limits, "serve", half_closed=True)
    app = App(service, visitors, connections)

    def listens(port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        say(f"listening; ask http://{shown}:{port}/v1/decide" if port else f"listening on {options.socket}")

    def done() -> dict[str, Any]:
        return {name: getattr(app.metrics, name) for name in ("requests", "decisions", "refused")}

    config = listening.config_of(app, host, port, connections)
    try:
        if options.socket is None:
            yield listening.Server(config, listens, say), done
        else:
            yield _SocketServer(config, listens, say, _place(options.socket)), done
    finally:
        service.close()


def _place(path: Path) -> Path:
    """Where a socket can be. Raises InputError."""
    if sys.platform == "win32":
        raise InputError("--socket: this system has no such files; use --port")
    if len(os.fsencode(path)) > 100:
        raise InputError(f"--socket {path}: more than 100 bytes, which systems do not take; choose a shorter path")
    if not path.parent.is_dir():
        raise InputError(f"--socket {path}: there is no folder {path.parent}; make it, or choose another place")
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise InputError(f"--socket {path}: there is something that is no socket; choose another place")
    return path


class _SocketServer(listening.Server):
    """Listens on a file that this user alone may open; goes when the server goes."""

    def __init__(
        self, config: uvicorn.Config, listens: Callable[[int], None], say: Callable[[str], None], path: Path
    ) -> None:
        super().__init__(config, listens, say)
        self._path = path
        self._bound: tuple[Any, int] | None = None

    async def listen(self, sockets: Any) -> None:
        """Takes the place of a socket that a crash left behind, and of no other."""
        if self._path.exists():
            with suppress(OSError, TimeoutError):
                _, writer = await asyncio.wait_for(asyncio.open_unix_connection(self._path), CONNECT_S)
                writer.close()
                raise InputError(f"--socket {self._path}: somebody listens there; choose another place")
        before = os.umask(0o177)
        try:
            # It never serves: what it opened does, through uvicorn, which would let everybody open the file.
            held = await asyncio.get_running_loop().create_unix_server(
                asyncio.Protocol, self._path, start_serving=False
            )
        except OSError as error:
            raise InputError(f"--socket {self._path}: cannot listen there ({error.strerror or error})") from None
        finally:
            os.umask(before)
        self._bound = held, self._path.lstat().st_ino
        await super().listen([held.sockets[0].dup()])

    async def shutdown(self, sockets: Any = None) -> None:
        """Ends in order, and takes the file away if it is still its own."""
        await super().shutdown(sockets)
        with suppress(OSError):
            if self._bound is not None and self._path.lstat().st_ino == self._bound[1]:
                self._path.unlink()
