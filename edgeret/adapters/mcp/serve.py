"""Puts the proxy together: servers, their tools, the client on standard input and output. Ends when the client goes,
and ends all servers with it."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.dispatcher import ProgressFnT

from edgeret import EdgeretError, InputError, __version__
from edgeret.adapters.exporter import exporting
from edgeret.adapters.mcp.aggregate import Aggregate
from edgeret.adapters.mcp.catalogue import Catalogue
from edgeret.adapters.mcp.config import Say, Server
from edgeret.adapters.mcp.definitions import Definition
from edgeret.adapters.mcp.long_results import LongResults
from edgeret.adapters.mcp.names import BETWEEN
from edgeret.adapters.mcp.owners import Owners
from edgeret.adapters.mcp.passing import Passing
from edgeret.adapters.mcp.pins import Pins
from edgeret.adapters.mcp.proxy import Proxy
from edgeret.adapters.mcp.toolbox import Mode, Shown, Toolbox
from edgeret.adapters.mcp.upstream import CallError, Patience, Upstream
from edgeret.adapters.mcp.web import Access
from edgeret.adapters.metrics import Metrics
from edgeret.records import dataclass

SETTLE_S = 20.0
"""After this nobody waits any more for a server that is still starting."""
DECLARE_S = 5.0
"""After this the client is told that servers may have everything which are still starting."""
READING = "is there, its tools are still being read"
PINS_S = 1.0
"""Between looks at whether another process changed the file of pins."""
LAST_LESSONS_S = 2.0
"""To learn what the client's last calls taught, when it has gone."""
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Options:
    """How the proxy behaves; `base` is the bundle whose encoder reads, `overlay` and `pins` are files or none,
    `max_result` are bytes of text of a result, None for all, `examples` are requests by tools' names,
    and `loading` more options of `edgeret.load` for the base."""

    base: Path
    mode: Mode = "search"
    k: int = 5
    learns: bool = False
    overlay: Path | None = None
    pins: Path | None = None
    patience: Patience = field(default_factory=Patience)
    access: Access = field(default_factory=Access)
    max_result: int | None = None
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    metrics: str | None = None
    loading: Mapping[str, Any] = field(default_factory=dict)


def serve(servers: Sequence[Server], options: Options, say: Say) -> bool:
    """Serves one client on standard input and output, until it goes or a signal comes; whether it was a signal. Raises
    EdgeretError for a base, a learned file or pins that cannot be used."""
    sdk = logging.getLogger("mcp")
    sdk.propagate = False  # it writes what strangers say as it comes; whatever matters of it is told here
    sdk.addHandler(logging.NullHandler())
    catalogue = Catalogue(options.base, options.overlay, options.examples, **options.loading)
    pins = None if options.pins is None else Pins(options.pins, say)
    serving = _Serving(servers, options, catalogue, pins, say)
    with _counted(options.metrics, serving.counted, say):
        return anyio.run(serving.run)


@contextmanager
def _counted(listen: str | None, text: Callable[[], bytes], say: Say) -> Iterator[None]:
    """Lets Prometheus ask. Clients start a proxy each, of which one has the port; the others go on without."""
    with ExitStack() as stack:
        try:
            stack.enter_context(exporting(listen, text))
        except InputError as error:
            say(str(error))
        yield


class _Serving:
    def __init__(
        self, servers: Sequence[Server], options: Options, catalogue: Catalogue, pins: Pins | None, say: Say
    ) -> None:
        self._catalogue, self._pins, self._say = catalogue, pins, say
        self._owners = Owners({server.name: server.prefix for server in servers})
        self._passing = Passing(self._owners.shown, self._greeted)
        self._upstreams = {
            server.name: Upstream(server, options.patience, self._other, say, self._passing, options.access)
            for server in servers
        }
        self._aggregate = Aggregate(self._upstreams, self._owners, self._passing.through, say)
        shown = Shown(options.mode, options.k, [server.name for server in servers])
        self._proxy = Proxy(self._passing, self._aggregate, self)
        long = None if options.max_result is None else LongResults(options.max_result)
        self._metrics = Metrics()
        self._toolbox = Toolbox(shown, catalogue, self, options.learns, long, self._proxy.tell, say, self._metrics)
        self._proxy.toolbox = self._toolbox
        self._changed = anyio.Event()
        self._behind = True
        """Whether the catalogue does not yet hold what the servers have."""
        self._kept = anyio.Event()
        """Set when it does; the next time it is another event."""
        self._signalled = False

    def counted(self) -> bytes:
        """What was done so far, for Prometheus."""
        there = sum(not upstream.failed for upstream in self._upstreams.values())
        told = {
            "edgeret_tools": ("Tools that can be found.", len(self._catalogue.definitions)),
            "edgeret_mcp_servers": ("Servers that did not fail.", there),
        }
        return self._metrics.text(__version__, told)

    async def run(self) -> bool:
        """Until the client goes."""
        server, told = self._proxy.server()
        async with anyio.create_task_group() as tasks:
            if sys.platform != "win32":
                tasks.start_soon(self._until_signalled, tasks.cancel_scope)
            for upstream in self._upstreams.values():
                tasks.start_soon(upstream.run)
            tasks.start_soon(self._keep)
            if self._pins is not None:
                tasks.start_soon(self._watch, self._pins)
            tasks.start_soon(self._settle)
            tasks.start_soon(self._toolbox.follow)
            tasks.start_soon(self._passing.tell)
            self._proxy.tasks = tasks
            try:
                async with stdio_server(stdin=cast("Any", _lines())) as (read, write):
                    await server.run(read, write, told)
            except* (BrokenPipeError, anyio.BrokenResourceError):
                pass  # the client went without a word
            with anyio.move_on_after(LAST_LESSONS_S):
                await self._toolbox.followed()
            tasks.cancel_scope.cancel()
        return self._signalled

    async def _until_signalled(self, scope: anyio.CancelScope) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                self._signalled = True
                scope.cancel()
                return

    async def _settle(self) -> None:
        await anyio.sleep(SETTLE_S)
        self._toolbox.settled.set()

    def _other(self, _: Upstream) -> None:
        self._behind = True
        self._changed.set()

    async def _watch(self, pins: Pins) -> None:
        """Takes up what another process accepted or pinned."""
        while True:
            await anyio.sleep(PINS_S)
            if pins.moved():
                self._changed.set()

    async def _keep(self) -> None:
        """Keeps the tool set to what the servers have."""
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            more = True
            while more:
                try:
                    more = await anyio.to_thread.run_sync(self._update)
                except Exception as error:  # no stranger's definition may end the proxy, whatever it trips over
                    told = error if isinstance(error, EdgeretError) else f"{type(error).__name__}: {error}"
                    self._say(f"tools stay as they were: {told}")
                    break
                await self._toolbox.changed()
            current = not self._changed.is_set()
            if current:
                self._behind = False
            self._kept.set()
            self._kept = anyio.Event()
            # Not before what the last server to start has is there too: it may have come while others were added.
            if current and all(upstream.tried.is_set() for upstream in self._upstreams.values()):
                self._toolbox.settled.set()

    def _update(self) -> bool:
        return self._catalogue.update(self._wanted())

    def _wanted(self) -> Mapping[str, Definition]:
        wanted: dict[str, Definition] = {}
        for name, upstream in self._upstreams.items():
            wanted |= upstream.tools if self._pins is None else self._pins.admitted(name, upstream.tools)
        return wanted

    async def call(
        self, tool: Definition, arguments: Any, meta: Mapping[str, Any], progress: ProgressFnT | None
    ) -> dict[str, Any]:
        """Passes a call on. Raises MCPError as the server, and CallError."""
        upstream = self._upstreams[tool.server]

        def check() -> None:
            if upstream.tools and upstream.tools.get(tool.exposed) != tool:
                raise CallError(
                    f"server {tool.server} has no tool {tool.name} any more, or another one; find tools again"
                )

        params = {
            "name": tool.name,
            **({} if arguments is None else {"arguments": arguments}),
            **({"_meta": dict(meta)} if meta else {}),
        }
        result = await self._passing.through(upstream, "tools/call", params, check)
        return self._owners.named(tool.server, result)

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Tells all servers something of the client's."""
        for upstream in self._upstreams.values():
            await upstream.notify(method, params)

    async def declared(self) -> None:
        """Returns when it is known what servers have, or it takes too long."""
        await self._tried(DECLARE_S)

    async def settled(self) -> None:
        """Returns when all servers are there that start, or it takes too long."""
        await self._tried(SETTLE_S)

    async def _tried(self, most_s: float) -> None:
        with anyio.move_on_after(most_s):
            for upstream in self._upstreams.values():
                await upstream.tried.wait()

    async def _greeted(self, server: str) -> None:
        await self._aggregate.greeted(server, self._passing.level)

    async def started(self, name: str) -> None:
        """Waits until the server whose tool has this name was tried, and its tools are known."""
        begins = name.partition(BETWEEN)[0]
        for upstream in self._upstreams.values():
            if upstream.server.prefix == begins:
                await upstream.tried.wait()
                await upstream.again()
                with anyio.move_on_after(SETTLE_S):  # another one may say again and again that its tools changed
                    while self._behind:
                        await self._kept.wait()

    @property
    def absent(self) -> Mapping[str, str]:
        """Servers that are not there, or whose tools cannot all be found yet, and why."""
        known, found = self._catalogue.definitions, dict[str, str]()
        for name, upstream in self._upstreams.items():
            if upstream.failed or not upstream.tried.is_set():
                found[name] = upstream.problem
            elif self._behind and not upstream.tools.keys() <= known.keys():
                found[name] = READING
        return found


async def _lines() -> AsyncIterator[str]:
    """The lines of standard input. Read by a thread that nobody waits for: a blocked one would hold up the end."""
    into, lines = anyio.create_memory_object_stream[str](64)
    token = anyio.lowlevel.current_token()

    def read() -> None:
        rest = b""
        try:
            while chunk := os.read(0, _CHUNK):
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    anyio.from_thread.run(into.send, line.decode("utf-8", "replace"), token=token)
            anyio.from_thread.run_sync(into.close, token=token)
        except Exception:
            pass  # the loop is gone, and so is everybody who would read

    threading.Thread(target=read, daemon=True, name="stdin").start()
    async with lines:
        async for line in lines:
            yield line
