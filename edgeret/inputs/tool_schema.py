"""A function's parameters as people, frameworks and data sets write them, as a JSON Schema of an object. Knows nothing
of tools and of files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from edgeret.inputs.jsonl import json_type

_KINDS = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "hashmap": "object",
    "map": "object",
}
"""Types as languages call them, by JSON Schema's names."""
KINDS = frozenset(("string", "integer", "number", "boolean", "array", "object", "null"))
_HOLD_SCHEMAS = {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
_ARE_SCHEMAS = {"additionalProperties", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedProperties"}
_OBJECTS = frozenset(_HOLD_SCHEMAS | _ARE_SCHEMAS | {"allOf", "anyOf", "oneOf"})
"""Keywords of a schema whose values are objects or lists, as those of a parameter may be."""
_TEXTS = frozenset(["$comment", "$id", "$ref", "$schema", "description", "format", "pattern", "title", "type"])
_OBJECT = {"type": "object"}
_MOST_REFERENCES = 8


def object_schema(given: Any) -> tuple[dict[str, Any], bool]:
    """The schema, and whether it had to be mended; {} for none. `given` is JSON as it is decoded, and stays as it is.

    Every property of what comes back is an object, and `required` a list of texts: clients refuse anything else.
    Understood besides: a schema as JSON text, parameters by name without a schema around them, a list of parameters
    that have names, a reference at the top, types in capitals or as Python calls them. Raises ValueError for what
    describes no parameters.
    """
    if given is None or given == {}:
        return {}, False
    if isinstance(given, dict) and _is_schema(given):
        return given, False
    if (
        isinstance(given, dict)
        and "type" not in given
        and "properties" in given
        and _is_schema(typed := _OBJECT | given)
    ):
        return typed, False  # nothing is lost, and nothing guessed
    described = _described(given)
    return (_mended(described) if described else {}), True


def _is_schema(given: Mapping[str, Any]) -> bool:
    """Whether it needs no mending; true of nearly every one."""
    if given.get("type") != "object" or "$ref" in given or not isinstance(given.get("$schema", ""), str):
        return False
    properties, required = given.get("properties"), given.get("required")
    if properties is None:
        if "properties" in given:
            return False
    elif not isinstance(properties, dict) or not all(isinstance(value, dict) for value in properties.values()):
        return False
    if required is None:
        return "required" not in given
    return isinstance(required, list) and all(isinstance(name, str) for name in required)


def _described(given: Any) -> dict[str, Any]:
    """The schema, or the parameters by name, that was meant."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            raise ValueError("text that is no JSON Schema") from None
    if given is None or given is True or given == []:
        return {}
    if isinstance(given, list):
        return _listed(given)
    if not isinstance(given, dict):
        raise ValueError(f"{json_type(given)} is no JSON Schema")
    if list(given) == ["json"] and isinstance(given["json"], dict):  # Bedrock's
        given = given["json"]
    return _lower({"properties": given}) if _is_by_name(given) else dict(given)


def _listed(given: list[Any]) -> dict[str, Any]:
    """Parameters in a list, each with its name."""
    if not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in given):
        raise ValueError("an array is no JSON Schema")
    inside = [one["schema"] if isinstance(one.get("schema"), dict) else one for one in given]
    left_out = ("name", "required", "in")
    named = {
        one["name"]: {key: value for key, value in {**schema, **_meaning(one)}.items() if key not in left_out}
        for one, schema in zip(given, inside, strict=True)
    }
    needed = [one["name"] for one in given if one.get("required") is True]
    return _lower({"properties": named, **({"required": needed} if needed else {})})


def _meaning(one: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": one["description"]} if isinstance(one.get("description"), str) else {}


def _is_by_name(given: Mapping[str, Any]) -> bool:
    """Whether this is no schema, but parameters by their names."""
    return bool(given) and all(
        key not in _OBJECTS and (isinstance(value, dict) or (isinstance(value, str) and key not in _TEXTS))
        for key, value in given.items()
    )


def _mended(schema: dict[str, Any]) -> dict[str, Any]:
    schema = _followed(schema)
    if schema.get("type") != "object":
        schema = {"type": "object", **_lower(schema)}
        schema["type"] = "object"
    if not isinstance(schema.get("$schema", ""), str):
        del schema["$schema"]
    if isinstance(schema.get("properties"), list):
        with suppress(ValueError):
            schema |= _listed(schema["properties"])
    if isinstance(schema.get("required"), list):
        schema["required"] = [name for name in schema["required"] if isinstance(name, str)]
    else:
        schema.pop("required", None)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        schema["properties"] = {name: _property(value) for name, value in properties.items()}
    else:
        schema.pop("properties", None)
    return schema


def _property(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        return {"type": value} if value in KINDS else {"description": value}
    return {"not": {}} if value is False else {}


def _followed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with what its own reference leads to in its place; without it, where it leads nowhere."""
    for _ in range(_MOST_REFERENCES):
        if "$ref" not in schema:
            return schema
        reference, target = schema["$ref"], schema
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return rest
        for part in reference.removeprefix("#/").split("/"):
            inner = target.get(part.replace("~1", "/").replace("~0", "~"))
            target = inner if isinstance(inner, dict) else {}
        schema = {**rest, **target}
    return {key: value for key, value in schema.items() if key != "$ref"}


def _lower(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same with types as JSON Schema writes them."""
    found = {key: _lowered(value) for key, value in schema.items()}
    if isinstance(kind := found.get("type"), str):
        plain = kind.lower().partition(",")[0].partition("[")[0].strip()  # "List[int], optional"
        plain = _KINDS.get(plain, plain)
        found["type"] = plain if plain in KINDS else kind
    return found


def _lowered(value: Any) -> Any:
    if isinstance(value, list):
        return [_lowered(one) for one in value]
    return _lower(value) if isinstance(value, dict) else value
