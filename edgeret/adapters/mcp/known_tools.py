"""Requests as people make them, for tools of servers that many use. Written by us from the servers' public definitions;
a tool counts as known by its name and its parameters, since anybody may call a tool so. Knows nothing of search."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

ALIKE = 0.5
"""Share of the parameters, of both sides' together, that a tool has in common with the one that is known."""


def examples_of(server: str, name: str, parameters: Collection[str]) -> tuple[str, ...]:
    """Requests for the tool of this name, as its `server` is called by whoever started it; none for an unknown one.
    Parameters tell tools of one name apart; where there are none the server's name has to."""
    own, best, found = set(parameters), 0.0, ()
    for entry in _known().get(name, ()):
        known = set(entry["parameters"])
        both = own | known
        alike = len(own & known) / len(both) if both else 0.0
        alike += 1.0 if entry["server"] in server.lower() else 0.0
        if alike >= ALIKE and alike > best:
            best, found = alike, tuple(entry["examples"])
    return found


@cache
def _known() -> dict[str, list[dict[str, Any]]]:
    """The known tools by name, read with the first server."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in Path(__file__).with_name("known_tools.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        found.setdefault(entry["name"], []).append(entry)
    return found
