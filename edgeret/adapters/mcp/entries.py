"""Prompts, resources and templates as servers list them, strangers' words: each is looked at alone, so that one that
cannot be taken leaves out itself and no other. Knows nothing of connections, and of what other servers list."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from edgeret import without_hidden
from edgeret.adapters.mcp.config import Say
from edgeret.adapters.mcp.definitions import MOST_BYTES, MOST_DEPTH, MOST_NAME, MOST_TOOLS
from edgeret.quoting import quoted, visible

MOST_URI = 4_096
"""Characters of a URI or template."""


@dataclass(frozen=True)
class Kind:
    """One of the lists that servers have: how it is asked for, where it stands in the answer, what tells its entries
    apart, and the capability that promises it."""

    method: str
    key: str
    by: str
    capability: str


PROMPTS = Kind("prompts/list", "prompts", "name", "prompts")
RESOURCES = Kind("resources/list", "resources", "uri", "resources")
TEMPLATES = Kind("resources/templates/list", "resourceTemplates", "uriTemplate", "resources")


def taken(kind: Kind, server: str, listed: Sequence[Any], say: Say) -> dict[str, Mapping[str, Any]]:
    """What a server listed, by what it calls each, in its order; without what a reader would not see. What cannot be
    taken is left out, and told in a line for each kind of trouble."""
    found: dict[str, Mapping[str, Any]] = {}
    trouble: dict[str, list[str]] = {}
    for entry in listed:
        why = _trouble(kind, entry)
        if not why and entry[kind.by] in found:
            why = f"has a {kind.by} that another one has"
        elif not why and len(found) == MOST_TOOLS:
            why = f"comes after the first {MOST_TOOLS:,}"
        if why:
            trouble.setdefault(why, []).append(_name(kind, entry))
        else:
            found[entry[kind.by]] = {**without_hidden(entry), kind.by: entry[kind.by]}
    for why, names in trouble.items():
        shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        say(f"server {server}: {len(names)} of {len(listed)} {kind.key} left out, each {why}: {shown}")
    return found


def _trouble(kind: Kind, entry: Any) -> str:
    """Why an entry cannot be taken; empty if it can."""
    name = entry.get(kind.by) if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        return f"is no object with a {kind.by}"
    if kind is PROMPTS and len(name) > MOST_NAME:
        return f"has a name of more than {MOST_NAME} characters"
    if kind is not PROMPTS and (len(name) > MOST_URI or visible(name) != name or name != name.strip()):
        return f"has a {kind.by} of more than {MOST_URI:,} characters, or with some that a reader does not see"
    try:
        size = len(json.dumps(entry, separators=(",", ":")))
    except RecursionError:
        size = MOST_BYTES + 1
    if size > MOST_BYTES:
        return f"has more than {MOST_BYTES:,} bytes"
    if _deep(entry, MOST_DEPTH):
        return f"is nested more than {MOST_DEPTH} deep"
    try:
        validate_server_result(kind.method, LATEST_HANDSHAKE_VERSION, {kind.key: [entry]})
    except ValidationError:
        return "is not as the protocol wants it, so that clients would refuse the whole list"
    return ""


def _deep(value: Any, most: int) -> bool:
    return isinstance(value, dict | list) and (
        most == 0 or any(_deep(inner, most - 1) for inner in (value.values() if isinstance(value, dict) else value))
    )


def _name(kind: Kind, entry: Any) -> str:
    name = entry.get(kind.by) if isinstance(entry, dict) else None
    return quoted(name) if isinstance(name, str) else "(unnamed)"
