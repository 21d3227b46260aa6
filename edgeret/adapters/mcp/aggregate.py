"""All servers' prompts, resources and templates as the one server's that the client sees, told apart by server; and the
requests about them, each to the server that it is meant for. Knows nothing of tools and of the client."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND

from edgeret.adapters.mcp.config import Say
from edgeret.adapters.mcp.entries import PROMPTS, RESOURCES, TEMPLATES, Kind, taken
from edgeret.adapters.mcp.link import NotSpokenError
from edgeret.adapters.mcp.names import BETWEEN, exposed_name
from edgeret.adapters.mcp.owners import Owners
from edgeret.adapters.mcp.upstream import CallError, Upstream
from edgeret.quoting import quoted, visible

Through = Callable[[Upstream, str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Sends a request of the client to a server."""


class Aggregate:
    """What all servers have besides tools."""

    def __init__(self, upstreams: Mapping[str, Upstream], owners: Owners, through: Through, say: Say) -> None:
        """Nothing listed yet. `through` is how the client's requests reach a server."""
        self._upstreams, self._owners, self._through, self._say = upstreams, owners, through, say
        self._prompts: dict[str, tuple[str, str]] = {}
        self._read: set[tuple[Kind, str]] = set()
        self._subscribed: dict[str, tuple[str, str]] = {}
        self._held: dict[str, int] = {}
        self._told: set[str] = set()

    def capabilities(self) -> dict[str, Any]:
        """What the client is told of: all that the servers have that are there, and what one may have of which nobody
        knows yet."""
        known = [upstream.capabilities for upstream in self._upstreams.values()]
        every = any(capabilities is None for capabilities in known)
        found: dict[str, Any] = {"tools": {"listChanged": True}}

        def has(name: str) -> bool:
            return every or any(isinstance((of or {}).get(name), dict) for of in known)

        if has("prompts"):
            found["prompts"] = {"listChanged": True}  # servers come and go
        if has("resources"):
            subscribes = every or any(_part(of, "resources").get("subscribe") is True for of in known)
            found["resources"] = {"listChanged": True, **({"subscribe": True} if subscribes else {})}
        return found | {name: {} for name in ("completions", "logging") if has(name)}

    async def listed(self, kind: Kind) -> list[Mapping[str, Any]]:
        """The list of all servers that are there, in their order, under names that the client uses."""
        found: dict[str, Mapping[str, Mapping[str, Any]]] = {}

        async def ask(upstream: Upstream) -> None:
            found[upstream.name] = await self._asked(kind, upstream)

        having = self._having(kind.capability)
        async with anyio.create_task_group() as tasks:
            for upstream in having:
                tasks.start_soon(ask, upstream)
        for upstream in having:  # whoever answered first: what two servers claim does not depend on it
            self._take(kind, upstream, found[upstream.name])
        return [
            {**entry, kind.by: self._shown(kind, upstream, name)}
            for upstream in self._upstreams.values()
            for name, entry in found.get(upstream.name, {}).items()
        ]

    async def prompt(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`prompts/get`. Raises MCPError and CallError."""
        upstream, name = await self._prompt(str(params["name"]))
        result = await self._through(upstream, "prompts/get", {**params, "name": name})
        return self._owners.named(upstream.name, result)

    async def read(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`resources/read`. Raises MCPError and CallError."""
        given = str(params["uri"])

        async def ask(upstream: Upstream, uri: str) -> dict[str, Any]:
            result = await self._through(upstream, "resources/read", {**params, "uri": uri})
            contents = result.get("contents")
            if uri != given and isinstance(contents, list):
                said = [
                    {**part, "uri": given} if isinstance(part, dict) and part.get("uri") == uri else part
                    for part in contents
                ]
                result = {**result, "contents": said}
            return self._owners.named(upstream.name, result)

        return await self._first(given, ask)

    async def subscribe(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`resources/subscribe`. Raises MCPError and CallError."""
        given = str(params["uri"])

        async def ask(upstream: Upstream, uri: str) -> dict[str, Any]:
            result = await upstream.subscribe(uri, True)
            self._subscribed[given] = upstream.name, uri
            return result

        return await self._first(given, ask)

    async def unsubscribe(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`resources/unsubscribe`. Raises MCPError and CallError."""
        given = str(params["uri"])
        if given in self._subscribed:
            server, uri = self._subscribed.pop(given)
            return await self._upstreams[server].subscribe(uri, False)
        return await self._first(given, lambda upstream, uri: upstream.subscribe(uri, False))

    async def hold(self, uri: str) -> None:
        """Subscribes to a resource for one more stream of changes; a server that cannot tell of it never will."""
        self._held[uri] = self._held.get(uri, 0) + 1
        if self._held[uri] == 1:
            with contextlib.suppress(MCPError, CallError):
                await self.subscribe({"uri": uri})

    async def release(self, uri: str) -> None:
        """A stream that a resource was held for has ended."""
        self._held[uri] -= 1
        if not self._held[uri]:
            del self._held[uri]
            with contextlib.suppress(MCPError, CallError):
                await self.unsubscribe({"uri": uri})

    async def complete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`completion/complete`. Raises MCPError and CallError."""
        reference = params["ref"]
        if reference.get("type") == "ref/prompt":
            upstream, name = await self._prompt(str(reference["name"]))
            return await self._through(upstream, "completion/complete", {**params, "ref": {**reference, "name": name}})

        async def ask(upstream: Upstream, uri: str) -> dict[str, Any]:
            return await self._through(upstream, "completion/complete", {**params, "ref": {**reference, "uri": uri}})

        return await self._first(str(reference["uri"]), ask, template=True)

    async def log_from(self, level: str) -> None:
        """Tells all servers from which level on the client wants to read logs."""
        async with anyio.create_task_group() as tasks:
            for upstream in self._having("logging"):
                tasks.start_soon(upstream.log_from, level)

    async def greeted(self, server: str, level: str | None) -> None:
        """A server is there, for the first time or again: it gets to know what others were told before."""
        upstream = self._upstreams[server]
        if level is not None and upstream.has("logging"):
            await upstream.log_from(level)
        for owner, uri in list(self._subscribed.values()):
            if owner == server:
                with contextlib.suppress(MCPError, CallError):
                    await upstream.subscribe(uri, True)

    def _having(self, capability: str) -> list[Upstream]:
        return [upstream for upstream in self._upstreams.values() if upstream.has(capability)]

    def _shown(self, kind: Kind, upstream: Upstream, name: str) -> str:
        if kind is PROMPTS:
            return exposed_name(upstream.server.prefix, name)
        return self._owners.shown(upstream.name, name, kind is TEMPLATES)

    async def _asked(self, kind: Kind, upstream: Upstream) -> Mapping[str, Mapping[str, Any]]:
        """One server's list."""
        try:
            listed = await upstream.listed(kind.method, kind.key)
        except (MCPError, CallError, NotSpokenError) as error:
            if not isinstance(error, MCPError) or error.code != METHOD_NOT_FOUND:  # templates are not had by all
                self._once(f"server {upstream.name}: its {kind.key} are left out, {visible(str(error))[:200]}")
            listed = []
        return taken(kind, upstream.name, listed, self._once)

    def _take(self, kind: Kind, upstream: Upstream, found: Mapping[str, Mapping[str, Any]]) -> None:
        """Remembers what is whose."""
        self._read.add((kind, upstream.name))
        if kind is PROMPTS:
            self._prompts = {shown: place for shown, place in self._prompts.items() if place[0] != upstream.name}
            for name in found:
                self._prompts.setdefault(exposed_name(upstream.server.prefix, name), (upstream.name, name))
        else:
            self._owners.claim(upstream.name, found, kind is TEMPLATES)

    async def _prompt(self, shown: str) -> tuple[Upstream, str]:
        """The server that has a prompt, and what that calls it. Raises MCPError where none can have it."""
        prefix, _, name = shown.partition(BETWEEN)
        for upstream in self._having("prompts"):
            if upstream.server.prefix == prefix and name:
                if shown not in self._prompts and (PROMPTS, upstream.name) not in self._read:
                    self._take(PROMPTS, upstream, await self._asked(PROMPTS, upstream))
                return upstream, self._prompts.get(shown, (upstream.name, name))[1]
        raise MCPError(INVALID_PARAMS, f"Unknown prompt: {quoted(shown)}; list prompts for those that are there")

    async def _first(
        self, uri: str, ask: Callable[[Upstream, str], Awaitable[dict[str, Any]]], template: bool = False
    ) -> dict[str, Any]:
        """The answer of the server that has a URI; where nobody knows whose it is, of the first that answers."""
        server, own = self._owners.unwrapped(uri)
        server = server or await self._owner(own, template)
        if server is not None:
            return await ask(self._upstreams[server], own)
        error: Exception = MCPError(INVALID_PARAMS, "Resource not found: no server has any", {"uri": uri})
        for upstream in self._having("resources"):
            try:
                return await ask(upstream, own)
            except (MCPError, CallError) as refused:
                error = refused
        raise error

    async def _owner(self, uri: str, template: bool) -> str | None:
        """The server that a URI or template belongs to, after its lists were read where nobody did so yet."""
        for looked in (False, True):
            if looked:
                for kind in (RESOURCES, TEMPLATES):
                    for upstream in self._having(kind.capability):
                        if (kind, upstream.name) not in self._read:
                            self._take(kind, upstream, await self._asked(kind, upstream))
            server = self._owners.template_owner(uri) if template else self._owners.owner(uri)
            if server is not None:
                return server
        return self._owners.made_by(uri)

    def _once(self, line: str) -> None:
        if line not in self._told and len(self._told) < 1_000:
            self._told.add(line)
            self._say(line)


def _part(capabilities: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    found = (capabilities or {}).get(name)
    return found if isinstance(found, Mapping) else {}
