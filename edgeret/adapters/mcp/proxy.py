"""The session with the client: what the proxy says of itself, and who answers what. Knows nothing of tools."""

from __future__ import annotations

from typing import Any

from mcp import MCPError
from mcp.server import NotificationOptions, Server
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types import INVALID_PARAMS, PaginatedRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from edgeret import __version__
from edgeret.adapters.mcp.toolbox import FIND, Toolbox

_OWN_META, _TOKEN = "io.modelcontextprotocol/", "progressToken"
"""What belongs to one connection, and is not passed on to another."""


class Proxy:
    """One client's session."""

    def __init__(self) -> None:
        """Not yet served; `toolbox` is to be set before."""
        self.toolbox: Toolbox
        self._session: ServerSession | None = None
        self._bus = InMemorySubscriptionBus()
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

    async def tell(self) -> None:
        """The client's list of tools became another."""
        if not self._listed:
            return  # it knows no list that could have changed
        await self._bus.publish(ToolsListChanged())
        if self._session is not None:
            await self._session.send_tool_list_changed()

    async def _list(self, _: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> Any:
        tools = await self.toolbox.listed()
        self._listed = True
        return {"resultType": "complete", "tools": tools}  # older protocols leave the type out

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
        given = params.get("_meta")
        given = given if isinstance(given, dict) else {}
        meta = {key: value for key, value in given.items() if key != _TOKEN and not key.startswith(_OWN_META)}
        progress = ctx.session.report_progress if _TOKEN in given else None
        result = await self.toolbox.call(name, arguments, meta, progress)
        return {"resultType": "complete", **result} if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else result
