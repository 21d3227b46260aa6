"""An MCP server that speaks protocol 2026-07-28 and nothing older, over standard input and output. Not a test itself.

python modern_mcp.py [PORT]
"""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
import uvicorn
from mcp import MCPError
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION

BUS = InMemorySubscriptionBus()
ASKS = {
    "mood": {"method": "elicitation/create", "params": {"message": "how are you?", "requestedSchema": {
        "type": "object", "properties": {"value": {"type": "string"}}}}},
    "rain": {"method": "sampling/createMessage", "params": {"maxTokens": 5, "messages": [
        {"role": "user", "content": {"type": "text", "text": "rain?"}}]}},
    "roots": {"method": "roots/list"},
}  # fmt: skip
FRESH = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def said(text: str) -> dict[str, Any]:
    return {"resultType": "complete", "content": [{"type": "text", "text": text}]}


async def tools(*_: Any) -> Any:
    schema = {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}}
    names = ("ask", "touch", "version")
    return {**FRESH, "tools": [{"name": name, "description": f"{name} it", "inputSchema": schema} for name in names]}


async def called(ctx: Any, params: Any) -> Any:
    if params.name == "touch":
        await BUS.publish(ResourceUpdated("memo://modern"))
        await BUS.publish(ResourcesListChanged())
        await ctx.session.send_log_message("error", "touched", "core")
    if params.name != "ask":
        headers = dict(ctx.request.headers) if ctx.request is not None else {}
        return said(json.dumps([ctx.protocol_version, headers.get("mcp-param-city")]))
    if params.input_responses is None:
        return {"resultType": "input_required", "inputRequests": ASKS, "requestState": "first"}
    if params.request_state == "first":
        await ctx.session.report_progress(1, 2)
        found = {
            key: answer.model_dump(mode="json", exclude_none=True) for key, answer in params.input_responses.items()
        }
        state = json.dumps(found, sort_keys=True)
        return {"resultType": "input_required", "inputRequests": {"mood": ASKS["mood"]}, "requestState": state}
    return said(params.request_state)


async def resources(*_: Any) -> Any:
    return {**FRESH, "resources": [{"uri": "memo://modern", "name": "modern"}]}


async def read(ctx: Any, params: Any) -> Any:
    return {**FRESH, "ttlMs": 5, "contents": [{"uri": params.uri, "text": "höre"}]}


async def no_handshake(ctx: Any, call_next: Any) -> Any:
    if ctx.method == "initialize":
        raise MCPError(UNSUPPORTED_PROTOCOL_VERSION, "no handshake", {"supported": ["2026-07-28"], "requested": "x"})
    return await call_next(ctx)


async def main() -> None:
    server: Server[Any] = Server(
        "modern",
        on_list_tools=tools,
        on_call_tool=called,
        on_list_resources=resources,
        on_read_resource=read,
        on_subscriptions_listen=ListenHandler(BUS),
    )
    server.middleware.append(no_handshake)
    if len(sys.argv) > 1:
        app = server.streamable_http_app()
        await uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")).serve()
        return
    async with stdio_server() as (receive, send):
        await server.run(receive, send, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
