"""Looks at servers without serving anybody: which start, how many tools they have, and which of these changed since
they were pinned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from edgeret import InputError
from edgeret.adapters.mcp.config import Say, Server
from edgeret.adapters.mcp.passing import Nobody
from edgeret.adapters.mcp.pins import Pins
from edgeret.adapters.mcp.upstream import Patience, Upstream


def look(servers: Sequence[Server], pins: Path | None, patience: Patience, say: Say) -> list[dict[str, Any]]:
    """Each server's name, its number of tools, those withheld, and its problem, if it has one. Pins nothing."""
    found = anyio.run(seen, servers, patience, say)
    pinned = None if pins is None else Pins(pins, say)
    return [
        {
            "server": upstream.server.name,
            "tools": len(upstream.tools),
            "withheld": [] if pinned is None else pinned.changed(upstream.server.name, upstream.tools.values()),
            "problem": upstream.problem if upstream.failed else None,
        }
        for upstream in found
    ]


def accept(servers: Sequence[Server], pins: Path, named: str, patience: Patience, say: Say) -> list[str]:
    """Pins the tools that are `named` "SERVER" or "SERVER/TOOL" as they are now; those that had changed or are new.
    Raises InputError for what is not there."""
    server, _, tool = named.partition("/")
    chosen = [entry for entry in servers if entry.name == server]
    if not chosen:
        raise InputError(f"--accept: no server {server} in the file; there are {', '.join(s.name for s in servers)}")
    upstream = anyio.run(seen, chosen, patience, say)[0]
    if upstream.failed:
        raise InputError(f"--accept: server {server} {upstream.problem}; nothing was accepted")
    found = [entry for entry in upstream.tools.values() if tool in ("", entry.name)]
    if not found:
        raise InputError(f'--accept: server {server} has no tool "{tool}"; nothing was accepted')
    return Pins(pins, say).accept(server, found)


async def seen(servers: Sequence[Server], patience: Patience, say: Say) -> list[Upstream]:
    """The servers as they are when all have been tried; nothing of them runs any more then."""
    found: list[Upstream] = []
    quiet = Patience(patience.start_s, patience.call_s, 3600, 3600)  # nothing is started twice
    async with anyio.create_task_group() as tasks:
        for server in servers:
            upstream = Upstream(server, quiet, lambda _: None, lambda line: _unless_restarted(line, say), Nobody())
            found.append(upstream)
            tasks.start_soon(upstream.run)
        for upstream in found:
            await upstream.tried.wait()
        told = [(upstream, upstream.tools, upstream.failed) for upstream in found]
        tasks.cancel_scope.cancel()
    for upstream, tools, failed in told:
        upstream.tools, upstream.failed = tools, failed
    return found


def _unless_restarted(line: str, say: Say) -> None:
    if "started again in" not in line:
        say(line)
