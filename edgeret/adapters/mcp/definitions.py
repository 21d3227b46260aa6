"""Tools as servers define them, strangers' words: bounded, told apart, and brought into the form that is searched. A
definition itself is never changed but for its name. Knows nothing of connections."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from edgeret import Tool
from edgeret.adapters.mcp.names import exposed_name

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
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0000-\U000e0fff]"
)

_LAYOUT = "\t\n\r\u2028\u2029\u200c\u200d"
"""Not printed, and no reason to wonder: ends of lines, and joiners of scripts and emoji."""


@dataclass(frozen=True)
class Definition:
    """One tool of a server: what the server calls it, what the client calls it, and its definition as it came."""

    server: str
    name: str
    exposed: str
    raw: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the definition, whatever the order of its keys: what a pin holds."""
        return hashlib.sha256(_canonical(self.raw)).hexdigest()

    @property
    def shown(self) -> dict[str, Any]:
        """The definition for `tools/list`: as it came, under the name that the client uses."""
        return {**self.raw, "name": self.exposed}

    @property
    def found(self) -> dict[str, Any]:
        """What a search gives of it: all that is needed to choose and to call it."""
        return {"name": self.exposed, **{key: self.raw[key] for key in _TOLD if self.raw.get(key)}}

    def searched(self) -> Tool:
        """The tool as it is searched: words that a reader can see, in bounded number."""
        schema = self.raw["inputSchema"]
        properties = schema.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        kept = {
            _clean(key, MOST_NAME): {"description": _clean(_described(value), MOST_NAME)}
            for key, value in list(properties.items())[:MOST_PARAMETERS]
        }
        words = _clean(_text(self.raw.get("description")), MOST_TEXT) or _clean(_text(self.raw.get("title")), MOST_TEXT)
        needed = (
            [_clean(key, MOST_NAME) for key in required if isinstance(key, str)] if isinstance(required, list) else []
        )
        return Tool(self.exposed, words, {"type": "object", "properties": kept, "required": needed[:MOST_PARAMETERS]})


def accepted(
    server: str, server_prefix: str, listed: Sequence[Any], say: Callable[[str], None]
) -> dict[str, Definition]:
    """What a server listed, by the client's names, in its order; what cannot be taken is left out, and told in a line
    for each kind of trouble."""
    found: dict[str, Definition] = {}
    trouble: dict[str, list[str]] = {}
    hiding: list[str] = []
    for entry in listed:
        if why := _trouble(entry):
            trouble.setdefault(why, []).append(_name(entry))
            continue
        exposed = exposed_name(server_prefix, entry["name"])
        if exposed in found:
            trouble.setdefault("has a name that another one has", []).append(_name(entry))
        elif len(found) == MOST_TOOLS:
            trouble.setdefault(f"comes after the first {MOST_TOOLS:,}", []).append(_name(entry))
        else:
            found[exposed] = Definition(server, entry["name"], exposed, entry)
            if _hides(_text(entry.get("description"))):
                hiding.append(_name(entry))
    for why, names in trouble.items():
        shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        say(f"server {server}: {len(names)} of {len(listed)} tools left out, each {why}: {shown}")
    if hiding:
        say(f"server {server}: descriptions hold characters that a reader does not see: {', '.join(hiding[:3])}")
    return found


def _trouble(entry: Any) -> str:
    """Why a tool cannot be taken; empty if it can."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
        return "is no object with a name"
    if len(entry["name"]) > MOST_NAME:
        return f"has a name of more than {MOST_NAME} characters"
    if not isinstance(entry.get("inputSchema"), dict):
        return "has no JSON Schema object as its inputSchema"
    if not isinstance(entry.get("description", ""), str | None):
        return "has a description that is no text"
    if _deeper(entry, MOST_DEPTH):
        return f"is nested more than {MOST_DEPTH} deep"
    size = len(_canonical(entry))
    return f"has a definition of more than {MOST_BYTES:,} bytes" if size > MOST_BYTES else ""


def _name(entry: Any) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return _clean(name, 60) if isinstance(name, str) else "(unnamed)"


def _canonical(raw: Mapping[str, Any]) -> bytes:
    return json.dumps(raw, sort_keys=True, separators=(",", ":")).encode()


def _described(value: Any) -> str:
    return _text(value.get("description")) if isinstance(value, dict) else ""


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


def _hides(text: str) -> bool:
    return _UNSEEN.search(text) is not None or not all(c.isprintable() or c in _LAYOUT for c in text)


def _clean(text: str, most: int) -> str:
    """The text without what a reader would not see, on one line."""
    seen = _UNSEEN.sub("", text[: 4 * most])
    return " ".join("".join(c if c.isprintable() else " " for c in seen).split())[:most]
