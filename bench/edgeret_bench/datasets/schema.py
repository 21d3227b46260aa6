"""The originals' ways to describe parameters, as JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

_TYPES = {
    "string": "str string text char date time datetime timestamp email url uri phone city location path file",
    "integer": "int integer long bigint",
    "number": "float double number decimal",
    "boolean": "bool boolean",
    "array": "list array arraylist tuple set sequence",
    "object": "dict object hashmap map json",
}
_BY_WORD = {word: kind for kind, words in _TYPES.items() for word in words.split()}
_KEPT = ("description", "enum", "default", "minimum", "maximum", "minItems", "maxItems", "pattern", "format")


def kind_of(word: Any) -> str | None:
    """JSON Schema's name of a type, by its first word ("list(str)" is an array); None for "any" and what is unknown."""
    match = re.match(r"[A-Za-z]+", word.strip()) if isinstance(word, str) else None
    return _BY_WORD.get(match[0].lower()) if match else None


def make_object(properties: Mapping[str, Any], required: Iterable[Any] = ()) -> dict[str, Any]:
    """The schema of a tool's parameters. Required names that are no parameters are left out."""
    found = {str(name): mend(schema) for name, schema in properties.items()}
    needed = sorted({name for name in required if isinstance(name, str)} & found.keys())
    return {"type": "object", "properties": found} | ({"required": needed} if needed else {})


def object_of(schema: Any) -> dict[str, Any]:
    """The schema of a tool's parameters out of a loosely written JSON Schema; what is none stands for no parameters."""
    given = schema if isinstance(schema, Mapping) else {}
    properties, required = given.get("properties"), given.get("required")
    return make_object(
        properties if isinstance(properties, Mapping) else {}, required if isinstance(required, list) else ()
    )


def mend(schema: Any) -> dict[str, Any]:
    """A schema written loosely, made proper: other languages' types renamed, unknown types left open."""
    if isinstance(schema, str):
        schema = {"type": schema}
    if not isinstance(schema, Mapping):
        return {}
    found: dict[str, Any] = {key: schema[key] for key in _KEPT if key in schema}
    for key, wanted in (("description", str), ("enum", list), ("format", str), ("pattern", str)):
        if key in found and (not isinstance(found[key], wanted) or not found[key]):
            del found[key]
    kind = kind_of(schema.get("type"))
    if kind is not None:
        found["type"] = kind
    if kind == "object" and isinstance(schema.get("properties"), Mapping):
        required = schema.get("required")
        found |= make_object(schema["properties"], required if isinstance(required, list) else ())
    if kind == "array" and isinstance(schema.get("items"), Mapping | str):
        found["items"] = mend(schema["items"])
    return found
