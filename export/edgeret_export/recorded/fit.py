"""Whether the arguments of calls fit the parameters of their tools: names and JSON types, at the top level alone.

Cheap enough for 100,000 demonstrations, and it needs no library of schemas; the planner checks what it fills in against
the whole schema. Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeret.inputs.jsonl import json_type
from edgeret.quoting import quoted, suggestion
from edgeret.types import REFERENCE, Call, Tool

_TYPES: Mapping[str, type[Any] | tuple[type[Any], ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


@dataclass(slots=True)
class Misfits:
    """How many arguments of how many demonstrations do not fit, and in words the first of them with its place."""

    arguments: int = 0
    demonstrations: int = 0
    first: str = ""

    def check(self, where: str, calls: Sequence[Call], tools: Mapping[str, Tool]) -> None:
        """Counts the arguments of the demonstration at `where` that do not fit."""
        found = [(call, name) for call in calls for name in misfitting(call, tools[call.tool])]
        if found:
            self.first = self.first or f"{where}: {_described(*found[0], tools)}"
            self.arguments += len(found)
            self.demonstrations += 1

    def __str__(self) -> str:
        return (
            f"{self.arguments} arguments of {self.demonstrations} demonstrations do not fit their tools' parameters "
            f"(first: {self.first})"
        )


def misfitting(call: Call, tool: Tool) -> list[str]:
    """Names of the arguments that the tool's parameters lack, or give another JSON type.

    A parameter without a plain type takes anything, a reference "$out_1" fits anywhere, and parameters that list no
    names, or allow others than those, take any name.
    """
    properties = tool.parameters.get("properties")
    if not isinstance(properties, Mapping):
        return []
    closed = not tool.parameters.get("additionalProperties") and not tool.parameters.get("patternProperties")
    return [
        name
        for name, value in call.arguments.items()
        if (closed if name not in properties else not _fits(value, properties[name]))
    ]


def _fits(value: Any, schema: Any) -> bool:
    said = schema.get("type") if isinstance(schema, Mapping) else None
    names = {name for name in (said if isinstance(said, list) else [said]) if isinstance(name, str)}
    if not names or not names <= _TYPES.keys():
        return True
    if isinstance(value, bool):
        return "boolean" in names
    if any(isinstance(value, _TYPES[name]) for name in names):
        return True
    if isinstance(value, str):
        return REFERENCE.fullmatch(value) is not None
    whole = isinstance(value, float) and value.is_integer() and "integer" in names
    return whole or (value is None and schema.get("nullable") is True)


def _described(call: Call, name: str, tools: Mapping[str, Tool]) -> str:
    properties = tools[call.tool].parameters["properties"]
    if name not in properties:
        return f"{quoted(call.tool)} has no parameter {quoted(name)}{suggestion(name, properties)}"
    said = properties[name]["type"]
    expected = " or ".join(said) if isinstance(said, list) else said
    found = json_type(call.arguments[name])
    return f"argument {quoted(name)} of {quoted(call.tool)} must be {expected}, found {found}"
