"""A definition as clients take it: the SDK refuses a whole list for one odd entry, and some clients are stricter.
Knows nothing of servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types.methods import serialize_server_result
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from edgeret import Tool

_VERSIONS = (HANDSHAKE_PROTOCOL_VERSIONS[-1], MODERN_PROTOCOL_VERSIONS[-1])
"""Of the protocol, one for each way in which it writes a list of tools."""
_CHECKED = {"name", "title", "description", "inputSchema"}
"""Of a definition, what is proved here to be as it should; asking the SDK takes twice as long as all else."""
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def listable(definition: Mapping[str, Any], tool: Tool) -> tuple[dict[str, Any], bool]:
    """The definition for `tools/list` under the tool's name, with its parameters; and whether all other fields could
    stay. What is null is left out, since it says nothing and some clients refuse it. Raises ValueError for what the SDK
    refuses all the same."""
    shown: dict[str, Any] = {key: value for key, value in definition.items() if value is not None}
    shown |= {"name": tool.name, "inputSchema": tool.parameters or {"type": "object"}}
    if isinstance(words := shown.get("description"), str) and words.strip():
        shown["description"] = tool.description  # a long one was cut
    whole = True
    for key, fit in _FIT.items():
        if key in shown:
            value = fit(shown[key])
            whole = whole and value == shown[key]
            if value is None:
                del shown[key]
            else:
                shown[key] = value
    for version in _VERSIONS if shown.keys() - _CHECKED else ():
        listed = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [shown]}
        serialize_server_result("tools/list", version, listed)
    return shown, whole


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _annotations(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    kinds = dict.fromkeys(_HINTS, bool) | {"title": str}
    return {key: inner for key, inner in value.items() if isinstance(inner, kinds.get(key, object))}


def _icons(value: Any) -> list[Any] | None:
    if not isinstance(value, list):
        return None
    found = [
        {key: inner for key, inner in icon.items() if _fits_icon(key, inner)}
        for icon in value
        if isinstance(icon, dict) and isinstance(icon.get("src"), str)
    ]
    return found or None


def _fits_icon(key: str, value: Any) -> bool:
    if key == "sizes":
        return isinstance(value, list) and all(isinstance(size, str) for size in value)
    return value in ("light", "dark") if key == "theme" else key != "mimeType" or isinstance(value, str)


def _meta(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    token = value.get("progressToken", "")
    if isinstance(token, str | int) and not isinstance(token, bool):
        return value
    return {key: inner for key, inner in value.items() if key != "progressToken"}


def _execution(value: Any) -> dict[str, Any] | None:
    fits = isinstance(value, dict) and value.get("taskSupport", "optional") in ("forbidden", "optional", "required")
    return value if fits else None


def _output(value: Any) -> dict[str, Any] | None:
    """The schema of results, if it is one of objects: before 2026 no other is allowed. Without it results pass as they
    are, so what is in doubt is dropped."""
    if not isinstance(value, dict) or not isinstance(value.get("$schema", ""), str):
        return None
    if value.get("type", "object" if "properties" in value else None) != "object":
        return None
    properties, required = value.get("properties", {}), value.get("required", [])
    if not isinstance(properties, dict) or not all(isinstance(inner, dict | bool) for inner in properties.values()):
        return None
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return None
    found = value if "type" in value else {"type": "object", **value}
    if any(inner is True for inner in properties.values()):  # some clients take objects alone
        found = {**found, "properties": {name: {} if inner is True else inner for name, inner in properties.items()}}
    return found


_FIT = {
    "title": _text,
    "description": _text,
    "annotations": _annotations,
    "icons": _icons,
    "_meta": _meta,
    "execution": _execution,
    "outputSchema": _output,
}
"""What of a field clients take; None if nothing."""
