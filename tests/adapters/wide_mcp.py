"""An MCP server on standard input and output, written by hand, with one of everything besides tools. Not a test itself.

    python wide_mcp.py NAME [BEHAVIOUR]

Its results say NAME. It speaks the protocol with a handshake.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from typing import Any

NAME = sys.argv[1]
BEHAVIOUR = sys.argv[2] if len(sys.argv) > 2 else ""
SCHEMA = {"type": "object"}
TOOLS = ("touch", "ask", "ask_twice", "seen", "links", "log")
SHARED, TEMPLATE = "memo://shared", "item://{number}"
HELLO = {
    "name": "hello",
    "title": "Hello",
    "description": f"says hello as {NAME}",
    "arguments": [{"name": "whom", "required": True, "unheardOf": 1}],
    "icons": [{"src": "data:image/png;base64,AA==", "sizes": ["48x48"]}],
    "_meta": {"of": NAME},
}
QUESTION = {
    "messages": [{"role": "user", "content": {"type": "text", "text": f"{NAME} asks"}}],
    "maxTokens": 5,
    "metadata": {"nothing": None},
}
numbers = count(1_000)
told: list[Any] = []
subscribed: list[str] = []
answers: dict[Any, Any] = {}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tell(method: str, params: dict[str, Any]) -> None:
    send({"method": f"notifications/{method}", "params": params})


def ask(method: str, params: dict[str, Any]) -> Any:
    """Asks the client, and reads on until it answers."""
    number = next(numbers)
    send({"id": number, "method": method, "params": params})
    while number not in answers:
        take(json.loads(sys.stdin.readline()))
    return answers.pop(number)


def resources(cursor: str | None) -> dict[str, Any]:
    if BEHAVIOUR == "endless":
        return {"resources": [{"uri": f"memo://{cursor}", "name": "n"}], "nextCursor": f"{cursor}+"}
    if BEHAVIOUR == "again":
        return {"resources": [{"uri": f"memo://{cursor}", "name": "n"}], "nextCursor": "same"}
    if BEHAVIOUR == "flood":
        return {"resources": [{"uri": f"memo://{i}", "name": "n"} for i in range(5_000)]}
    if BEHAVIOUR == "odd":
        odd = [7, {"uri": "memo://no-name"}, {"uri": "memo://\u202eevil", "name": "n"}, {"uri": 3, "name": "n"}]
        odd += [{"uri": "memo://big", "name": "n" * 70_000}, {"uri": "memo://size", "name": "n", "size": "large"}]
        fine = {"uri": "memo://fine", "name": "fine\u200b", "description": "read\x1b[2J this\U000e0041"}
        return {"resources": [*odd, fine, fine]}
    entries = [{"uri": f"memo://{NAME}", "name": NAME, "annotations": {"priority": 0.5}, "size": 3, "_meta": {"x": 1}}]
    return {"resources": [*entries, {"uri": SHARED, "name": "shared"}]}


def listed(method: str, cursor: str | None) -> dict[str, Any]:
    if method == "tools/list":
        return {"tools": [{"name": name, "description": f"{name} it", "inputSchema": SCHEMA} for name in TOOLS]}
    if method == "resources/list":
        return resources(cursor)
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": TEMPLATE, "name": "item", "mimeType": "text/plain"}]}
    if BEHAVIOUR == "odd":
        odd = [{"name": "\x1b[2Jclear"}, {"name": 8}, {"name": "x" * 300}, {"name": "bad", "arguments": [{}]}, HELLO]
        return {"prompts": odd}
    return {"prompts": [HELLO]}


def called(name: str) -> dict[str, Any]:
    more: dict[str, Any] = {}
    text: Any = NAME
    if name == "touch":
        for uri in subscribed:
            tell("resources/updated", {"uri": uri})
        for kind in ("prompts", "resources"):
            for _ in range(3):
                tell(f"{kind}/list_changed", {})
    elif name == "log":
        for level in ("debug", "info", "error"):
            tell("message", {"level": level, "logger": "core", "data": {"of": NAME}})
        tell("message", {"level": "error", "data": "bare"})
        tell("elicitation/complete", {"elicitationId": "e1"})
    elif name == "ask":
        text = ask("sampling/createMessage", {**QUESTION, "_meta": {"progressToken": "p"}})
    elif name == "ask_twice":
        roots = ask("roots/list", {})
        text = [roots, ask("elicitation/create", {"message": "who?", "requestedSchema": {**SCHEMA, "properties": {}}})]
    elif name == "seen":
        text = told
    elif name == "links":
        links = [{"type": "resource_link", "uri": uri, "name": "n"} for uri in (SHARED, f"memo://{NAME}", "item://7")]
        embedded = {"type": "resource", "resource": {"uri": SHARED, "text": "t"}, "annotations": {"audience": ["user"]}}
        return {"content": [*links, embedded, {"type": "text", "text": SHARED}], "structuredContent": {"uri": SHARED}}
    return {"content": [{"type": "text", "text": json.dumps(text)}], **more}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        capabilities: dict[str, Any] = {"tools": {}, "prompts": {"listChanged": True}, "logging": {}, "completions": {}}
        capabilities["resources"] = {"subscribe": True, "listChanged": True}
        said = {"instructions": f"Ask {NAME} twice.\x1b[2J" + "x" * 5_000}
        info = {"name": NAME, "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info, **said}
    if method.endswith("/list"):
        return listed(method, params.get("cursor"))
    if method == "prompts/get":
        content = {"type": "resource", "resource": {"uri": SHARED, "text": NAME}}
        return {"description": json.dumps(params), "messages": [{"role": "user", "content": content}]}
    if method == "resources/read":
        known = (SHARED, f"memo://{NAME}")
        if params["uri"] not in known and not params["uri"].startswith(("item://", f"hidden://{NAME}")):
            raise LookupError
        return {"contents": [{"uri": params["uri"], "text": f"{NAME} {params['uri']}", "_meta": {"y": 2}}], "more": 1}
    if method == "completion/complete":
        return {"completion": {"values": [NAME, json.dumps(params)], "hasMore": False}}
    if method == "resources/subscribe":
        subscribed.append(params["uri"])
    if method == "resources/unsubscribe":
        subscribed.remove(params["uri"])
    if method == "tools/call":
        return called(params["name"])
    return {}


def take(message: dict[str, Any]) -> None:
    """One message of the client."""
    method, number = message.get("method"), message.get("id")
    if method is None:
        answers[number] = message.get("result", message.get("error"))
        return
    told.append({"method": method, "params": message.get("params")})
    if number is None:
        if method == "notifications/initialized" and BEHAVIOUR == "early":
            send({"id": next(numbers), "method": "roots/list"})
        return
    if method == "server/discover":
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})
        return
    try:
        send({"id": number, "result": answer(method, message.get("params") or {})})
    except LookupError:
        send({"id": number, "error": {"code": -32002, "message": f"{NAME} has no such thing", "data": {"d": None}}})


if __name__ == "__main__":
    while line := sys.stdin.readline():
        take(json.loads(line))
