"""Calls and results that a model was taught to write into its text: `<tool_call>`, `<functioncall>`, `<tool_response>`.
No format by itself: several hold such texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, TypeGuard

from edgeret.inputs.demonstrations import MAX_ARGUMENTS_BYTES
from edgeret.inputs.jsonl import MAX_DEPTH, decode
from edgeret_export.transcripts.conversation import Answered, Called, Event, MadeCall, Unread
from edgeret_export.transcripts.formats.base import Notes, made, objects, returned, word

_CALL = re.compile(r"<(tool_call|functioncall|function_call)>(.*?)(?:</\1>|<\|endoftext\|>|(?=<\1>)|\Z)", re.S)
_RESULT = re.compile(r"<(tool_response|function_response|tool_result)>(.*?)(?:</\1>|(?=<\1>)|\Z)", re.S)
_TOOLS = re.compile(r"<tools>(.*?)</tools>", re.S)
_QUOTED = re.compile(r"(\"arguments\"\s*:\s*)'(.*)'(\s*[,}])", re.S)
_THOUGHT = re.compile(r"<(think|thinking|scratch_pad)>.*?</\1>", re.S)
_ENDS = re.compile(r"<\|(?:endoftext|im_end|eot_id)\|>")


def assistant(text: str) -> Iterator[Event]:
    """What an assistant's text holds: words, calls that were made at once, calls that cannot be read."""
    found = [match[2] for match in _CALL.finditer(text)]
    words = _ENDS.sub("", _THOUGHT.sub("", _CALL.sub("", text))).strip()
    if words:
        yield Answered(words)
    yield from calls_in(found)


def calls_in(texts: list[str]) -> Iterator[Event]:
    """The calls that these texts describe, each of them one or a list."""
    calls: list[MadeCall] = []
    for text in texts:
        value = value_of(text)
        read = [call for entry in objects(value if isinstance(value, list) else [value]) if (call := _call(entry))]
        calls += read
        if not read:
            yield Unread("a call that is no JSON object with a name")
    if calls:
        yield Called(tuple(calls))


def _call(entry: dict[str, Any]) -> MadeCall | None:
    inner = entry.get("function")
    inner = inner if isinstance(inner, dict) else entry
    name = inner.get("name", inner.get("tool", inner.get("tool_name")))
    arguments = next((inner[key] for key in ("arguments", "parameters", "args", "input") if key in inner), None)
    return made(entry.get("id"), name, arguments) if word(name) else None


def results(text: str, calls: int = 1) -> Iterator[Event]:
    """The results that a text holds: between tags, as a list of as many as `calls`, or the text as one."""
    tagged = [match[2].strip() for match in _RESULT.finditer(text)]
    if not tagged:
        value = value_of(text) if text.lstrip().startswith("[") else None
        tagged = value if isinstance(value, list) and len(value) == calls > 1 else [text]
    for each in tagged:
        value = value_of(each) if isinstance(each, str) and each.startswith("{") else each
        if isinstance(value, dict) and "name" in value and len({"content", "results", "result"} & value.keys()) == 1:
            key = next(key for key in ("content", "results", "result") if key in value)
            yield returned("", value[key], None)
        else:
            yield returned("", each, None)


def has_calls(text: Any) -> TypeGuard[str]:
    """Whether a text holds calls."""
    return isinstance(text, str) and _CALL.search(text) is not None


def has_results(text: Any) -> TypeGuard[str]:
    """Whether a text holds results."""
    return isinstance(text, str) and _RESULT.search(text) is not None


def tools(text: str, place: Any, notes: Notes) -> None:
    """Definitions inside a system prompt: between tags, or objects that stand there one behind the other."""
    for match in _TOOLS.finditer(text):
        value = value_of(match[1])
        notes.definitions.add(value if isinstance(value, list) else list(_objects_of(match[1])), place)
    if "<tools>" not in text:
        found = [entry for entry in _objects_of(text) if word(entry.get("name")) and "description" in entry]
        notes.definitions.add(found, place)


_MOST_OBJECTS = 256


def _objects_of(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects that begin at a line's begin."""
    at = 0
    for _ in range(_MOST_OBJECTS):
        found = re.compile(r"^\s*\{", re.M).search(text, at)
        if found is None:
            return
        begin = found.end() - 1
        end = _end_of(text, begin)
        value = value_of(text[begin:end])
        if isinstance(value, dict):
            yield value
        at = end


def _end_of(text: str, begin: int) -> int:
    """Behind the bracket that closes the one at `begin`; the text's end if none does."""
    depth, in_string = 0, False
    for match in re.compile(r'\\.|["{}]', re.S).finditer(text, begin):
        mark = match[0]
        if mark == '"':
            in_string = not in_string
        elif not in_string and mark in "{}":
            depth += 1 if mark == "{" else -1
            if depth == 0:
                return match.end()
    return len(text)


def value_of(text: Any) -> Any:
    """A value that was written as JSON, as JSON with arguments in single quotes, or as Python writes it; None if it is
    none of them."""
    if not isinstance(text, str):
        return text
    text = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    for attempt in (text, text[: _end_of(text, 0)] if text.startswith("{") else ""):
        try:
            return decode(attempt)
        except ValueError:
            continue
    try:
        if quoted := _QUOTED.search(text):
            whole = decode(f"{text[: quoted.start()]}{quoted[1]}null{quoted[3]}{text[quoted.end() :]}")
            return {**whole, "arguments": quoted[2].replace("\\'", "'")} if isinstance(whole, dict) else None
    except ValueError:
        pass
    return _python(text)


def _python(text: str) -> Any:
    # Python's own parser takes deep nesting badly, so what is long or deep is none.
    if len(text) > MAX_ARGUMENTS_BYTES or sum(map(text.count, "[{(-+~")) > 64 * MAX_DEPTH:
        return None
    depth = deepest = 0
    for mark in text:
        depth += (mark in "[{(") - (mark in "]})")
        deepest = max(deepest, depth)
    if deepest > MAX_DEPTH:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
