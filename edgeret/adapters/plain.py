"""SDKs' own objects among messages and tools, read as the JSON that they stand for. Knows no message formats.

Objects are read by their attributes, which pydantic models, dataclasses and plain classes have alike. What cannot be
read is told with its place: a conversation of which a part is missing keeps the wrong tools, and nobody would see why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from edgeret import InputError

_FIELDS = (
    *("role", "type", "content", "text", "id", "name", "function", "custom", "tool_calls", "tool_call_id", "call_id"),
    *("output", "function_call", "tool_use_id", "is_error", "status", "object", "choices", "message"),
)
"""That conversations are read from."""
_WHOLE = {"chat.completion": "choices[0].message", "response": "output", "chat.completion.chunk": "the whole message"}
"""Answers of an API that are given for the messages in them, and what is meant."""
_LANGCHAIN = frozenset(("human", "ai", "system", "tool", "function", "chat", "HumanMessageChunk", "AIMessageChunk"))


def records(value: object, where: str) -> list[Mapping[str, Any]]:
    """The elements of a list, each as an object's fields; none of None. Raises InputError for anything else, with its
    place, which begins with `where`."""
    return [record(item, f"{where}[{i}]") for i, item in enumerate(elements(value, where))]


def elements(value: object, where: str) -> list[Any]:
    """A list's elements. Raises InputError for what is none, and for what can be read only once: the caller would send
    an empty one afterwards."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, Iterator):
        raise InputError(f"{where} is {_kind(value)}, which can be read once; make a list of it: list(…)")
    if isinstance(value, str | bytes | Mapping) or _has_fields(value) or not isinstance(value, Iterable):
        raise InputError(f"{where} is {_kind(value)}, expected a list{_meant(value)}")
    return list(value)


def record(item: object, where: str) -> Mapping[str, Any]:
    """An object's fields: a mapping as it is, and of any other one those that conversations are read from. Raises
    InputError for what has none."""
    fields = item if isinstance(item, Mapping) else _attributes(item)
    if fields is not item and "role" not in fields and fields.get("type") in _LANGCHAIN and "content" in fields:
        raise InputError(f"{where} is LangChain's; give convert_to_openai_messages(messages)")
    if "object" in fields and (meant := _WHOLE.get(str(fields["object"]))) and "role" not in fields:
        raise InputError(f"{where} is a whole answer ({fields['object']}); give its {meant}")
    if isinstance(item, Mapping) or (isinstance(fields.get("role"), str) or isinstance(fields.get("type"), str)):
        return fields
    raise InputError(f"{where} is {_kind(item)}, expected a dict or an object with a role or a type{_meant(item)}")


def texts(content: object, kinds: Collection[str], where: str) -> list[str]:
    """The texts of a message's content: a string, or those parts of a list that are of these kinds. Raises
    InputError."""
    if content is None:
        return []
    if isinstance(content, str):
        return [content]
    found: list[str] = []
    for i, part in enumerate(elements(content, where)):
        if isinstance(part, str):
            found.append(part)
            continue
        fields = record(part, f"{where}[{i}]")
        if str(fields.get("type")) in kinds and isinstance(fields.get("text"), str):
            found.append(fields["text"])
    return found


def name_in(value: object, *path: str) -> str | None:
    """The name that stands at a path of keys or attributes, None where there is no text."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
    return value if isinstance(value, str) and value else None


def tool(entry: Any) -> Any:
    """A tool as JSON has it, where it is an SDK's object that tells how; any other as it is."""
    if isinstance(entry, Mapping):
        return entry
    try:
        if hasattr(entry, "params_json_schema"):  # of the Agents SDK, which has no way of its own
            parameters = entry.params_json_schema
            return {"type": "function", "name": entry.name, "description": entry.description, "parameters": parameters}
        for method, options in (("model_dump", {"exclude_none": True}), ("to_dict", {})):
            if callable(getattr(entry, method, None)):
                return getattr(entry, method)(**options)
    except Exception:  # an object of any kind; it is kept, as all that is no function
        return entry
    return entry


def _attributes(item: object) -> dict[str, Any]:
    missing = object()
    values = ((key, getattr(item, key, missing)) for key in _FIELDS) if _has_fields(item) else ()
    return {key: value for key, value in values if value is not missing}


def _has_fields(item: object) -> bool:
    """Whether an object may stand for a message: anything but what JSON itself is made of."""
    if isinstance(item, str | bytes | int | float | list | tuple | Iterator) and not hasattr(item, "_fields"):
        return False
    return item is not None and any(hasattr(item, key) for key in ("role", "type", "content", "message", "object"))


def _kind(value: object) -> str:
    return f"of type {type(value).__name__}"


def _meant(value: object) -> str:
    """What is meant by an object that holds the message or the list."""
    for key, meant in (("message", "message"), ("choices", "choices[0].message"), ("content", "content")):
        if not isinstance(value, Mapping) and getattr(value, key, None) is not None:
            return f"; give its {meant}"
    return ""
