"""The forms in which tools are written by APIs, servers, frameworks and data sets: where one's name, words and
parameters stand. Knows nothing of files, and mends nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgeret.inputs.jsonl import misspelt

_WRAPPED = ("function", "toolSpec", "tool_spec")
_LISTS = ("tools", "functions", "functionDeclarations", "function_declarations")
_AROUND = ("result", "toolConfig")
_PARAMETERS = (
    "parameters",
    "inputSchema",
    "input_schema",
    "parametersJsonSchema",
    "parameters_json_schema",
    "args_schema",
)
_MEANT_AS_PARAMETERS = ("arguments", "args", "inputs", "inputschema", "jsonschema", "params", "properties", "schema")
_MOST_LISTS = 4
"""Inside each other: an answer's `result`, a request's `toolConfig`, Gemini's `tools`, a tool's declarations."""


def listed(whole: Any) -> tuple[list[Any], Mapping[str, Any] | None] | None:
    """The entries of a decoded list of tools, and the object that they are listed in, unless they stand alone; None for
    what is no list."""
    page: Mapping[str, Any] | None = None
    for _ in range(_MOST_LISTS):
        if isinstance(whole, list):
            return [inner for entry in whole for inner in unpacked(entry)], page
        if not isinstance(whole, dict) or isinstance(whole.get("name"), str):
            break
        key = next((key for key in _LISTS if isinstance(whole.get(key), list)), None)
        key = key or next((key for key in _AROUND if isinstance(whole.get(key), dict)), None)
        if key is None:
            break
        page, whole = whole, whole[key]
    return None


def unpacked(entry: Any) -> Iterator[Any]:
    """The functions of an entry of a list: itself, or those that Gemini's entries declare."""
    if isinstance(entry, dict) and "name" not in entry:
        for key in _LISTS[2:]:
            if isinstance(entry.get(key), list):
                yield from entry[key]
                return
    yield entry


def function_of(entry: dict[str, Any]) -> dict[str, Any]:
    """The object that has the function's name."""
    for key in _WRAPPED:
        inner = entry.get(key)
        if isinstance(inner, dict) and (entry.get("type") == "function" or not isinstance(entry.get("name"), str)):
            return inner
    return entry


def is_built_in(function: Mapping[str, Any]) -> bool:
    """Whether this names what a model's host brings, and describes no function."""
    kind = function.get("type")
    if not isinstance(kind, str) or kind in ("function", "custom", "object"):
        return False
    return not isinstance(function.get("description"), str) and not any(key in function for key in _PARAMETERS)


def title_of(function: Mapping[str, Any]) -> str:
    """What people are shown in place of the name; empty where there is none."""
    annotations = function.get("annotations")
    found = (function.get("title"), annotations.get("title") if isinstance(annotations, dict) else None)
    return next((title for title in found if isinstance(title, str) and title.strip()), "")


def parameters_of(function: dict[str, Any]) -> tuple[Any, bool]:
    """What describes the parameters, None if nothing does; and whether it stands under a key that only resembles
    one."""
    for key in _PARAMETERS:
        if key in function:
            return function[key], False
    if isinstance(function.get("required_parameters"), list):  # ToolBench's
        needed, rest = function["required_parameters"], function.get("optional_parameters")
        parts = [{**one, "required": True} if isinstance(one, dict) else one for one in needed]
        return [*parts, *(rest if isinstance(rest, list) else ())], False
    meant = misspelt(function, _PARAMETERS[0], dict, _MEANT_AS_PARAMETERS)
    return (None, False) if meant is None else (function[meant], True)
