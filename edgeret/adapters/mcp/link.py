"""One open connection to a server: finds out which protocol it speaks, asks it, hands over what it asks and tells.
Results are passed on as they come; what they hold is the client's to judge. Knows nothing of restarts, of other
servers, and of who the client is."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import Any, Protocol

import anyio
from mcp import MCPError
from mcp.shared.dispatcher import CallOptions, DispatchContext, ProgressFnT
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, METHOD_NOT_FOUND, REQUEST_TIMEOUT
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from edgeret.adapters.mcp.config import Say
from edgeret.adapters.mcp.definitions import MOST_TOOLS
from edgeret.adapters.mcp.eras import ASKS, PROGRESS_TOKEN, SELF, Envelope, carried, modern, offered
from edgeret.adapters.mcp.sessions import Session, SessionLostError
from edgeret.adapters.mcp.wire import Streams
from edgeret.records import dataclass

MOST_PAGES = 200
MOST_LIST_BYTES = 32 << 20
"""Of one list's pages together; a page alone is bounded as every message is."""
MOST_ASKS = 16
"""Of one server, at a time: what it asks waits for people and models."""
MOST_NOTICES = 256
"""Of one server, waiting to be passed on; what comes beyond is lost, as the protocol allows."""
ASK_S = 600.0
"""For an answer of the client to what a server asks."""
PROBE_S = 10.0
"""For an answer to the first question, which servers before 2026-07-28 do not know, and some do not answer."""
AGAIN_S = 1.0
"""Before a stream of changes that ended is opened again."""
DRAIN_S = 2.0
"""For requests under way, when the session is lost: each may learn for itself that it was not carried out."""
LISTEN = "subscriptions/listen"


class NotSpokenError(Exception):
    """A server that speaks no protocol version that is spoken here, or answers what is none of its answers."""


class DeafError(NotSpokenError):
    """A server that ended over the first question, and would not over a handshake."""


@dataclass(frozen=True, slots=True)
class Hello:
    """How a client introduced himself: what he can do, and whether by a protocol version without a handshake."""

    capabilities: Mapping[str, Any]
    modern: bool


class Client(Protocol):
    """Who stands behind the proxy, as its servers see him. They are told apart by their names."""

    async def hello(self) -> Hello:
        """How he introduced himself, when he has."""

    async def asked(
        self, server: str, method: str, params: Mapping[str, Any], progress: ProgressFnT | None
    ) -> dict[str, Any]:
        """His answer to what a server asks. Raises MCPError."""

    async def noticed(self, server: str, method: str, params: Mapping[str, Any]) -> None:
        """Takes what a server tells him."""

    async def greeted(self, server: str) -> None:
        """A server is there, for the first time or again."""


class Link:
    """Use `linked`."""

    def __init__(
        self, server: str, dispatcher: JSONRPCDispatcher[Any], session: Session, client: Client, say: Say
    ) -> None:
        self.server, self.session = server, session
        self._dispatcher, self._client, self._say = dispatcher, client, say
        self.closed = anyio.Event()
        """Set when the other end is gone, or knows the session no more."""
        self.changed = anyio.Event()
        """Set when the server says that its tools are others; whoever lists them puts another event in its place."""
        self.capabilities: Mapping[str, Any] = {}
        self.envelope = Envelope(HANDSHAKE_PROTOCOL_VERSIONS[-1], {})
        self._offered: Mapping[str, Any] = {}
        self._ids = count(1)
        self._clocks: dict[anyio.CancelScope, float] = {}
        self._asks = self._notices = 0
        self._subscribed: set[str] = set()
        self._listens = anyio.Event()

    async def greet(self, hello: Hello, modern_first: bool, probe_s: float) -> None:
        """Agrees on a protocol version, tried in this order; one without a handshake is waited `probe_s` for. Raises
        MCPError and NotSpokenError."""
        if modern_first and await self._discovered(hello, probe_s):
            return
        version = HANDSHAKE_PROTOCOL_VERSIONS[-1]
        self._offered = offered(hello.capabilities, version)
        told = {"protocolVersion": version, "capabilities": self._offered, "clientInfo": SELF}
        try:
            answer = await self._dispatcher.send_raw_request("initialize", told, {"cancel_on_abandon": False})
        except MCPError:
            if self.closed.is_set() or not await self._discovered(hello, probe_s):
                raise
            return
        agreed = answer.get("protocolVersion")
        if agreed not in HANDSHAKE_PROTOCOL_VERSIONS:
            spoken = ", ".join((*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS))
            raise NotSpokenError(f"speaks protocol {_shown(agreed)}, spoken here: {spoken}")
        self._agreed(str(agreed), answer)
        _, headers = self.envelope.around("", None)
        await self._dispatcher.notify("notifications/initialized", None, {"headers": headers})

    async def _discovered(self, hello: Hello, probe_s: float) -> bool:
        """Whether the server speaks without a handshake. Raises NotSpokenError where it ended over the question."""
        version = MODERN_PROTOCOL_VERSIONS[-1]
        self._offered = offered(hello.capabilities, version)
        self.envelope = Envelope(version, self._offered)
        params, headers = self.envelope.around("server/discover", None)
        try:
            answer = await self._dispatcher.send_raw_request(
                "server/discover", params, {"timeout": probe_s, "cancel_on_abandon": False, "headers": headers}
            )
        except MCPError as error:
            if error.code == CONNECTION_CLOSED and self.closed.is_set():
                raise DeafError("ended over its first question") from None
            return False
        versions = answer.get("supportedVersions")
        if not isinstance(versions, list) or version not in versions:
            return False
        self._agreed(version, answer)
        return True

    def _agreed(self, version: str, answer: Mapping[str, Any]) -> None:
        self.envelope = Envelope(version, self._offered)
        capabilities = answer.get("capabilities")
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        progress: ProgressFnT | None = None,
    ) -> dict[str, Any]:
        """The result of a request, as it comes. Its time does not pass while the server asks the client. Cancelled with
        whoever awaits it. Raises MCPError, and SessionLostError where it was not carried out."""
        params, headers = self.envelope.around(method, params)
        number = next(self._ids)
        options: CallOptions = {"headers": headers, "request_id": number}
        if progress is not None:
            options["on_progress"] = progress
        with self._clock(timeout_s) as scope:
            try:
                return await self._dispatcher.send_raw_request(method, params, options)
            except MCPError:
                if number in self.session.refused:
                    raise SessionLostError from None
                raise
        assert scope.cancelled_caught, "nothing else goes on here"
        raise MCPError(REQUEST_TIMEOUT, f"Request {method!r} timed out")

    async def notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Tells the server something; one without a handshake is told nothing."""
        if not modern(self.envelope.version):
            await self._dispatcher.notify(method, params, {"headers": self.envelope.around(method, None)[1]})

    async def listed(self, method: str, key: str) -> list[Any]:
        """All pages of a list, as they come; of more than can be taken, one page beyond. Raises MCPError and
        NotSpokenError."""
        found: list[Any] = []
        size, seen = 0, set[str]()
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self.request(method, None if cursor is None else {"cursor": cursor})
            if not isinstance(page.get(key), list):
                raise NotSpokenError(f"answered {method} without a list of {key}")
            found += page[key]
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or cursor in seen or len(found) > MOST_TOOLS:
                return found
            seen.add(cursor)
            size += len(json.dumps(page))
            if size > MOST_LIST_BYTES:
                self._say(
                    f"server {self.server} lists {key} of more than {MOST_LIST_BYTES >> 20} MiB; the rest is left"
                )
                return found
        self._say(f"server {self.server} lists its {key} on more than {MOST_PAGES} pages; the rest is left out")
        return found

    def subscribe(self, uri: str, wanted: bool) -> dict[str, Any]:
        """Says to a server without a handshake whether the client wants to hear when a resource changes."""
        (self._subscribed.add if wanted else self._subscribed.discard)(uri)
        self._listens.set()
        return {}

    async def listen(self) -> None:
        """Keeps a stream of changes open where the server wants to be asked for them; returns where it does not."""
        number = count(1)
        while modern(self.envelope.version):
            self._listens = anyio.Event()
            async with anyio.create_task_group() as tasks:
                if wanted := self._wanted():
                    tasks.start_soon(self._hear, {"notifications": wanted}, f"edgeret-listen-{next(number)}")
                await self._listens.wait()
                tasks.cancel_scope.cancel()

    def _wanted(self) -> dict[str, Any]:
        wanted: dict[str, Any] = {}
        for name in ("tools", "prompts", "resources"):
            said = self.capabilities.get(name)
            if isinstance(said, Mapping) and said.get("listChanged") is True:
                wanted[f"{name}ListChanged"] = True
        if self._subscribed:
            wanted["resourceSubscriptions"] = sorted(self._subscribed)
        return wanted

    async def _hear(self, wanted: Mapping[str, Any], number: str) -> None:
        params, headers = self.envelope.around(LISTEN, wanted)
        try:
            await self._dispatcher.send_raw_request(LISTEN, params, {"request_id": number, "headers": headers})
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                return
        await anyio.sleep(AGAIN_S)
        self.changed.set()  # whatever changed meanwhile was not told
        for name in ("prompts", "resources"):
            await self._client.noticed(self.server, f"notifications/{name}/list_changed", {})
        self._listens.set()

    async def answer(self, ctx: DispatchContext[Any], method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """What a server is told that asks something: the client's answer, where the client can give one."""
        if method == "ping":
            return {}
        if method not in ASKS or ASKS[method] not in self._offered:
            raise MCPError(METHOD_NOT_FOUND, "Method not found")
        if self._asks >= MOST_ASKS:
            raise MCPError(INTERNAL_ERROR, f"at most {MOST_ASKS} questions at a time are passed on to the client")
        self._asks += 1
        if self._asks == 1:
            self._stop_clocks()
        meta = (params or {}).get("_meta")
        progress = ctx.progress if isinstance(meta, Mapping) and PROGRESS_TOKEN in meta else None
        try:
            with anyio.fail_after(ASK_S):
                return await self._client.asked(self.server, method, carried(params), progress)
        except TimeoutError:
            raise MCPError(REQUEST_TIMEOUT, f"the client did not answer within {ASK_S:g} s") from None
        finally:
            self._asks -= 1
            if not self._asks:
                self._start_clocks()

    async def noticed(self, _: DispatchContext[Any], method: str, params: Mapping[str, Any] | None) -> None:
        """Takes a server's notification."""
        if method == "notifications/tools/list_changed":
            self.changed.set()
        elif method not in ("notifications/cancelled", "notifications/progress") and self._notices < MOST_NOTICES:
            self._notices += 1
            try:
                await self._client.noticed(self.server, method, carried(params))
            finally:
                self._notices -= 1

    @contextmanager
    def _clock(self, timeout_s: float | None) -> Iterator[anyio.CancelScope]:
        with anyio.CancelScope() as scope:
            self._clocks[scope] = float("inf") if timeout_s is None else timeout_s
            if not self._asks:
                scope.deadline = anyio.current_time() + self._clocks[scope]
            try:
                yield scope
            finally:
                del self._clocks[scope]

    def _stop_clocks(self) -> None:
        for scope in self._clocks:
            self._clocks[scope] = scope.deadline - anyio.current_time()
            scope.deadline = float("inf")

    def _start_clocks(self) -> None:
        for scope, left in self._clocks.items():
            scope.deadline = anyio.current_time() + left

    async def watch(self) -> None:
        """Closes the link when the server knows its session no more."""
        await self.session.lost.wait()
        with anyio.move_on_after(DRAIN_S):
            while self._clocks:
                await anyio.sleep(0.01)
        self.closed.set()

    async def look(self) -> None:
        """Asks whether the server is still there and knows its session, where its stream has ended."""
        while True:
            await self.session.hung_up.wait()
            self.session.hung_up = anyio.Event()
            await anyio.sleep(AGAIN_S)
            try:
                await self.request("ping", None, PROBE_S)
            except (MCPError, SessionLostError):
                continue


def _shown(version: Any) -> str:
    """A version as versions are written; of other words none, since models read them."""
    text = str(version)
    return repr(text) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else "of another kind"


@asynccontextmanager
async def linked(server: str, streams: Streams, session: Session, client: Client, say: Say) -> AsyncIterator[Link]:
    """A connection over these streams, not yet greeted."""
    dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(*streams)
    link = Link(server, dispatcher, session, client, say)

    async def run(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        try:
            await dispatcher.run(link.answer, link.noticed, task_status=task_status)
        finally:
            link.closed.set()

    async with anyio.create_task_group() as tasks:
        await tasks.start(run)
        tasks.start_soon(link.watch)
        tasks.start_soon(link.look)
        yield link
        tasks.cancel_scope.cancel()
