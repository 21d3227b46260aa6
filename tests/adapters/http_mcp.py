"""An MCP server over HTTP whose one tool tells the headers that it was called with. Not a test itself.

python http_mcp.py PORT [sse]        with `sse` over the older transport alone, at /sse
"""

from __future__ import annotations

import json
import sys
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.sse import SseServerTransport
from starlette.applications import Starlette
from starlette.routing import Mount, Route


async def listed(*_: Any) -> Any:
    return {"tools": [{"name": "show_headers", "description": "show the headers", "inputSchema": {"type": "object"}}]}


async def called(ctx: Any, params: Any) -> Any:
    await ctx.session.report_progress(1, 1)
    long = "x" * (params.arguments or {}).get("long", 0)
    return {"content": [{"type": "text", "text": json.dumps({**ctx.request.headers, "long": long})}]}


def older(server: Server[Any]) -> Starlette:
    """The server over the older transport."""
    transport = SseServerTransport("/messages/")

    class Events:
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            async with transport.connect_sse(scope, receive, send) as (read, write):
                await server.run(read, write, server.create_initialization_options())

    return Starlette(
        routes=[Route("/sse", Events(), methods=["GET"]), Mount("/messages/", transport.handle_post_message)]
    )


if __name__ == "__main__":
    http: Server[Any] = Server("http", on_list_tools=listed, on_call_tool=called)
    app = older(http) if sys.argv[2:] == ["sse"] else http.streamable_http_app()
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
