"""An MCP server over streamable HTTP whose one tool tells the headers that it was called with. Not a test itself.

python http_mcp.py PORT
"""

from __future__ import annotations

import json
import sys
from typing import Any

import uvicorn
from mcp.server import Server


async def listed(*_: Any) -> Any:
    return {"tools": [{"name": "show_headers", "description": "show the headers", "inputSchema": {"type": "object"}}]}


async def called(ctx: Any, params: Any) -> Any:
    await ctx.session.report_progress(1, 1)
    return {"content": [{"type": "text", "text": json.dumps(dict(ctx.request.headers))}]}


if __name__ == "__main__":
    server: Server[Any] = Server("http", on_list_tools=listed, on_call_tool=called)
    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
