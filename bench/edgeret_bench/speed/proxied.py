"""What `edgeret mcp` adds to a call: the same call of the same program, straight and through the proxy, in turns."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from edgeret.adapters.mcp.config import Server
from edgeret.adapters.mcp.definitions import Definition
from edgeret.errors import InputError
from edgeret_bench.metrics import quantiles

WARM = 10
"""Calls of either kind before any is measured."""


def measure_calls(
    config: Path, servers: Mapping[str, Server], tool: Definition, base: Path, calls: int
) -> dict[str, Any]:
    """Quantiles in ms of a call without arguments, `direct` and `proxied`, and what the proxy `added` at each quantile.
    Raises InputError for a server that is not started but connected to."""
    server = servers[tool.server]
    if server.url:
        raise InputError(f"server {server.name} is elsewhere; time a tool of a server that is started here")
    return anyio.run(_measured, config, server, tool, base, calls)


async def _measured(config: Path, server: Server, tool: Definition, base: Path, calls: int) -> dict[str, Any]:
    own = ["-m", "edgeret", "mcp", "--config", str(config), "--base", str(base)]
    ways = {
        "direct": StdioServerParameters(
            command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
        ),
        "proxied": StdioServerParameters(command=sys.executable, args=own, env=dict(os.environ)),
    }
    arguments = {"direct": (tool.name, {}), "proxied": ("call_tool", {"name": tool.exposed, "arguments": {}})}
    samples: dict[str, list[float]] = {way: [] for way in ways}
    async with AsyncExitStack() as stack:
        clients = {way: await stack.enter_async_context(Client(found, mode="legacy")) for way, found in ways.items()}
        for i in range(WARM + calls):
            for way, client in clients.items():
                began = perf_counter()
                await client.call_tool(*arguments[way])
                if i >= WARM:
                    samples[way].append((perf_counter() - began) * 1e3)
    found = {way: quantiles(times) for way, times in samples.items()}
    added = {key: found["proxied"][key] - found["direct"][key] for key in ("p50", "p90", "p99")}
    return {**{f"{way}_ms": times for way, times in found.items()}, "added_ms": added}
