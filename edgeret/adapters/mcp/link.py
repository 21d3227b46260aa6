"""One open connection to a server: handshake, its tools, calls. Results are passed on as they come; what they hold is
the client's to judge. Knows nothing of restarts and of other servers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import MCPError
from mcp.shared.dispatcher import CallOptions, DispatchContext, ProgressFnT
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import METHOD_NOT_FOUND
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from edgeret import __version__
from edgeret.adapters.mcp.definitions import MOST_TOOLS
from edgeret.adapters.mcp.wire import Streams

MOST_PAGES = 200


class NotSpokenError(Exception):
    """A server that speaks no protocol version that is spoken here, or answers what is none of its answers."""


class Link:
    """Use `linked`."""

    def __init__(self, dispatcher: JSONRPCDispatcher[Any]) -> None:
        self._dispatcher = dispatcher
        self._headers: dict[str, str] = {}
        self.closed = anyio.Event()
        """Set when the other end is gone."""
        self.changed = anyio.Event()
        """Set when the server says that its tools are others; whoever lists them puts another event in its place."""

    async def greet(self) -> None:
        """The handshake. Raises MCPError and NotSpokenError."""
        told = {
            "protocolVersion": HANDSHAKE_PROTOCOL_VERSIONS[-1],
            "capabilities": {},
            "clientInfo": {"name": "edgeret", "version": __version__},
        }
        answer = await self._dispatcher.send_raw_request("initialize", told, {"cancel_on_abandon": False})
        version = answer.get("protocolVersion")
        if version not in HANDSHAKE_PROTOCOL_VERSIONS:
            raise NotSpokenError(
                f"speaks protocol {_shown(version)}, spoken here: {', '.join(HANDSHAKE_PROTOCOL_VERSIONS)}"
            )
        self._headers = {"MCP-Protocol-Version": str(version)}
        await self._dispatcher.notify("notifications/initialized", None, {"headers": self._headers})

    async def tools(self) -> list[Any]:
        """All pages of `tools/list`, as they come; of more than can be taken, one page beyond. Raises MCPError and
        NotSpokenError."""
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            params = None if cursor is None else {"cursor": cursor}
            page = await self._dispatcher.send_raw_request("tools/list", params, {"headers": self._headers})
            if not isinstance(page.get("tools"), list):
                raise NotSpokenError("answered tools/list without a list of tools")
            found += page["tools"]
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or len(found) > MOST_TOOLS:
                return found
        raise NotSpokenError(f"lists its tools on more than {MOST_PAGES} pages")

    async def call(self, params: Mapping[str, Any], timeout_s: float, progress: ProgressFnT | None) -> dict[str, Any]:
        """A `tools/call`, with its result as it comes. Cancelled with whoever awaits it. Raises MCPError."""
        options: CallOptions = {"timeout": timeout_s, "headers": self._headers}
        if progress is not None:
            options["on_progress"] = progress
        result: dict[str, Any] = await self._dispatcher.send_raw_request("tools/call", params, options)
        return result

    async def answer(self, _: DispatchContext[Any], method: str, __: Mapping[str, Any] | None) -> dict[str, Any]:
        """What a server is told that asks something: nothing but `ping` was offered to it."""
        if method == "ping":
            return {}
        raise MCPError(METHOD_NOT_FOUND, "Method not found")

    async def noticed(self, _: DispatchContext[Any], method: str, __: Mapping[str, Any] | None) -> None:
        """Takes a server's notification."""
        if method == "notifications/tools/list_changed":
            self.changed.set()


def _shown(version: Any) -> str:
    """A version as versions are written; of other words none, since models read them."""
    text = str(version)
    return repr(text) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else "of another kind"


@asynccontextmanager
async def linked(streams: Streams) -> AsyncIterator[Link]:
    """A connection over these streams, not yet greeted."""
    dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(*streams)
    link = Link(dispatcher)

    async def run(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        try:
            await dispatcher.run(link.answer, link.noticed, task_status=task_status)
        finally:
            link.closed.set()

    async with anyio.create_task_group() as tasks:
        await tasks.start(run)
        yield link
        tasks.cancel_scope.cancel()
