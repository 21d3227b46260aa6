"""Looks at servers without serving anybody: which start, how many tools they have, and which of these changed since
they were pinned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import anyio

from edgeret import InputError, Tool
from edgeret.adapters.mcp.config import Say, Server
from edgeret.adapters.mcp.definitions import Definition
from edgeret.adapters.mcp.logins import LOGIN_S, Logins, Person
from edgeret.adapters.mcp.passing import Nobody
from edgeret.adapters.mcp.pins import Pins
from edgeret.adapters.mcp.upstream import Patience, Upstream
from edgeret.adapters.mcp.web import Access


def look(
    servers: Sequence[Server],
    pins: Path | None,
    patience: Patience,
    access: Access,
    say: Say,
    examples: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> tuple[list[dict[str, Any]], list[Tool]]:
    """Each server's name, how it is reached, its number of tools, how many of these show requests and whose, those
    withheld, and its problem, if it has one; and the tools as they would be searched with these `examples`. Pins
    nothing."""
    found = anyio.run(seen, servers, patience, access, say)
    pinned = None if pins is None else Pins(pins, say)
    searched = [tool.searched(examples) for upstream in found for tool in upstream.tools.values()]
    return [
        {
            "server": upstream.server.name,
            "reached": upstream.server.reached,
            "tools": len(upstream.tools),
            "examples": _whose(list(upstream.tools.values()), examples),
            "withheld": [] if pinned is None else pinned.changed(upstream.server.name, upstream.tools.values()),
            "problem": upstream.problem + upstream.detail if upstream.failed else None,
        }
        for upstream in found
    ], searched


def _whose(tools: Sequence[Definition], examples: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """How many tools show requests: the server's own, those of a file, those that come with edgeret, and none."""
    found = dict.fromkeys(("server", "file", "edgeret", "none"), 0)
    for tool in tools:
        own, given = bool(tool.tool.examples), bool(tool.given(examples))
        found["server"] += own
        found["file"] += given
        if not own and not given:
            found["edgeret" if tool.searched().examples else "none"] += 1
    return found


def accept(
    servers: Sequence[Server], pins: Path, named: str, patience: Patience, access: Access, say: Say
) -> list[str]:
    """Pins the tools that are `named` "SERVER" or "SERVER/TOOL" as they are now; those that had changed or are new.
    Raises InputError for what is not there."""
    # Names of servers may hold a slash, as those of VS Code's gallery do.
    chosen = sorted((s for s in servers if f"{named}/".startswith(f"{s.name}/")), key=lambda s: -len(s.name))[:1]
    if not chosen:
        server = named.partition("/")[0]
        raise InputError(f"--accept: no server {server} in the file; there are {', '.join(s.name for s in servers)}")
    server, tool = chosen[0].name, named[len(chosen[0].name) + 1 :]
    upstream = anyio.run(seen, chosen, patience, access, say)[0]
    if upstream.failed:
        raise InputError(f"--accept: server {server} {upstream.problem}{upstream.detail}; nothing was accepted")
    found = [entry for entry in upstream.tools.values() if tool in ("", entry.name)]
    if not found:
        raise InputError(f'--accept: server {server} has no tool "{tool}"; nothing was accepted')
    return Pins(pins, say).accept(server, found)


def login(
    servers: Sequence[Server], named: str, patience: Patience, access: Access, logins: Path, say: Say
) -> tuple[int, bool]:
    """Has a person log in at the server of that name, and keeps that; how many tools it has then, and whether it asked
    for a login. Raises InputError where that fails."""
    chosen = [entry for entry in servers if entry.name == named]
    if not chosen or not chosen[0].url:
        raise InputError(f"--login: no server {named} with an address in the file")

    async def asked() -> Upstream:
        async with Person(Logins(logins), say) as person:
            patient = Patience(LOGIN_S, patience.call_s)
            return (await seen(chosen, patient, replace(access, auth=person.auth), say))[0]

    before = Logins(logins).get(chosen[0].url)
    upstream = anyio.run(asked)
    if upstream.failed:
        raise InputError(f"--login: server {named} {upstream.problem}{upstream.detail}; nothing was kept")
    return len(upstream.tools), Logins(logins).get(chosen[0].url) != before


async def seen(servers: Sequence[Server], patience: Patience, access: Access, say: Say) -> list[Upstream]:
    """The servers as they are when all have been tried; nothing of them runs any more then."""
    found: list[Upstream] = []
    quiet = Patience(patience.start_s, patience.call_s, 3600, 3600)  # nothing is started twice
    async with anyio.create_task_group() as tasks:
        for server in servers:
            line = partial(_unless_restarted, say)
            upstream = Upstream(server, quiet, lambda _: None, line, Nobody(), access)
            found.append(upstream)
            tasks.start_soon(upstream.run)
        for upstream in found:
            await upstream.tried.wait()
        told = [(upstream, upstream.tools, upstream.failed) for upstream in found]
        tasks.cancel_scope.cancel()
    for upstream, tools, failed in told:
        upstream.tools, upstream.failed = tools, failed
    return found


def _unless_restarted(say: Say, line: str) -> None:
    if "started again in" not in line:
        say(line)
