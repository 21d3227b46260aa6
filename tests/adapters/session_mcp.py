"""An MCP server over streamable HTTP that counts its calls in a file. Where another one of that name with ".forget" is
made, it forgets its sessions, as one does that waited too long, or another instance. Not a test itself.

python session_mcp.py PORT FILE [STATUS]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server import Server

LOG = Path(sys.argv[2])
FORGET = LOG.with_name(f"{LOG.name}.forget")
STATUS = int(sys.argv[3]) if len(sys.argv) > 3 else 404


async def listed(ctx: Any, _: Any) -> Any:
    if ctx.protocol_version >= "2026":
        raise ValueError("there are no sessions without a handshake")
    return {"tools": [{"name": "count_call", "description": "count a call", "inputSchema": {"type": "object"}}]}


async def called(*_: Any) -> Any:
    with LOG.open("a") as log:
        log.write("x")
    return {"content": [{"type": "text", "text": str(LOG.stat().st_size)}]}


class Forgetful:
    """An application, and the sessions that it has forgotten."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.seen: set[bytes] = set()
        self.forgotten: set[bytes] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        session = dict(scope.get("headers", ())).get(b"mcp-session-id")
        if session is not None:
            if FORGET.exists():
                FORGET.unlink()
                self.forgotten |= self.seen
            self.seen.add(session)
        if session in self.forgotten:
            headers = [(b"content-type", b"text/plain")]
            await send({"type": "http.response.start", "status": STATUS, "headers": headers})
            await send({"type": "http.response.body", "body": b"no such session"})
        else:
            await self.app(scope, receive, send)


if __name__ == "__main__":
    server: Server[Any] = Server("keeps sessions", on_list_tools=listed, on_call_tool=called)
    uvicorn.run(Forgetful(server.streamable_http_app()), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
