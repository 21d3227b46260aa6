"""An MCP server with 150 tools of an office, which does nothing: every call is answered with what it was asked. For
trying `edgeret mcp` out, for its tests and for `edgeret-bench lab mcp`.

    python examples/mcp/office.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

TOOLS = Path(__file__).with_name("tools.txt")
"""A line for every tool: name | description | parameters."""
NUMBERS = ("minutes", "days", "amount", "price", "percent", "quantity", "copies", "hours", "celsius", "weight", "seats")


def definitions() -> list[dict[str, Any]]:
    """The tools as `tools/list` gives them."""
    found = []
    for line in TOOLS.read_text(encoding="utf-8").splitlines():
        name, description, listed = (part.strip() for part in line.split("|"))
        keys = [key.strip() for key in listed.split(",") if key.strip()]
        properties = {key: {"type": "number" if any(word in key for word in NUMBERS) else "string"} for key in keys}
        schema = {"type": "object", "properties": properties, "required": keys[:1]}
        found.append({"name": name, "description": description, "inputSchema": schema})
    return found


async def main() -> None:
    """Serves until the client goes."""
    tools = definitions()

    async def listed(*_: Any) -> Any:
        return {"tools": tools}

    async def called(_: Any, params: Any) -> Any:
        text = json.dumps({"tool": params.name, "arguments": params.arguments}, ensure_ascii=False)
        return {"content": [{"type": "text", "text": text}]}

    server: Server[Any] = Server("office", on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
