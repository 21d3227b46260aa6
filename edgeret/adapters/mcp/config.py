"""The servers that an MCP client's file names, whichever client's it is: found, read and checked. Starts nothing.

What differs between clients stands in tables: here, which key holds the servers; in `entry`, what their keys are
called.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret import InputError
from edgeret.adapters.mcp.entry import KNOWN, REACHED_BY, UnusableError, flattened, read_entry, switched_off
from edgeret.adapters.mcp.itself import MARKER, proxied_file, serves
from edgeret.adapters.mcp.jsonc import Object, decoded, parse
from edgeret.adapters.mcp.placeholders import Surroundings
from edgeret.adapters.mcp.server import Server
from edgeret.quoting import quoted

__all__ = ["MOST_BYTES", "PLACES", "Say", "Server", "has_servers", "read_config", "read_document"]

Say = Callable[[str], None]
"""Tells the user one line; never on stdout, which belongs to the protocol."""
MOST_BYTES = 32 << 20
"""Of a file. Claude Code keeps its servers in one that grows to megabytes."""
PLACES = (
    ("mcpServers",),  # Claude, Cursor, Windsurf, Cline, Roo, Kiro, Gemini, LM Studio, Copilot, JetBrains, Amazon Q, …
    ("servers",),  # VS Code, Visual Studio
    ("mcp", "servers"),  # VS Code's settings
    ("mcp.servers",),
    ("customizations", "vscode", "mcp", "servers"),  # a dev container
    ("context_servers",),  # Zed
    ("mcp_servers",),  # Codex
    ("amp.mcpServers",),  # Amp
    ("experimental", "modelContextProtocolServers"),  # Continue
    ("mcp",),  # opencode, Crush
)
"""Where the servers stand in a file."""
_OFF = (("mcp", "excluded"), ("excludeMCPServers",), ("disabledMcpServers",), ("disabledMcpjsonServers",))
_ALLOWED = (("mcp", "allowed"), ("allowMCPServers",))
_BARE_FOLDERS = frozenset((".gemini", ".qwen"))
_BARE_KEYS = frozenset(("httpUrl", "includeTools", "excludeTools"))
"""What only files of Gemini's kind have, whose client takes `$VAR` for a variable."""
_CLIENT_FOLDERS = """
.amazonq .augment .claude .codeium .codex .continue .copilot .cursor .devcontainer .factory .gemini .github .idea .junie
.kilocode .kiro .opencode .qwen .roo .trae .vs .vscode .windsurf .zed
"""
"""Folders of clients in a project."""
_EXPECTED = 'expected {"mcpServers": {"NAME": {"command": …}}}, or what another MCP client writes'


def read_config(path: str | Path, say: Say) -> list[Server]:
    """The servers of a file that can be used, in its order; each other one is told and left out. Raises InputError for
    a file that names no servers, or none that can be used, and where this process runs under a proxy of that file."""
    file = Path(path)
    document = read_document(file)
    above, here = os.environ.get(MARKER, ""), str(file.resolve())
    if serves(above, file, [Path.cwd()]):
        raise InputError(f"{file}: a proxy above this one serves it already; this is the proxy itself, started again")
    tables = _tables(document, file)
    entries = dict(entry for table in tables for entry in _entries(table))
    if not entries:
        raise InputError(f"{file}: no server in it, its list of them is empty; {_EXPECTED}")
    around = _surroundings(document, entries, file)
    found: dict[str, Server] = {}
    left_out: list[str] = []
    for name, entry in entries.items():
        try:
            server = _server(name, entry, document, around, file, f"{above}{os.pathsep}{here}" if above else here)
            if (other := next((one for one in found.values() if one.prefix == server.prefix), None)) is not None:
                raise UnusableError(f"its tools would be named as those of {quoted(other.name)}; rename one of them")
            found[name] = server
        except UnusableError as error:
            left_out.append(f"server {quoted(name)} left out: {error}")
    if not found:
        raise InputError(f"{file}: no server in it can be used; {'; '.join(left_out)}")
    for line in left_out:
        say(f"{file}: {line}")
    _tell_unknown(entries, file, say)
    for table in (*tables, *entries.values()):
        if isinstance(table, Object) and table.twice:
            say(f"{file}: {', '.join(map(quoted, table.twice[:5]))} stands there twice; the last one counts")
    return list(found.values())


def read_document(file: Path) -> dict[str, Any]:
    """What stands in a file, JSON with comments or TOML. Raises InputError."""
    try:
        with file.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); name the file with --config") from None
    except ValueError:
        raise InputError(f"{quoted(str(file))}: no file's name; name the file with --config") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"{file}: more than {MOST_BYTES} bytes, so it is no list of servers")
    kind = file.suffix.lower()
    if kind in (".yaml", ".yml"):
        raise InputError(f"{file}: YAML is not read; write its servers as JSON: {_EXPECTED}")
    try:
        text, _ = decoded(data)
        whole = tomllib.loads(text) if kind == ".toml" else parse(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: no {'TOML' if kind == '.toml' else 'JSON'} ({_reason(error)})") from None
    if not isinstance(whole, dict):
        raise InputError(f'{file}: no "mcpServers" in it; {_EXPECTED}')
    return whole


def has_servers(value: Any) -> bool:
    """Whether this is a table, or a list, of servers; an empty one, too."""
    if isinstance(value, dict):
        return not value or any(_is_entry(entry) for entry in value.values())
    return isinstance(value, list) and all(map(_is_entry, value))


def at(document: Any, path: Sequence[str]) -> Any:
    """What a path of keys leads to; None where there is none."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _tables(document: Mapping[str, Any], file: Path) -> list[Any]:
    """All tables of servers, those that count more behind the others."""
    tables: list[Any] = [value for path in PLACES if has_servers(value := at(document, path))]
    tables += [table for project in _projects(document) if has_servers(table := at(project, ("mcpServers",)))]
    named = [document] if document and all(_is_entry(entry) for entry in document.values()) else []
    # A key that clients keep servers under holds servers, whatever odd things stand there.
    tables = tables or named or [value for path in PLACES[:-1] if isinstance(value := at(document, path), dict)]
    if not tables:
        raise InputError(f'{file}: no "mcpServers" in it; {_EXPECTED}')
    return tables


def _entries(table: Any) -> Iterable[tuple[str, Any]]:
    """Names and entries; in a list, what has no name is called by its place."""
    if isinstance(table, dict):
        return table.items()
    return ((str(entry.get("name") or f"server-{i}"), entry) for i, entry in enumerate(table, 1))


def _projects(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What Claude Code keeps of the current folder, and of those above it."""
    projects = document.get("projects")
    if isinstance(projects, dict):
        here = Path.cwd()
        yield from (project for folder in (*reversed(here.parents), here) if (project := projects.get(str(folder))))


def _server(
    name: str, entry: Any, document: Mapping[str, Any], around: Surroundings, file: Path, proxies: str
) -> Server:
    if not isinstance(entry, dict):
        raise UnusableError(f'expected an object with "command" or "url", found {type(entry).__name__}')
    entry = flattened(entry)
    everywhere = [document, *_projects(document)]
    off = [name in listed for one in everywhere for path in _OFF if isinstance(listed := at(one, path), list)]
    allowed = [name in listed for path in _ALLOWED if isinstance(listed := at(document, path), list) and listed]
    if switched_off(entry) or any(off) or not all(allowed):
        raise UnusableError("it is disabled there")
    server = read_entry(name, entry, around, proxies)
    named = None if server.url else proxied_file((server.command, *server.args))
    if named and serves(proxies, named, [Path(server.cwd)] if server.cwd else [Path.cwd(), file.parent]):
        raise UnusableError("this is the proxy itself")
    return server


def _surroundings(document: Mapping[str, Any], entries: Mapping[str, Any], file: Path) -> Surroundings:
    lists = [at(document, (*path[:-1], "inputs")) for path in PLACES]
    inputs = {
        one["id"]: one
        for listed in lists
        if isinstance(listed, list)
        for one in listed
        if isinstance(one, dict) and isinstance(one.get("id"), str)
    }
    bare = not _BARE_FOLDERS.isdisjoint(file.absolute().parts) or any(
        isinstance(entry, dict) and not _BARE_KEYS.isdisjoint(entry) for entry in entries.values()
    )
    return Surroundings(os.environ, _workspace(file), inputs, bare)


def _workspace(file: Path) -> Path:
    """The project's folder that a file belongs to; the current one, where it belongs to a user and not to a project."""
    folder = file.absolute().parent
    for parent in (folder, *list(folder.parents)[:2]):
        if parent.name in _CLIENT_FOLDERS.split():
            folder = parent.parent
            break
    home = Path.home()
    of_user = [home / "Library", home / ".config", home / "AppData"]
    of_user += [Path(os.environ[name]) for name in ("XDG_CONFIG_HOME", "APPDATA") if os.environ.get(name)]
    return Path.cwd() if folder == home or any(folder.is_relative_to(one) for one in of_user) else folder


def _is_entry(value: Any) -> bool:
    return isinstance(value, dict) and not REACHED_BY.isdisjoint(flattened(value))


def _tell_unknown(entries: Mapping[str, Any], file: Path, say: Say) -> None:
    unknown: dict[str, str] = {}
    for name, entry in entries.items():
        if isinstance(entry, dict):
            for key in flattened(entry):
                if key not in KNOWN and not key.startswith(("_", "$", "/", "x-", "#")):
                    unknown.setdefault(key, name)
    if unknown:
        shown = ", ".join(f"{quoted(key)} of {quoted(name)}" for key, name in list(unknown.items())[:5])
        say(f"{file}: passed over what edgeret does not know: {shown}{', …' if len(unknown) > 5 else ''}")


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    return "it is no text in UTF-8" if isinstance(error, UnicodeError) else str(error)
