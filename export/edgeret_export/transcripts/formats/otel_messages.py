"""What a span says of a conversation: the messages of GenAI's conventions, in each of the forms that they had."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from edgeret_export.transcripts.conversation import Answered, Called, Event, Said
from edgeret_export.transcripts.formats.base import as_object, made, objects, returned, text_of, word
from edgeret_export.transcripts.formats.otel_spans import Span
from edgeret_export.transcripts.values import as_list

_INPUTS = ("gen_ai.input.messages", "gen_ai.prompt", "input.messages")
_OUTPUTS = ("gen_ai.output.messages", "gen_ai.completion", "output.messages")
_CALLS, _RESULTS = ("tool_call", "tool_use", "function_call"), ("tool_call_response", "tool_result", "tool_response")
_TEXTS = ("text", "input_text", "output_text")
_NUMBERED = re.compile(r"(?:gen_ai|llm)\.(prompt|completion|input_messages|output_messages)\.(\d{1,4})\.(.{1,200})")
_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message|gen_ai\.choice")


def messages_of(span: Span) -> list[Event]:
    """The events of a span's conversation; none if it holds no messages."""
    holders = [span.attributes, *(attributes for _, attributes in span.events)]
    found: list[dict[str, Any]] = []
    for names in (_INPUTS, _OUTPUTS):
        given = next((value for holder in holders for name in names if (value := _list(holder.get(name)))), [])
        found += objects(given)
    if not found:
        found = [_of_event(name, attributes) for name, attributes in span.events if _EVENT.fullmatch(name)]
    if not found:
        found = _numbered(span.attributes)
    return [event for message in found for event in _events(message)]


def _list(value: Any) -> list[Any]:
    return as_list(value) or ([value] if isinstance(value, dict) else [])


def _of_event(name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """An older convention has an event a message, with what it says as attributes or as a body."""
    body = as_object(attributes.get("body") or attributes.get("event.body")) or attributes
    message = as_object(body.get("message")) or body
    role = "assistant" if name == "gen_ai.choice" else name.split(".")[1]
    return {**message, "role": word(message.get("role")) or role}


def _numbered(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Instrumentations without lists write every field of every message as an attribute with numbers in its key."""
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for key, value in attributes.items():
        if match := _NUMBERED.fullmatch(key):
            side = 0 if match[1] in ("prompt", "input_messages") else 1
            message = found.setdefault((side, int(match[2])), {})
            path = match[3].removeprefix("message.").split(".")
            if path[0] == "tool_calls" and len(path) > 2 and path[1].isdecimal():
                calls = message.setdefault("numbered", {})
                calls.setdefault(int(path[1]), {})[path[-1]] = value
            else:
                message[path[-1]] = value
    for message in found.values():
        calls = message.pop("numbered", {})
        message["tool_calls"] = [calls[number] for number in sorted(calls)]
    return [found[place] for place in sorted(found)]


def _events(message: dict[str, Any]) -> Iterator[Event]:
    role = word(message.get("role"))
    parts = objects(as_list(message.get("parts"))) or objects(_plain_content(message))
    results = [part for part in parts if word(part.get("type")) in _RESULTS]
    if role == "tool" and not results:
        yield returned(message.get("id") or message.get("tool_call_id"), _plain_content(message), None)
        return
    for part in results:
        value = next((part[key] for key in ("response", "result", "content") if key in part), None)
        yield returned(part.get("id") or part.get("tool_use_id"), value, None)
    said = "\n".join(filter(None, map(_text, parts))) or text_of(_plain_content(message))
    if role in ("user", "human") and not results:
        without = [word(part.get("modality")) or word(part.get("type")) for part in parts if not _is_known(part)]
        yield Said(said, tuple(without))
    elif role in ("assistant", "model", "ai"):
        if said.strip():
            yield Answered(said.strip())
        calls = [part for part in parts if word(part.get("type")) in _CALLS]
        calls += objects(as_list(message.get("tool_calls")))
        if calls:
            yield Called(tuple(map(_call, calls)))


def _call(call: dict[str, Any]) -> Any:
    inner = as_object(call.get("function")) or call
    return made(call.get("id"), inner.get("name"), inner.get("arguments", inner.get("input")))


def _plain_content(message: dict[str, Any]) -> Any:
    """Content that is no list of parts, also where that was written as text."""
    content = message.get("content")
    parts = as_list(content)
    return parts if parts and all(isinstance(part, dict) and "type" in part for part in parts) else content


def _text(part: dict[str, Any]) -> str:
    return word(part.get("content")) or word(part.get("text")) if part.get("type", "text") in _TEXTS else ""


def _is_known(part: dict[str, Any]) -> bool:
    return word(part.get("type", "text")) in (*_TEXTS, *_CALLS, *_RESULTS, "reasoning", "thinking")
