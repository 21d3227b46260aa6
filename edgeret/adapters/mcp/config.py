"""The `mcpServers` file that MCP clients share: read and checked. Starts nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from edgeret import InputError
from edgeret.adapters.mcp.names import prefix
from edgeret.records import dataclass

Say = Callable[[str], None]
"""Tells the user one line; never on stdout, which belongs to the protocol."""
MOST_BYTES = 1 << 20
_KNOWN = frozenset(("command", "args", "env", "cwd", "url", "headers", "type", "transport", "disabled"))
_STREAMABLE = frozenset(("http", "streamable-http", "streamablehttp", "streamable_http"))


@dataclass(frozen=True, slots=True)
class Server:
    """One entry: a `command` to start, or a `url` to connect to. `prefix` is what its tools' names begin with."""

    name: str
    prefix: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    transport: Literal["stdio", "http", "sse"] = "stdio"


def read_config(path: str | Path, say: Say) -> list[Server]:
    """The servers of a file, in its order; what is not known there is told and passed over. Raises InputError, which
    says what stands where a server should."""
    file = Path(path)
    entries = _entries(file)
    servers: list[Server] = []
    for name, entry in entries.items():
        where = f"{file}: server {_shown(name)}"
        if not isinstance(entry, dict):
            raise InputError(f'{where}: expected an object with "command" or "url", found {type(entry).__name__}')
        if unknown := sorted(set(entry) - _KNOWN):
            say(f"{where}: passed over {', '.join(map(_shown, unknown))}, which edgeret does not know")
        if entry.get("disabled") is True:
            say(f"{where}: disabled there, so it is left out")
            continue
        servers.append(_server(name, entry, where))
    if not servers:
        raise InputError(f'{file}: no server in it; expected {{"mcpServers": {{"NAME": {{"command": …}}}}}}')
    _check_prefixes(servers, file)
    return servers


def _entries(file: Path) -> dict[str, Any]:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); name the file with --config") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"{file}: {len(data)} bytes, at most {MOST_BYTES} are read; it is no list of servers")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise InputError(
                    f"{file}: {_shown(key)} stands there twice, and JSON readers would silently take one of them; give "
                    "every server a name of its own"
                )
            found[key] = value
        return found

    try:
        whole = json.loads(data.decode("utf-8-sig"), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: no JSON ({error})") from None
    entries = whole.get("mcpServers") if isinstance(whole, dict) else None
    if not isinstance(entries, dict):
        raise InputError(f'{file}: no "mcpServers" in it; expected {{"mcpServers": {{"NAME": {{"command": …}}}}}}')
    return entries


def _server(name: str, entry: Mapping[str, Any], where: str) -> Server:
    kind = entry.get("type", entry.get("transport"))
    if ("command" in entry) == ("url" in entry):
        raise InputError(f'{where}: give either "command" (a program to start) or "url" (streamable HTTP)')
    if not name.strip() or not prefix(name):
        raise InputError(f"{where}: a name needs a letter or a digit; tools' names begin with it")
    if "url" in entry:
        url = _text(entry, "url", where)
        if isinstance(kind, str) and kind.lower() not in (*_STREAMABLE, "sse"):
            raise InputError(f'{where}: transport {_shown(kind)} is not spoken here; streamable HTTP ("http") is')
        if not url.startswith(("http://", "https://")):
            raise InputError(f'{where}: "url" must begin with http:// or https://, found {_shown(url)}')
        transport: Literal["http", "sse"] = "sse" if isinstance(kind, str) and kind.lower() == "sse" else "http"
        return Server(name, prefix(name), url=url, headers=_texts(entry, "headers", where), transport=transport)
    args = entry.get("args", [])
    if not isinstance(args, list) or not all(isinstance(arg, str) and "\0" not in arg for arg in args):
        raise InputError(f'{where}: "args" must be a list of texts')
    cwd = _text(entry, "cwd", where) if entry.get("cwd") is not None else None
    return Server(name, prefix(name), _text(entry, "command", where), tuple(args), _texts(entry, "env", where), cwd)


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    value = entry[key]
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise InputError(f'{where}: "{key}" must be a text that is not empty')
    return value


def _texts(entry: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    value = entry.get(key) or {}
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise InputError(f'{where}: "{key}" must be an object of texts')
    return value


def _check_prefixes(servers: list[Server], file: Path) -> None:
    owner: dict[str, str] = {}
    for server in servers:
        if (other := owner.setdefault(server.prefix, server.name)) != server.name:
            raise InputError(
                f"{file}: tools of {_shown(other)} and {_shown(server.name)} would both be named {server.prefix}__…; "
                "rename one of them"
            )


def _shown(text: str) -> str:
    return json.dumps(text if len(text) <= 80 else f"{text[:80]}…", ensure_ascii=False)
