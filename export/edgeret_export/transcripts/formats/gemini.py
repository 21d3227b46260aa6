"""Gemini's contents: requests logged with or without their responses, tuning data, sessions of its agent kit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from edgeret_export.transcripts.conversation import Answered, Called, Event, MadeCall, Place, Returned, Said, Unread
from edgeret_export.transcripts.formats.base import (
    NO,
    SURE,
    EachAlone,
    Format,
    Notes,
    as_object,
    exchange,
    made,
    objects,
    returned,
    word,
)
from edgeret_export.transcripts.values import Record

_CALL, _RESULT = ("functionCall", "function_call"), ("functionResponse", "function_response")
_DECLARED = ("functionDeclarations", "function_declarations")
_SCHEMAS = ("parametersJsonSchema", "parameters_json_schema", "parameters")
_FILES = ("inlineData", "inline_data", "fileData", "file_data")
_GROUPS = ("session_id", "sessionId", "conversation_id")
_MOST_DEPTH = 32


def fit(record: Record) -> int:
    """Sure where there are contents of parts."""
    return SURE if _contents(record) else NO


def _contents(record: Record) -> list[dict[str, Any]]:
    request, reply = exchange(record, ("contents",))
    given = request.get("contents")
    found = objects([given]) or objects(given)
    if not found:
        found = [dict(as_object(event.get("content"))) for event in objects(record.get("events"))]
    if not found or any("parts" not in content for content in found):
        return []
    reply = record if "candidates" in record else reply
    answers = [dict(as_object(choice.get("content"))) for choice in objects(reply.get("candidates"))[:1]]
    return [*found, *(answer for answer in answers if "parts" in answer)]


def read(record: Record, place: Place, notes: Notes) -> tuple[Sequence[Event], str]:
    """The record's events."""
    request, _ = exchange(record, ("contents",))
    config = as_object(request.get("config"))
    for holder in (request, config, record):
        tools = holder.get("tools")
        for tool in objects([tools]) or objects(tools):
            notes.definitions.add([_definition(each) for each in objects(_of(tool, _DECLARED))], place)
    events = [event for content in _contents(record) for event in _events(content)]
    return events, next((word(record.get(key)) for key in _GROUPS if word(record.get(key))), "")


def _events(content: dict[str, Any]) -> Iterator[Event]:
    parts = objects(content.get("parts"))
    results = [_result(as_object(found)) for part in parts if (found := _of(part, _RESULT)) is not None]
    spoken = "\n".join(text for part in parts if not part.get("thought") and (text := word(part.get("text"))))
    yield from results
    if word(content.get("role")) in ("model", "assistant"):
        if spoken.strip():
            yield Answered(spoken.strip())
        if calls := [_call(as_object(found)) for part in parts if (found := _of(part, _CALL)) is not None]:
            yield Called(tuple(calls))
        if any("executableCode" in part or "executable_code" in part for part in parts):
            yield Unread("a call of the built-in tool code_execution")
    elif not results:
        yield Said(spoken, tuple(_kind(as_object(found)) for part in parts if (found := _of(part, _FILES)) is not None))


def _kind(data: Record) -> str:
    return word(data.get("mimeType")) or word(data.get("mime_type")) or "file"


def _call(call: Record) -> MadeCall:
    return made(call.get("id") or call.get("name"), call.get("name"), call.get("args"))


def _result(result: Record) -> Returned:
    """A response is an object, and mostly one with the result alone in it."""
    response = as_object(result.get("response"))
    only = next(iter(response.values())) if len(response) == 1 and response.keys() <= {"output", "result"} else response
    shown = only if isinstance(only, str) else response
    return returned(result.get("id") or result.get("name"), shown, None)


def _definition(declared: dict[str, Any]) -> dict[str, Any]:
    schema = _of(declared, _SCHEMAS)
    about = {key: value for key, value in declared.items() if key not in _SCHEMAS and key != "response"}
    return {**about, "parameters": _lower(schema)} if isinstance(schema, dict) else about


def _lower(schema: Any, depth: int = 0) -> Any:
    """A schema with types as JSON Schema writes them: Gemini's are in capitals."""
    if depth == _MOST_DEPTH:
        return schema
    if isinstance(schema, list):
        return [_lower(entry, depth + 1) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else _lower(value, depth + 1)
        for key, value in schema.items()
    }


def _of(holder: Record, names: tuple[str, ...]) -> Any:
    return next((holder[name] for name in names if name in holder), None)


FORMAT = Format("gemini", "Gemini contents", fit, partial(EachAlone, read))
