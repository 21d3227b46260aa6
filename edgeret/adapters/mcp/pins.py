"""Definitions that a user has accepted, by their hashes, in one file: what is changed afterwards is withheld. Knows
nothing of servers but their names.

Several proxies share a file, and `--accept` changes it beside them. So the file is what counts: it is read again before
every look at it, and changed under a lock, with what others added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from edgeret.adapters.mcp.bounds import Voice
from edgeret.adapters.mcp.definitions import Definition
from edgeret.adapters.mcp.shared_file import SharedFile

MOST_PINS = 10_000
"""Names of one server. It can have 2,000 tools, and what is gone stays pinned, or it could come back as another one."""
_FORMAT = "edgeret-pins-1"
_SHOWN = 3
Pinned = dict[str, dict[str, str]]


class Pins:
    """The file's contents. A tool that is seen first is pinned as it is; a pinned one that changed is withheld until
    `accept`. Blocks while it reads and writes. Every method but `moved` raises InputError."""

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        """Reads the file; one that is not there is empty."""
        self._path, self._say = path, say
        self._file = SharedFile(path, "pins", "--pins")
        self._pinned: Pinned = {}
        self._voices: dict[str, Voice] = {}
        self._read()

    def moved(self) -> bool:
        """Whether another process changed the file since it was read."""
        return self._file.moved()

    def admitted(self, server: str, tools: Mapping[str, Definition]) -> dict[str, Definition]:
        """Those tools of a server that are as they were pinned, with the new ones, which are pinned now."""
        if self._file.moved():
            self._read()
        if any(tool.name not in self._pinned.get(server, {}) for tool in tools.values()):
            with self._file.locked():
                self._read()
                if self._pin_new(server, tools.values()):
                    self._write()
        pinned = self._pinned.get(server, {})
        self._tell(server, tools.values())
        return {exposed: tool for exposed, tool in tools.items() if pinned.get(tool.name) == tool.digest}

    def changed(self, server: str, tools: Iterable[Definition]) -> list[str]:
        """Names of those tools that are not as they were pinned; pins nothing."""
        pinned = self._pinned.get(server, {})
        return [tool.name for tool in tools if pinned.get(tool.name, tool.digest) != tool.digest]

    def accept(self, server: str, tools: Iterable[Definition]) -> list[str]:
        """Pins these tools as they are now; names of those that were pinned otherwise, or not at all."""
        now = {tool.name: tool.digest for tool in tools}
        with self._file.locked():
            self._read()
            pinned = self._pinned.setdefault(server, {})
            other = [name for name, digest in now.items() if pinned.get(name) != digest]
            pinned |= now
            self._write()
        return other

    def _pin_new(self, server: str, tools: Iterable[Definition]) -> bool:
        """Whether any could be pinned."""
        pinned = self._pinned.setdefault(server, {})
        fresh = {tool.name: tool.digest for tool in tools if tool.name not in pinned}
        room = MOST_PINS - len(pinned)
        pinned |= dict(list(fresh.items())[: max(0, room)])
        return bool(fresh) and room > 0

    def _tell(self, server: str, tools: Iterable[Definition]) -> None:
        """Says which tools are withheld, in a line for each reason."""
        pinned = self._pinned.get(server, {})
        others = [tool.name for tool in tools if pinned.get(tool.name, tool.digest) != tool.digest]
        if others:
            one = len(others) == 1
            which = "the definition of" if one else f"the definitions of {len(others):,} tools,"
            what = "is not the one" if one else "are not the ones"
            self._voice(server)(
                f"server {server}: {which} {_names(others)} {what} pinned in {self._path}; withheld until you "
                f"accept it: --accept {server}/{others[0]}"
                + (f", or all of them: --accept {server}" * (len(others) > 1))
            )
        if any(tool.name not in pinned for tool in tools):
            self._voice(server)(
                f"server {server}: {MOST_PINS:,} names of it are pinned, so new ones are withheld; take it out of "
                f"{self._path} and start again to pin anew"
            )

    def _voice(self, server: str) -> Voice:
        return self._voices.setdefault(server, Voice(self._say))

    def _read(self) -> None:
        """Takes the file's contents. What was pinned here and stands there no more stays pinned: a file that somebody
        deletes beside a running proxy makes no changed definition a new one."""
        value: Any = self._file.read()
        servers: Any = {} if value is None else value.get("servers") if isinstance(value, dict) else None
        if (value is not None and (not isinstance(value, dict) or value.get("format") != _FORMAT)) or not (
            isinstance(servers, dict)
            and all(
                isinstance(pins, dict) and all(isinstance(digest, str) for digest in pins.values())
                for pins in servers.values()
            )
        ):
            raise self._file.strange()
        for server, pins in servers.items():
            self._pinned.setdefault(server, {}).update(pins)

    def _write(self) -> None:
        self._file.write({"format": _FORMAT, "servers": self._pinned})


def _names(names: list[str]) -> str:
    return ", ".join(map(repr, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")
