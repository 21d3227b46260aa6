"""Definitions that a user has accepted, by their hashes, in one file: what is changed afterwards is withheld. Knows
nothing of servers but their names."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from edgeret import InputError
from edgeret.adapters.mcp.definitions import Definition

_FORMAT = "edgeret-pins-1"


class Pins:
    """The file's contents. A tool that is seen first is pinned as it is; a pinned one that changed is withheld until
    `accept`."""

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        """Reads the file; one that is not there is empty. Raises InputError for what is no such file."""
        self._path, self._say = path, say
        self._pinned = _read(path)
        self._told: set[tuple[str, str, str]] = set()

    def admitted(self, server: str, tools: Mapping[str, Definition]) -> dict[str, Definition]:
        """Those tools of a server that are as they were pinned, with the new ones, which are pinned now."""
        pinned = self._pinned.setdefault(server, {})
        fresh = {tool.name: tool.digest for tool in tools.values() if tool.name not in pinned}
        if fresh:
            pinned |= fresh
            self._write()
        return {exposed: tool for exposed, tool in tools.items() if self._same(tool)}

    def changed(self, server: str, tools: Iterable[Definition]) -> list[str]:
        """Names of those tools that are not as they were pinned; pins nothing."""
        pinned = self._pinned.get(server, {})
        return [tool.name for tool in tools if pinned.get(tool.name, tool.digest) != tool.digest]

    def accept(self, server: str, tools: Iterable[Definition]) -> list[str]:
        """Pins these tools as they are now; names of those that were pinned otherwise, or not at all."""
        pinned = self._pinned.setdefault(server, {})
        now = {tool.name: tool.digest for tool in tools}
        other = [name for name, digest in now.items() if pinned.get(name) != digest]
        pinned |= now
        self._write()
        return other

    def _same(self, tool: Definition) -> bool:
        same = self._pinned[tool.server][tool.name] == tool.digest
        if not same and (once := (tool.server, tool.name, tool.digest)) not in self._told:
            self._told.add(once)
            self._say(
                f"server {tool.server}: the definition of {tool.name!r} is not the one pinned in {self._path}; "
                f"the tool is withheld until you accept it: --accept {tool.server}/{tool.name}"
            )
        return same

    def _write(self) -> None:
        text = json.dumps({"format": _FORMAT, "servers": self._pinned}, indent=1, sort_keys=True, ensure_ascii=False)
        partial = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}.partial")
        try:
            partial.write_bytes(text.encode("utf-8", "backslashreplace") + b"\n")
            partial.replace(self._path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise InputError(
                f"{self._path}: pins cannot be kept ({error.strerror}); name another --pins file"
            ) from None


def _read(path: Path) -> dict[str, dict[str, str]]:
    try:
        value: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise InputError(f"{path}: {path.parent} is no folder; name another --pins file") from None
        return {}
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name another --pins file") from None
    except (ValueError, RecursionError):
        value = None
    servers = value.get("servers") if isinstance(value, dict) and value.get("format") == _FORMAT else None
    if not isinstance(servers, dict) or not all(
        isinstance(pins, dict) and all(isinstance(digest, str) for digest in pins.values()) for pins in servers.values()
    ):
        raise InputError(f"{path}: no file of pins; name another with --pins, or move it away to pin anew")
    return servers
