"""An MCP server with 150 tools of an office, which does nothing: every call is answered with what it was asked. For
trying `edgeret mcp` out, for its tests and for `edgeret-bench lab mcp`.

    python examples/mcp/office.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

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


def answered(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """A request's result; None for a method that is not there."""
    if method == "initialize":
        info = {"name": "office", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": definitions()}
    if method == "tools/call":
        told = json.dumps({"tool": params["name"], "arguments": params.get("arguments")}, ensure_ascii=False)
        return {"content": [{"type": "text", "text": told}]}
    return {} if method == "ping" else None


def main() -> None:
    """Serves until the client goes: a message a line, as the protocol has it. Without an SDK it starts at once."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answered(message["method"], message.get("params") or {})
        told = {"result": result} if result is not None else {"error": {"code": -32601, "message": "Method not found"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), flush=True)


if __name__ == "__main__":
    main()
