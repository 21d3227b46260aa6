"""A real proxy in a process of its own, and a client of it: what the tests of `edgeret mcp` share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
import warm
from patience import PATIENCE_S

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

HOSTILE = Path(__file__).with_name("hostile_mcp.py")
ROOT = Path(__file__).parents[2]


def hostile(behaviour: str, *more: str) -> dict[str, Any]:
    """The entry of a server that behaves so."""
    return {"command": sys.executable, "args": [str(HOSTILE), behaviour, *more]}


def write_config(folder: Path, **servers: Mapping[str, Any]) -> Path:
    """A file of servers."""
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def command(config: Path, *options: str) -> list[str]:
    """The proxy's command line."""
    return [sys.executable, "-m", "edgeret", "mcp", "--config", str(config), *options]


@asynccontextmanager
async def proxied(config: Path, base: Path, *options: str, mode: str = "auto", **more: Any) -> AsyncIterator[Any]:
    """A client of a proxy of these servers; `client.told()` is what the proxy wrote on standard error."""
    first, *rest = warm.python("-m", "edgeret", "mcp", "--config", str(config), "--base", str(base), *options)
    parameters = StdioServerParameters(command=first, args=rest, env={**os.environ, "OMP_NUM_THREADS": "1"})
    path = config.with_name("stderr")
    with path.open("a") as errors:
        client = Client(stdio_client(parameters, errlog=errors), mode=mode, **more)
        async with client:
            client.told = path.read_text  # type: ignore[attr-defined]
            yield client


async def names(client: Any, query: str) -> list[str]:
    """What a search finds."""
    return [tool["name"] for tool in (await found(client, query))["tools"]]


async def eventually(client: Any, name: str, query: str) -> None:
    """Returns when a search finds the tool: a busy machine may start a server later than a search waits for it."""
    with anyio.fail_after(PATIENCE_S):
        while name not in await names(client, query):
            await anyio.sleep(0.05)


async def found(client: Any, query: str) -> dict[str, Any]:
    """The answer of a search."""
    result = await client.call_tool("find_tools", {"query": query})
    assert not result.is_error, result
    return json.loads(result.content[0].text)


async def call(client: Any, name: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> Any:
    """A call in mode `search`."""
    return await client.call_tool("call_tool", {"name": name, "arguments": dict(arguments or {})}, **more)


def running(word: str) -> list[str]:
    """Command lines of processes that hold this word; without /proc there is nothing to see."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            lines.append(path.read_text(errors="replace"))
    return [line for line in lines if word in line]


def introduce(proxy: subprocess.Popen[bytes]) -> None:
    """Says to a proxy who its client is: before, servers are started and not greeted."""
    info = {"name": "t", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    assert proxy.stdin is not None
    proxy.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode() + b"\n"
    )
    proxy.stdin.flush()
