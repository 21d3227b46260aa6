"""Clients' connections: how many there may be, how long each may take, and who gives way. Knows nothing of what is
asked.

A connection that waits for a header, or for a body that comes slowly, costs a descriptor and nothing else; so there may
be many, and where there are too many the one that waited longest gives way, not the new one.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address
from math import inf
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from edgeret.adapters.web.framing import Framing
from edgeret.adapters.web.limits import Limits
from edgeret.adapters.web.refusals import RefusedError, whole

KEPT_S = 1e6
"""That a connection without a request counts as older than one whose first request is still to come."""
_SPARED_FILES = 64
"""Descriptors for everything but connections: a bundle's files, standard streams, what is learned."""

CONNECTION = "connection"
"""Under which a request's `state` holds the connection that it came by."""
UNREAD_S = 1.0
"""For which a client that holds a place may not read, where places are needed."""
CRUMB_BYTES, CRUMBS, CRUMB_S = 1024, 16, 0.2
"""Reads of fewer bytes, how many of them may follow one another, and how long each later one waits."""


def most_connections(limits: Limits) -> int:
    """How many fit the process's descriptors: each may need one more to the upstream, and some of those stay idle."""
    if sys.platform == "win32":
        return limits.connections
    import resource

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    fitting = limits.connections if files == resource.RLIM_INFINITY else max(8, (files - _SPARED_FILES) * 2 // 5)
    return min(limits.connections, fitting)


def network_of(client: tuple[str, int] | None) -> str:
    """What counts as one client: an IPv4 address, or the network that one owner of IPv6 has."""
    host = client[0] if client is not None else ""
    if ":" not in host:
        return host
    return ":".join(IPv6Address(host.partition("%")[0]).exploded.split(":")[:4])


class Connections:
    """Those that are open."""

    def __init__(self, limits: Limits, who: str, half_closed: bool = False) -> None:
        """`who` refuses what is no request: "gate" or "serve". A client that closed its own side alone cannot be told
        from one that went away; with `half_closed` it is answered all the same, where answers take moments."""
        self.limits, self.who, self.half_closed = limits, who, half_closed
        self._most = most_connections(limits)
        self._per_address = min(limits.per_address, max(1, self._most * 3 // 4))
        self._open: dict[Connection, str] = {}
        self._counts: Counter[str] = Counter()

    def add(self, connection: Connection, client: tuple[str, int] | None) -> bool:
        """Whether there is room for it. Then another one may have been closed for it."""
        network = network_of(client)
        if self._counts[network] >= self._per_address and not self._give_way(network):
            return False
        if len(self._open) >= self._most and not self._give_way(None):
            return False
        self._open[connection] = network
        self._counts[network] += 1
        return True

    def drop(self, connection: Connection) -> None:
        """It is closed."""
        network = self._open.pop(connection, None)
        if network is not None:
            self._counts[network] -= 1
            if not self._counts[network]:
                del self._counts[network]

    def drop_unread(self) -> None:
        """Closes those whose clients do not read their answers: others need the places of their requests."""
        now = asyncio.get_running_loop().time()
        for connection in list(self._open):
            if connection.unread_since < now - UNREAD_S:
                connection.abort()

    def _give_way(self, network: str | None) -> bool:
        """Closes the one, of a network or of all, that can best be spared; False where all are being answered."""
        among = (other for other, owner in self._open.items() if network in (None, owner))
        spared = min(among, key=lambda connection: connection.claim, default=None)
        if spared is None or spared.claim == inf:
            return False
        spared.abort()
        self.drop(spared)
        return True


class _Writing:
    """A transport that keeps back what is written while it is `held`, and writes that at once: a header and a short
    answer are one packet, and one call of the system."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._parts: list[bytes] = []
        self.held = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Some more."""
        if self.held:
            self._parts.append(data)
        elif data:
            self._transport.write(data)

    def release(self) -> None:
        """Writes what was kept back."""
        self.held = False
        parts, self._parts = self._parts, []
        if parts:
            self._transport.write(b"".join(parts))

    def write_eof(self) -> None:
        """Behind all that was written."""
        self.release()
        self._transport.write_eof()

    def close(self) -> None:
        """When all is written."""
        self.release()
        self._transport.close()


class Connection(H11Protocol):
    """uvicorn's, within bounds."""

    GONE, WAITING, SENDING = range(3)

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        among: Connections,
    ) -> None:
        super().__init__(config, server_state, {**app_state, CONNECTION: self}, _loop)
        self._among, self._limits = among, among.limits
        self.conn = self._framing = Framing(among.limits)
        self._refused = False
        self._since = self.loop.time()
        self._phase: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self.unread_since = inf
        self._crumbs = 0
        self._ended = False
        self._work: asyncio.Task[Any] | None = None
        self._gone = False

    @property
    def claim(self) -> float:
        """The less, the sooner it gives way: how long it waits, less the time that its body earned by coming. One that
        was answered and is kept for another request goes first; clients know that such a one may be closed."""
        if self.transport.is_closing() or self._refused:
            return -inf
        if self.conn.their_state is h11.IDLE and self._is_answered():
            return self._since - KEPT_S
        waits = self.conn.their_state is h11.IDLE or self._is_answered()
        sends = self.conn.their_state is h11.SEND_BODY and not self.cycle.response_started
        return self._since if waits or sends else self.unread_since

    @contextmanager
    def ends_with_client(self) -> Iterator[None]:
        """What this task does here ends when the client goes away."""
        self._work = own = asyncio.current_task()
        try:
            yield
        except asyncio.CancelledError:
            if not self._gone:
                raise
        finally:
            if self._work is own:  # or the next request has begun already
                self._work = None

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """What is written here goes out together."""
        self._writing.held = True
        try:
            yield
        finally:
            self._writing.release()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client came."""
        self._writing = _Writing(transport)
        super().connection_made(self._writing)  # type: ignore[arg-type]  # it is the transport in all else
        if not self._among.add(self, self.client):
            self._refuse(RefusedError(503, "all connections are in use; try again in a moment"), wait=False)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """It went."""
        self._among.drop(self)
        for timer in (self._timer, self._unread):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
        self._end_work()

    def data_received(self, data: bytes) -> None:
        """Some bytes came."""
        if not self._refused:
            self._since += len(data) / self._limits.body_rate
            super().data_received(data)
            self._slow_down(len(data))

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more. True keeps the connection for what is under way."""
        asked = self.cycle is not None and not self._is_answered()
        whole = self.conn.their_state is not h11.SEND_BODY
        self._ended = self._among.half_closed and asked and whole and not self._refused
        return self._ended

    def handle_events(self) -> None:
        """Reads what came."""
        super().handle_events()
        self._watch()

    def on_response_complete(self) -> None:
        """An answer was written."""
        self._since = self.loop.time()
        self._crumbs = 0
        super().on_response_complete()
        if self._ended and self._is_answered():
            self.transport.close()
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Answers what is no request."""
        error = sys.exc_info()[1]
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        self._refuse(RefusedError(status, f"this is no request that can be answered: {error or msg}"))

    def pause_writing(self) -> None:
        """The client does not read its answer."""
        super().pause_writing()
        self.unread_since = self.loop.time()
        self._unread = self.loop.call_later(self._limits.pause_s, self.abort)

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        self.unread_since = inf
        if self._unread is not None:
            self._unread.cancel()

    def abort(self) -> None:
        """Ends it at once."""
        self.transport.abort()

    def _slow_down(self, size: int) -> None:
        """Reads a client that sends crumbs only now and then: each read costs the same, and some 5,000 a second fill a
        core."""
        self._crumbs = self._crumbs + 1 if size < CRUMB_BYTES else 0
        if self._crumbs > CRUMBS:
            self.transport.pause_reading()
            self.loop.call_later(CRUMB_S, self._read_on)

    def _read_on(self) -> None:
        if not self.flow.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    def _end_work(self) -> None:
        """Of the request that nobody waits for any more."""
        self._gone = True
        if self._work is not None:
            self._work.cancel()

    def _is_answered(self) -> bool:
        return self.cycle is not None and self.cycle.response_complete

    def _watch(self) -> None:
        """Bounds the wait for a header, for a body behind its answer, and for who does not read the end of one."""
        if self._refused:
            return
        if self.transport.is_closing():
            self._bound(self.GONE, self._limits.pause_s, self.abort)
        elif self.conn.their_state is h11.IDLE:
            self._bound(self.WAITING, self._limits.head_s, self._late)
        elif self.conn.their_state is h11.SEND_BODY and self._is_answered():
            self._bound(self.SENDING, self._limits.linger_s, self.abort)
        else:
            self._bound(None, 0.0, self.abort)

    def _bound(self, phase: int | None, seconds: float, action: Callable[[], None]) -> None:
        """So long a phase may last; one that goes on has the time that it had."""
        if phase == self._phase:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._phase, self._timer = phase, None if phase is None else self.loop.call_later(seconds, action)

    def _late(self) -> None:
        if self._framing.has_begun:
            self._refuse(RefusedError(408, f"the header was not there within {self._limits.head_s:g} s"))
        else:
            self.transport.close()
            self._watch()

    def _refuse(self, refused: RefusedError, wait: bool = True) -> None:
        """Answers by itself and ends the connection. With `wait` what else comes is taken and forgotten for a moment,
        or the client would never see the answer."""
        self._refused = True
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._end_work()
            if self.cycle.response_started:
                return self.abort()
        if self.transport.is_closing():
            return None
        self.transport.write(whole(refused, self._among.who))
        if not wait or not self.transport.can_write_eof():
            return self.transport.close()
        self.transport.write_eof()
        return self._bound(self.GONE, self._limits.linger_s, self.abort)
