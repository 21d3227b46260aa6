"""What each protocol version wants around a request: since 2026-07-28 every request says who asks and what he can do,
where before one handshake said it. Knows nothing of connections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
)
from mcp_types.methods import CACHEABLE_METHODS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from edgeret import __version__

OWN_META = "io.modelcontextprotocol/"
"""Begins the keys of `_meta` that belong to one connection, and are not passed on to another."""
PROGRESS_TOKEN = "progressToken"
SELF = {"name": "edgeret", "version": __version__}
ASKS = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
"""What a server may ask of a client, and the capability that offers it."""


def modern(version: str) -> bool:
    """Whether a protocol version knows no handshake."""
    return version in MODERN_PROTOCOL_VERSIONS


def offered(capabilities: Any, version: str) -> dict[str, Any]:
    """Of what a client declared, the part that passes through the proxy, for a server of this version."""
    known = capabilities if isinstance(capabilities, Mapping) else {}
    kept = {name: known[name] for name in ASKS.values() if isinstance(known.get(name), Mapping)}
    if modern(version) and "roots" in kept:
        kept["roots"] = {}  # such clients never say that their roots changed
    return kept


def carried_meta(params: Mapping[str, Any]) -> dict[str, Any]:
    """What a message's `_meta` says that does not belong to its own connection."""
    given = params.get("_meta")
    given = given if isinstance(given, Mapping) else {}
    return {key: value for key, value in given.items() if key != PROGRESS_TOKEN and not key.startswith(OWN_META)}


def carried(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """A message's parameters for another connection."""
    rest = {key: value for key, value in (params or {}).items() if key != "_meta"}
    meta = carried_meta(params or {})
    return {**rest, "_meta": meta} if meta else rest


def result_for(version: str, method: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """A server's result, whatever version it speaks, for a client of this one."""
    if modern(version):
        told: dict[str, Any] = {"resultType": "complete"}
        if method in CACHEABLE_METHODS and result.get("resultType", "complete") == "complete":
            told |= {"ttlMs": 0, "cacheScope": "private"}
        return {**told, **result}
    if "resultType" not in result:
        return dict(result)  # of a server of the client's own time
    left_out = {"resultType", *(("ttlMs", "cacheScope") if method in CACHEABLE_METHODS else ())}
    kept = {key: value for key, value in result.items() if key not in left_out}
    meta = kept.get("_meta")
    if isinstance(meta, Mapping) and SERVER_INFO_META_KEY in meta:
        rest = {key: value for key, value in meta.items() if key != SERVER_INFO_META_KEY}
        kept = {**kept, "_meta": rest} if rest else {key: value for key, value in kept.items() if key != "_meta"}
    return kept


class Envelope:
    """What a version wants around each request of one connection."""

    def __init__(self, version: str, capabilities: Mapping[str, Any]) -> None:
        """For requests of that version, of a client that can do so."""
        self.version, self._capabilities = version, capabilities
        self.log_level: str | None = None
        """From which level on a server of 2026-07-28 is to send its log, with each request."""
        self._mirrored: dict[str, Mapping[tuple[str, ...], str]] = {}

    def knows(self, tools: list[Any]) -> None:
        """Takes a server's tools: some want arguments in headers, too."""
        self._mirrored.clear()
        for tool in tools if modern(self.version) else ():
            schema = tool.get("inputSchema") if isinstance(tool, dict) else None
            if (
                isinstance(schema, dict)
                and isinstance(tool.get("name"), str)
                and find_invalid_x_mcp_header(schema) is None
            ):
                self._mirrored[tool["name"]] = x_mcp_header_map(schema)

    def around(self, method: str, params: Mapping[str, Any] | None) -> tuple[Mapping[str, Any] | None, dict[str, str]]:
        """A request's parameters as they are sent, and headers for HTTP."""
        headers = {MCP_PROTOCOL_VERSION_HEADER: self.version}
        if not modern(self.version):
            return params, headers
        given = dict(params or {})
        meta = {
            **given.get("_meta", {}),
            PROTOCOL_VERSION_META_KEY: self.version,
            CLIENT_INFO_META_KEY: SELF,
            CLIENT_CAPABILITIES_META_KEY: self._capabilities,
        }
        if self.log_level is not None:
            meta.setdefault(LOG_LEVEL_META_KEY, self.log_level)
        headers[MCP_METHOD_HEADER] = method
        name = given.get(NAME_BEARING_METHODS.get(method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
            arguments = given.get("arguments")
            if method == "tools/call" and isinstance(arguments, Mapping):
                headers |= mcp_param_headers(self._mirrored.get(name, {}), arguments)
        return {**given, "_meta": meta}, headers
