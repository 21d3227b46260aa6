"""The server that the client sees: what it lists, finds and passes through. Knows nothing of how servers are
kept running."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import anyio
from mcp import MCPError
from mcp.server import NotificationOptions, Server
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import INVALID_PARAMS, PaginatedRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from edgeret import EdgeretError, __version__
from edgeret.adapters.mcp.catalogue import Catalogue
from edgeret.adapters.mcp.config import Say
from edgeret.adapters.mcp.definitions import Definition
from edgeret.adapters.mcp.request import Request
from edgeret.adapters.mcp.upstream import CallError
from edgeret.records import dataclass

Mode = Literal["search", "trim"]
FIND, CALL = "find_tools", "call_tool"
"""Names of the proxy's own tools; a server's tools have two underscores in theirs."""
_OWN_META, _TOKEN = "io.modelcontextprotocol/", "progressToken"
"""What belongs to one connection, and is not passed on to another."""


class Servers(Protocol):
    """What stands behind the proxy."""

    async def call(
        self, tool: Definition, arguments: Any, meta: Mapping[str, Any], progress: ProgressFnT | None
    ) -> dict[str, Any]:
        """Passes a call on to the server that has the tool. Raises MCPError as the server, and CallError."""

    async def started(self, name: str) -> None:
        """Returns when it is known whether the server that has a tool of that name is there."""

    @property
    def absent(self) -> Mapping[str, str]:
        """Servers that are not there, and why."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What the client is shown: the mode, how many tools a search gives (and mode `trim` lists), and the servers."""

    mode: Mode
    k: int
    servers: Sequence[str]

    @property
    def find(self) -> dict[str, Any]:
        """The tool that finds tools."""
        then = f"call them with {CALL}" if self.mode == "search" else "then call them by their names"
        return {
            "name": FIND,
            "description": f"Finds tools of these servers: {', '.join(self.servers)}. Say in plain words what is to be "
            f"done, one thing at a time; {then}.",
            "inputSchema": {
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
            },
            "annotations": {"readOnlyHint": True},
        }

    @property
    def call(self) -> dict[str, Any]:
        """The tool that calls what was found."""
        return {
            "name": CALL,
            "description": f"Calls a tool that {FIND} found, with arguments as its inputSchema says.",
            "inputSchema": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
                "required": ["name"],
            },
        }


class Proxy:
    """One client's session."""

    def __init__(self, shown: Shown, catalogue: Catalogue, servers: Servers, learns: bool, say: Say) -> None:
        """Not yet served. `settled` is to be set when the tools of all servers that start are there."""
        self.settled = anyio.Event()
        self._shown, self._catalogue, self._servers, self._learns, self._say = shown, catalogue, servers, learns, say
        self._request = Request()
        self._session: ServerSession | None = None
        self._bus = InMemorySubscriptionBus()
        self._told: set[str] = set()
        self._done: asyncio.Queue[tuple[str | None, str]] = asyncio.Queue()
        self._listed = False

    def server(self) -> tuple[Server[Any], InitializationOptions]:
        """The server to run, with what it says of itself."""
        server: Server[Any] = Server(
            "edgeret",
            version=__version__,
            instructions=f"Many tools stand behind this server. Ask {FIND} for those that a task needs.",
            on_list_tools=self._list,
            on_call_tool=self._never,
            on_subscriptions_listen=ListenHandler(self._bus),
            cache_hints={"tools/list": CacheHint(ttl_ms=0, scope="private")},
        )
        server.middleware[:] = [self._call]
        return server, server.create_initialization_options(NotificationOptions(tools_changed=True))

    async def changed(self) -> None:
        """The tools that are there became others; the client is told where that changes its list."""
        if self._shown.mode == "trim" and await self._trim():
            await self._tell()

    async def _list(self, _: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> Any:
        if self._shown.mode == "search":
            return _page([self._shown.find, self._shown.call])
        await self.settled.wait()
        known = self._catalogue.definitions
        listed = [known[name].shown for name in self._request.shown if name in known]
        self._listed = True
        return _page([self._shown.find, *listed])

    async def _never(self, *_: Any) -> Any:
        raise AssertionError("calls are answered before their results would be parsed")

    async def _call(self, ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
        """Answers `tools/call` itself, with what the server gave; everything else goes on."""
        if ctx.request_id is not None:
            self._session = ctx.session
        if ctx.method != "tools/call":
            return await call_next(ctx)
        params = ctx.params or {}
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            raise MCPError(INVALID_PARAMS, "tools/call takes a name and an object of arguments")
        result = await self._answer(ctx, name, arguments)
        return {"resultType": "complete", **result} if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else result

    async def _answer(
        self, ctx: ServerRequestContext[Any], name: str, arguments: dict[str, Any] | None
    ) -> dict[str, Any]:
        if name == FIND:
            return await self._find((arguments or {}).get("query"))
        if name == CALL and self._shown.mode == "search":
            wrapped = arguments or {}
            named, arguments = wrapped.get("name"), wrapped.get("arguments")
            if not isinstance(named, str) or not isinstance(arguments, dict | None):
                return _failed(f'{CALL} takes "name", a text, and "arguments", an object')
            name = named
        if name not in self._catalogue.definitions:
            await self._servers.started(name)
        tool = self._catalogue.definitions.get(name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name[:80]}; find tools with {FIND}")
        given = (ctx.params or {}).get("_meta")
        given = given if isinstance(given, dict) else {}
        meta = {key: value for key, value in given.items() if key != _TOKEN and not key.startswith(_OWN_META)}
        try:
            result = await self._servers.call(
                tool, arguments, meta, ctx.session.report_progress if _TOKEN in given else None
            )
        except CallError as error:
            return _failed(str(error))
        if result.get("isError") is not True:
            self._done.put_nowait((self._request.worked(tool.exposed), tool.exposed))
        return result

    async def _find(self, query: Any) -> dict[str, Any]:
        if not isinstance(query, str):
            return _failed(f'{FIND} takes "query", a text')
        await self.settled.wait()
        try:
            names = await anyio.to_thread.run_sync(self._catalogue.find, query, self._shown.k)
        except EdgeretError as error:
            return _failed(str(error))
        self._request.search(query)
        if self._shown.mode == "trim" and await self._trim():
            await self._tell()
        known = self._catalogue.definitions
        found = [known[name].found for name in names if name in known]
        answer: dict[str, Any] = {"tools": found}
        if absent := self._servers.absent:
            answer["serversNotThereNow"] = dict(absent)
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        return {"content": [{"type": "text", "text": text}]}

    async def follow(self) -> None:
        """Takes up calls that worked, one after the other; nobody waits for what is made of them."""
        while True:
            query, tool = await self._done.get()
            try:
                await self._worked(query, tool)
            finally:
                self._done.task_done()

    async def followed(self) -> None:
        """Returns when all calls so far were taken up."""
        await self._done.join()

    async def _worked(self, query: str | None, tool: str) -> None:
        if self._learns and query is not None:
            try:
                await anyio.to_thread.run_sync(self._catalogue.learn, query, tool)
            except EdgeretError as error:
                if (line := f"not learned: {error}") not in self._told:
                    self._told.add(line)
                    self._say(line)
        if self._shown.mode == "trim" and await self._trim():
            await self._tell()

    async def _trim(self) -> bool:
        """Chooses the tools that are listed; whether they are others than before."""
        request, known = self._request, self._catalogue.definitions
        if not request.query:
            return request.show(_some_of_each(known, self._shown.k))
        return request.show(
            await anyio.to_thread.run_sync(self._catalogue.likely, request.query, tuple(request.calls), self._shown.k)
        )

    async def _tell(self) -> None:
        if not self._listed:
            return  # it knows no list that could have changed
        await self._bus.publish(ToolsListChanged())
        if self._session is not None:
            await self._session.send_tool_list_changed()


def _page(tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A `tools/list` result; older protocols leave its type out."""
    return {"resultType": "complete", "tools": list(tools)}


def _some_of_each(known: Mapping[str, Definition], k: int) -> list[str]:
    """`k` tools where nobody said yet what is wanted: the first of every server, then the second ones."""
    rank: dict[str, int] = {}
    place: dict[str, int] = {}
    for name, tool in known.items():
        place[name] = rank[tool.server] = rank.get(tool.server, -1) + 1
    return sorted(known, key=place.__getitem__)[:k]


def _failed(message: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"edgeret: {message}"}], "isError": True}
