"""The session with the client: what the proxy says of itself, and who answers what. Knows nothing of tools and of how
servers are reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from anyio.abc import TaskGroup
from mcp import MCPError
from mcp.server import NotificationOptions, Server
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import ListenHandler
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, PaginatedRequestParams
from mcp_types.methods import INPUT_REQUIRED_METHODS, validate_client_request

from edgeret import __version__
from edgeret.adapters.mcp.aggregate import Aggregate
from edgeret.adapters.mcp.calls import CALL
from edgeret.adapters.mcp.entries import PROMPTS, RESOURCES, TEMPLATES
from edgeret.adapters.mcp.eras import carried, carried_meta, modern, result_for
from edgeret.adapters.mcp.passing import Passing
from edgeret.adapters.mcp.toolbox import FIND, Toolbox
from edgeret.adapters.mcp.upstream import CallError

Params = Mapping[str, Any]
_LISTS = {kind.method: kind for kind in (PROMPTS, RESOURCES, TEMPLATES)}


class Servers(Protocol):
    """What stands behind the session."""

    async def declared(self) -> None:
        """Returns when it is known what servers have, or it takes too long."""

    async def settled(self) -> None:
        """Returns when all servers are there that start, or it takes too long."""

    async def tell(self, method: str, params: Params) -> None:
        """Tells all servers something of the client's."""


class Proxy:
    """One client's session."""

    def __init__(self, passing: Passing, aggregate: Aggregate, servers: Servers) -> None:
        """Not yet served; `toolbox` is to be set before, and `tasks`, in which requests go on that ended with a
        question."""
        self.toolbox: Toolbox
        self.tasks: TaskGroup
        self._passing, self._aggregate, self._servers = passing, aggregate, servers
        self._listen = ListenHandler(passing.bus)
        self._own: dict[str, Callable[[Params], Awaitable[dict[str, Any]]]] = {
            "prompts/get": aggregate.prompt,
            "resources/read": aggregate.read,
            "resources/subscribe": aggregate.subscribe,
            "resources/unsubscribe": aggregate.unsubscribe,
            "completion/complete": aggregate.complete,
            "logging/setLevel": self._log_from,
        }

    def server(self) -> tuple[Server[Any], InitializationOptions]:
        """The server to run, with what it says of itself."""
        server: Server[Any] = Server(
            "edgeret",
            version=__version__,
            instructions=f"Many tools stand behind this server. Ask {FIND} for those that a task needs.",
            on_list_tools=self._list,
            on_call_tool=self._never,
            on_subscriptions_listen=self._listened,
            cache_hints={"tools/list": CacheHint(ttl_ms=0, scope="private")},
        )
        server.middleware[:] = [self._any]
        return server, server.create_initialization_options(NotificationOptions(tools_changed=True))

    async def tell(self) -> None:
        """The client's list of tools became another."""
        await self._passing.tell_changed("tools")

    async def _list(self, _: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> Any:
        tools = await self.toolbox.listed()
        self._passing.listed.add("tools")
        return {"resultType": "complete", "tools": tools}  # older protocols leave the type out

    async def _never(self, *_: Any) -> Any:
        raise AssertionError("calls are answered before their results would be parsed")

    async def _any(self, ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
        """Answers itself what servers answer, with what they gave; everything else goes on."""
        if ctx.request_id is None:
            await self._noticed(ctx.method)
            return await call_next(ctx)
        params = ctx.params or {}
        self._passing.heard(ctx.session, ctx.method, params, ctx.protocol_version)
        if ctx.method in ("initialize", "server/discover"):
            return await self._introduced(ctx, call_next)
        if ctx.method == "tools/call":
            return await self._carried(ctx, lambda: self._call(params))
        if ctx.method not in self._own and ctx.method not in _LISTS:
            return await call_next(ctx)
        try:
            validate_client_request(ctx.method, ctx.protocol_version, params or None)
        except KeyError:
            raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method) from None
        if ctx.method in _LISTS:
            return result_for(ctx.protocol_version, ctx.method, await self._listed(ctx.method))
        return await self._carried(ctx, lambda: self._own[ctx.method](carried(params)))

    async def _noticed(self, method: str) -> None:
        if method == "notifications/initialized":
            self._passing.ready()
        elif method == "notifications/roots/list_changed":
            await self._servers.tell(method, {})

    async def _introduced(self, ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
        """What the proxy says of itself, with what its servers have."""
        result = await call_next(ctx)
        if isinstance(result, dict):
            await self._servers.declared()
            result = {**result, "capabilities": self._aggregate.capabilities()}
        return result

    async def _listed(self, method: str) -> dict[str, Any]:
        kind = _LISTS[method]
        await self._servers.settled()
        found = await self._aggregate.listed(kind)
        self._passing.listed.add(kind.capability)
        return {kind.key: found}

    async def _carried(
        self, ctx: ServerRequestContext[Any], work: Callable[[], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """The result of a request in which a server may ask something."""
        calls = self._passing.calls
        try:
            if modern(ctx.protocol_version) and ctx.method in INPUT_REQUIRED_METHODS:
                result = await calls.carry(ctx, self.tasks, work)
            else:
                result = await calls.within(ctx, work)
        except CallError as error:
            raise MCPError(INTERNAL_ERROR, str(error)) from None
        return result_for(ctx.protocol_version, ctx.method, result)

    async def _call(self, params: Params) -> dict[str, Any]:
        """`tools/call`, of a tool of the proxy's own or of a server's."""
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            raise MCPError(INVALID_PARAMS, "tools/call takes a name and an object of arguments")
        call = CALL.get()
        progress = call.progress if call is not None and call.wants_progress else None
        return await self.toolbox.call(name, arguments, carried_meta(params), progress)

    async def _log_from(self, params: Params) -> dict[str, Any]:
        self._passing.level = str(params["level"])
        await self._aggregate.log_from(self._passing.level)
        return {}

    async def _listened(self, ctx: ServerRequestContext[Any], params: Any) -> Any:
        """A stream of changes: those of resources are asked for at their servers as long as it lasts."""
        wanted = params.notifications.resource_subscriptions or ()
        for uri in wanted:
            await self._aggregate.hold(uri)
        for kind, asked in (
            ("prompts", params.notifications.prompts_list_changed),
            ("resources", params.notifications.resources_list_changed),
        ):
            if asked:
                self._passing.listed.add(kind)
        try:
            return await self._listen(ctx, params)
        finally:
            for uri in wanted:
                self.tasks.start_soon(self._aggregate.release, uri)
