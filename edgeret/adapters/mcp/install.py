"""Puts the proxy in the place of a client's servers, in the client's own file, and takes it out again.

The servers move to a file of ours beside the client's, `NAME.edgeret.json`, which the proxy reads. The client's file
keeps all else to the byte, comments too, and a copy of it lies beside it, `NAME.before-edgeret.json`. Knows nothing of
what a server is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret import InputError
from edgeret.adapters.mcp.clients import Client
from edgeret.adapters.mcp.config import PLACES, Say, at, read_config
from edgeret.adapters.mcp.entry import command_line
from edgeret.adapters.mcp.itself import proxied_file
from edgeret.adapters.mcp.jsonc import added, decoded, indent, members, parse, removed, spot
from edgeret.adapters.mcp.placeholders import input_variable
from edgeret.adapters.mcp.whole_files import read_whole, replace_whole
from edgeret.quoting import quoted
from edgeret.records import dataclass

NAME = "edgeret"
"""What the proxy's entry is called in the client's file."""
_MOST_COPIES = 100


@dataclass(frozen=True, slots=True)
class _Text:
    """A file of servers as it was read, and the path of keys under which they stand, or would."""

    text: str
    codec: str
    path: tuple[str, ...]
    document: Mapping[str, Any]

    @property
    def servers(self) -> Mapping[str, Any]:
        found = at(self.document, self.path)
        return found if isinstance(found, dict) else {}

    def part(self, path: Sequence[str]) -> str | None:
        """The text of the value that stands there."""
        found = spot(self.text, path)
        return None if found is None else self.text[found.value : found.end]

    def proxy(self) -> tuple[str, Path] | None:
        """The name of the entry that is this proxy, and the configuration that it serves."""
        for name in sorted(self.servers, key=lambda name: name != NAME):
            if named := proxied_file(command_line(self.servers[name])):
                return name, Path(named)
        return None

    def with_servers(self, table: str) -> str:
        """The text with this table in the place of the servers' own."""
        found = spot(self.text, self.path)
        if found is not None:
            return self.text[: found.value] + table + self.text[found.end :]
        return added(self.text, self.text.index("{"), self.path[-1], table)

    def with_proxy(self, entry: Mapping[str, Any], alone: bool) -> str:
        """The text with the proxy's entry, `alone` or beside the servers that are there."""
        found = spot(self.text, self.path)
        if found is not None and not alone:
            return added(self.text, found.value, NAME, self.json(entry))
        depth = len(self.path) if found is not None else 0
        return self.with_servers(self.json({NAME: entry}, depth))

    def json(self, value: Any, depth: int = 0) -> str:
        """A value as the file's author would write it, `depth` indents deep."""
        unit, newline = indent(self.text), "\r\n" if "\r\n" in self.text else "\n"
        text = json.dumps(value, ensure_ascii=False, indent=unit)
        return text.replace("\n", newline + unit * depth)

    def moved(self) -> bytes:
        """The file of ours that its servers move to."""
        unit, newline = indent(self.text), "\r\n" if "\r\n" in self.text else "\n"
        parts = {self.path[-1]: self.part(self.path), "inputs": self.part((*self.path[:-1], "inputs"))}
        lines = [f"{unit}{json.dumps(key)}: {part}" for key, part in parts.items() if part is not None]
        return self.bytes("{" + newline + f",{newline}".join(lines) + f"{newline}}}{newline}")

    def bytes(self, text: str) -> bytes:
        """A changed text as the file holds it."""
        return text.encode(self.codec, "surrogatepass")


def install(
    client: Client, file: Path, words: Callable[[Path], Sequence[str]], config: Path | None, say: Say
) -> dict[str, Any]:
    """Moves the servers of a client's file behind the proxy; where a `config` is named, adds the proxy that serves it
    and leaves all else. `words` gives the command line of a proxy that serves a file. What was done, and where. Raises
    InputError, and then the client's file is as it was."""
    file = file.parent.resolve() / file.name
    data = read_whole(file)
    if data is None and config is None:
        raise InputError(f"{file}: no such file, so {client.title} has no servers there; name another with --file")
    now = _read(client, file, data)
    kept = _beside(file, "edgeret")
    told: dict[str, Any] = {"client": client.title, "file": str(file), "copy": None, "servers": [], "changed": False}
    if (there := now.proxy()) is not None:
        beside = [name for name in now.servers if name != there[0]]
        return {**told, "entry": there[0], "config": str(there[1]), "beside": beside}
    if config is not None:
        read_config(config, say)
        if NAME in now.servers:
            raise InputError(f"{file}: a server is named {quoted(NAME)} already; rename it. Nothing was changed")
    elif not now.servers:
        raise InputError(f"{file}: no servers in it to put behind the proxy; name a file of them with --config")
    serves = kept if config is None else config.absolute()
    moved = list(now.servers) if config is None else []
    entry = client.entry(words(serves), _inputs(now) if config is None and client.typed else {})
    changed = now.bytes(now.with_proxy(entry, alone=config is None))
    copy = None if data is None else _copied(file, data)
    if config is None:
        if (left := read_whole(kept)) not in (None, now.moved()):
            raise InputError(f"{kept}: is there from an earlier time; move it away, or serve it with --config {kept}")
        replace_whole(kept, now.moved(), left, like=file)
    replace_whole(file, changed, data)
    beside = [name for name in now.servers if name not in moved]
    told |= {"copy": None if copy is None else str(copy), "servers": moved, "changed": True}
    return {**told, "entry": NAME, "config": str(serves), "beside": beside}


def uninstall(client: Client, file: Path) -> dict[str, Any]:
    """Puts a client's servers back where they were and takes the proxy's entry out. What was changed since then stays,
    in the client's file and in the file of ours. What was done, and where. Raises InputError, and then nothing was
    changed."""
    file = file.parent.resolve() / file.name
    data = read_whole(file)
    now = _read(client, file, data)
    told: dict[str, Any] = {"client": client.title, "file": str(file), "copy": None, "changed": False}
    told |= {"servers": list(now.servers)}
    if data is None or (there := now.proxy()) is None:
        return told
    name, served = there
    kept, copies = _beside(file, "edgeret"), [path for path in _copies(file) if path.exists()]
    # The client's folder may have another name by now.
    moved = served.resolve() == kept.resolve() or (served.name == kept.name and not served.exists())
    ours = read_whole(kept) if moved else None
    if moved and ours is None:
        if not copies:
            raise InputError(f"{kept}: its servers cannot be put back, the file is gone; nothing was changed")
        ours = _read(client, file, read_whole(copies[-1])).moved()
    whole = next(
        (copy for copy in reversed(copies) if _leads_to(_read(client, copy, read_whole(copy)), now, ours)), None
    )
    restored = None if whole is None else read_whole(whole)
    if restored is None:
        restored = now.bytes(_without_proxy(now, name, None if ours is None else _read(client, kept, ours)))
    if not copies and _leads_to(_read(client, file, None), now, None):
        file.resolve().unlink()  # there was none before
    else:
        replace_whole(file, restored, data)
    for gone in (kept if moved else None, whole):
        if gone is not None:
            gone.unlink(missing_ok=True)
    told |= {"servers": list(_read(client, file, restored).servers), "changed": True}
    return {**told, "copy": None if whole is not None or not copies else str(copies[-1])}


def _read(client: Client, file: Path, data: bytes | None) -> _Text:
    """A client's file. Raises InputError for what is no JSON object, or keeps its servers in no object."""
    try:
        text, codec = decoded(data or b"")
        text = text if text.strip() else "{}\n"
        document = parse(text)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else error
        raise InputError(f"{file}: no JSON ({why}); nothing was changed") from None
    if not isinstance(document, dict):
        raise InputError(f"{file}: no JSON object, so it is no file of {client.title}'s; nothing was changed")
    path = next((path for path in PLACES[:-1] if isinstance(at(document, path), dict)), (client.key,))
    if at(document, path) is not None and not isinstance(at(document, path), dict):
        raise InputError(f"{file}: {quoted(path[-1])} is no object there; nothing was changed")
    return _Text(text, codec, path, document)


def _leads_to(old: _Text, now: _Text, ours: bytes | None) -> bool:
    """Whether all that happened to the old text is that the proxy was installed, and nothing to the file of `ours`."""
    entry = now.servers.get(NAME)
    if not isinstance(entry, dict) or (ours is not None and ours != old.moved()):
        return False
    return old.codec == now.codec and old.with_proxy(entry, alone=ours is not None) == now.text


def _without_proxy(now: _Text, name: str, ours: _Text | None) -> str:
    """The text without the proxy's entry, and with the servers of `ours` in its place; of two of one name that of the
    client's file, which is the later one."""
    found = spot(now.text, now.path)
    assert found is not None, "the proxy was read there"
    table = None if ours is None else ours.part(ours.path)
    if table is None:
        return removed(now.text, found.value, name)
    for member in members(now.text, found.value):
        value = now.text[member.value : member.end]
        if member.key == name:
            continue
        if (other := spot(table, (member.key,))) is not None:
            table = table[: other.value] + value + table[other.end :]
        else:
            table = added(table, 0, member.key, value)
    return now.with_servers(table)


def _inputs(now: _Text) -> dict[str, str]:
    """The variables in which the client, which asks its user, is to hand on what servers take from `inputs`."""
    used = re.findall(r"\$\{input:([^{}]+)\}", now.part(now.path) or "")
    return {input_variable(id_): f"${{input:{id_}}}" for id_ in dict.fromkeys(used)}


def _beside(file: Path, word: str) -> Path:
    return file.with_name(f"{file.stem}.{word}{file.suffix or '.json'}")


def _copies(file: Path) -> list[Path]:
    """Where copies of a file as it was are kept, the oldest first."""
    return [_beside(file, f"before-edgeret{'' if i == 1 else f'-{i}'}") for i in range(1, _MOST_COPIES)]


def _copied(file: Path, data: bytes) -> Path:
    for path in _copies(file):
        held = read_whole(path)
        if held is None:
            replace_whole(path, data, None, like=file)
        if held in (None, data):
            return path
    raise InputError(f"{path}: too many copies from earlier times; move some away. Nothing was changed")
