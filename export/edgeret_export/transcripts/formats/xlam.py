"""xLAM's function calling: a query, the tools and the calls that answer it, mostly as JSON text. Results are none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from edgeret_export.transcripts.conversation import Answered, Called, Event, Place, Said
from edgeret_export.transcripts.formats.base import NO, SURE, EachAlone, Format, Notes, listed, made, word
from edgeret_export.transcripts.values import Record, as_list

_ASKED = ("query", "question", "instruction")
_ANSWERS = ("answers", "function_calls", "ground_truth")
_TYPES = {
    **{"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "tuple": "array"},
    **{"dict": "object", "set": "array", "any": ""},
}


def fit(record: Record) -> int:
    """Sure where there are tools and answers beside a query."""
    asked = any(word(record.get(key)) for key in _ASKED)
    return SURE if asked and _answers(record) is not None and as_list(record.get("tools")) is not None else NO


def _answers(record: Record) -> list[Any] | None:
    return next((found for key in _ANSWERS if (found := as_list(record.get(key))) is not None), None)


def read(record: Record, place: Place, notes: Notes) -> tuple[Sequence[Event], str]:
    """The record's events."""
    notes.definitions.add([_definition(tool) for tool in listed(record.get("tools"))], place)
    calls = [made("", call.get("name"), call.get("arguments")) for call in listed(_answers(record))]
    query = next(text for key in _ASKED if (text := word(record.get(key))))
    return [Said(query), Called(tuple(calls)) if calls else Answered("")], ""


def _definition(tool: dict[str, Any]) -> dict[str, Any]:
    """Parameters are a schema's properties by themselves, with Python's names of types."""
    inner = tool.get("function")
    tool = inner if isinstance(inner, dict) else tool
    given = tool.get("parameters")
    if not isinstance(given, dict) or isinstance(given.get("properties"), dict):
        return tool
    properties = {name: _property(about) for name, about in given.items() if isinstance(about, dict)}
    needed = [name for name, about in properties.items() if "default" not in about and not _is_optional(given[name])]
    return {**tool, "parameters": {"type": "object", "properties": properties, "required": needed}}


def _property(about: dict[str, Any]) -> dict[str, Any]:
    kind = word(about.get("type")).split(",")[0].split("[")[0].strip().lower()
    kind = _TYPES.get(kind, kind)
    rest = {key: value for key, value in about.items() if key not in ("type", "required", "optional")}
    return {"type": kind, **rest} if kind in _TYPES.values() and kind else rest


def _is_optional(about: dict[str, Any]) -> bool:
    return "optional" in word(about.get("type")).lower() or about.get("required") is False


FORMAT = Format("xlam", "xLAM", fit, partial(EachAlone, read))
