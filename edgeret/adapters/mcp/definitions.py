"""Tools as servers define them, strangers' words: bounded, mended, told apart, and brought into the form that is
searched. Knows nothing of connections."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from edgeret import InputError, Tool, read_tool, without_hidden
from edgeret.adapters.mcp.known_tools import examples_of
from edgeret.adapters.mcp.listing import listable
from edgeret.adapters.mcp.names import BETWEEN, exposed_name
from edgeret.quoting import few
from edgeret.types import MOST_EXAMPLES

MOST_TOOLS = 2_000
"""Of one server. The encoder takes some milliseconds for each, and no model was ever shown so many."""
MOST_BYTES = 1 << 16
"""Of one definition as JSON."""
MOST_TEXT = 2_000
"""Characters of a description that are searched; encoders read no more than some hundred words."""
MOST_DEPTH = 100
"""Of a definition: what it is written and read with goes down the call stack."""
MOST_PARAMETERS = 48
_TOLD = ("title", "description", "annotations", "inputSchema")
MOST_NAME = 256
_READ = (
    *("description", "title", "annotations", "inputSchema", "parameters", "input_schema", "schema", "_meta"),
    *("examples", "input_examples", "inputExamples"),
)
"""Of a definition, what says what it does and takes, and how people ask for it."""
HIDING = "held characters that nobody sees: they are dropped"
UNFIT = "has fields that clients refuse: they are dropped"


@dataclass(frozen=True)
class Definition:
    """One tool of a server: what the server calls it, what the client calls it, and its definition as it came.

    `tool` is what is read of it, and `shown` its definition for `tools/list`: as it came, but for the name that the
    client uses, what hides, and what clients refuse.
    """

    server: str
    name: str
    exposed: str
    raw: Mapping[str, Any]
    tool: Tool = field(compare=False)
    shown: dict[str, Any] = field(compare=False)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the definition, whatever the order of its keys: what a pin holds."""
        return hashlib.sha256(_canonical(self.raw)).hexdigest()

    @property
    def found(self) -> dict[str, Any]:
        """What a search gives of it: all that is needed to choose and to call it."""
        told = {**self.shown, "description": self.tool.description}
        return {"name": self.exposed, **{key: told[key] for key in _TOLD if told.get(key)}}

    def searched(self, given: Mapping[str, tuple[str, ...]] = MappingProxyType({})) -> Tool:
        """The tool as it is searched: words in bounded number, and requests: its own and those that are `given` by the
        client's or the server's name of it; else those that are known of such a tool."""
        properties = self.tool.parameters.get("properties", {})
        kept = {
            _short(key, MOST_NAME): {"description": _short(_text(value.get("description")), MOST_NAME)}
            for key, value in list(properties.items())[:MOST_PARAMETERS]
        }
        needed = [_short(key, MOST_NAME) for key in self.tool.parameters.get("required", ())[:MOST_PARAMETERS]]
        words = _short(self.tool.description, MOST_TEXT)
        shown = tuple(dict.fromkeys((*self.tool.examples, *self.given(given))))[:MOST_EXAMPLES]
        shown = shown or examples_of(self.server, self.name, properties)
        return Tool(self.exposed, words, {"type": "object", "properties": kept, "required": needed}, shown)

    def given(self, given: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        """What a file of examples has for it."""
        return given.get(self.exposed, given.get(self.name, ()))


def accepted(
    server: str,
    server_prefix: str,
    listed: Sequence[Any],
    say: Callable[[str], None],
    known: Mapping[str, Definition] = MappingProxyType({}),
) -> dict[str, Definition]:
    """What a server listed, by the client's names, in its order; what cannot be taken is left out, what is odd is
    mended, and both are told in a line for each kind of trouble. Those that are `known` already are not read, and not
    told of, again."""
    found: dict[str, Definition] = {}
    trouble: dict[str, list[str]] = {}
    mended: dict[str, list[str]] = {}
    for entry in listed:
        why = _trouble(entry)
        exposed = "" if why else exposed_name(server_prefix, entry["name"])
        if exposed in found:
            why = "stands there twice" if found[exposed].raw == entry else "has a name that another one has"
        elif not why and len(found) == MOST_TOOLS:
            why = f"comes after the first {MOST_TOOLS:,}"
        if not why and exposed in known and known[exposed].raw == entry:
            found[exposed] = known[exposed]
        elif not why:
            notes: list[str] = []
            try:
                found[exposed] = _read(server, exposed, entry, notes)
            except InputError:
                why = "has parameters that cannot be read"
            except ValueError:
                why = "has a definition that the protocol does not allow"
            for note in notes:
                mended.setdefault(note, []).append(_name(entry))
        if why:
            trouble.setdefault(why, []).append(_name(entry))
    for what, kinds in (("left out", trouble), ("mended", mended)):
        for why, names in kinds.items():
            say(f"server {server}: {len(names)} of {len(listed)} tools {what}, each {why}: {few(names)}")
    return found


def _read(server: str, exposed: str, entry: Mapping[str, Any], notes: list[str]) -> Definition:
    """A definition that can be taken, and what was mended. Raises InputError for parameters that cannot be read, and
    ValueError for what no client would take."""
    clean = without_hidden(entry)
    if clean is not entry and clean != entry:
        notes.append(HIDING)
    # Behind the server's name stands the tool's own, in letters that any name may have.
    described = {key: clean[key] for key in _READ if key in clean} | {"name": exposed.partition(BETWEEN)[2]}
    tool = replace(read_tool(described, tell=notes.append), name=exposed)
    shown, whole = listable(clean, tool)
    if not whole:
        notes.append(UNFIT)
    return Definition(server, entry["name"], exposed, entry, tool, shown)


def _trouble(entry: Any) -> str:
    """Why a tool cannot be taken; empty if it can."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
        return "is no object with a name"
    if len(entry["name"]) > MOST_NAME:
        return f"has a name of more than {MOST_NAME} characters"
    if _deeper(entry, MOST_DEPTH):
        return f"is nested more than {MOST_DEPTH} deep"
    try:
        size = len(_canonical(entry))
    except ValueError:
        return "holds a number that JSON does not have"
    return f"has a definition of more than {MOST_BYTES:,} bytes" if size > MOST_BYTES else ""


def _name(entry: Any) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return name[:60] if isinstance(name, str) and name else "(unnamed)"


def _canonical(raw: Mapping[str, Any]) -> bytes:
    return json.dumps(raw, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _deeper(value: Any, depth: int) -> bool:
    """Whether JSON is nested deeper."""
    level = [value]
    for _ in range(depth):
        nested = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [inner for one in nested for inner in one]
        if not level:
            return False
    return True


def _short(text: str, most: int) -> str:
    """The beginning of a text, on one line."""
    return " ".join(text[: 4 * most].split())[:most]
