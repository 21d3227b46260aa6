"""What a task begins with: tools' names, calls, or a saved task, all checked; and how a task is saved. Knows nothing of
how anything is decided."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import MAX_CALLS
from edgeret.inputs.hygiene import check_name
from edgeret.inputs.jsonl import json_type
from edgeret.inputs.query import check_query
from edgeret.quoting import quoted, suggestion
from edgeret.runtime.history import MAX_REASON_CHARS, History, check_arguments, check_reason, check_result
from edgeret.types import Call, Failure, Tool

_WHERE = "saved task"
_CONTENT_HASH = re.compile(r"[0-9a-f]{64}")
_KINDS: Mapping[str, type] = {"query": str, "content_hash": str, "calls": list, "failures": list}
_CALL: Mapping[str, type] = {"tool": str, "arguments": dict, "result": object, "foreign": bool}
_FAILURE: Mapping[str, type] = {"tool": str, "reason": str, "after": int, "retried": bool}
_SAID = {str: "text", list: "an array", dict: "an object", bool: "true or false", int: "a whole number"}


def find_tool(tools: Mapping[str, Tool], name: object, otherwise: str = "") -> Tool:
    """The tool of this name. Raises InputError for an unknown one; `otherwise` says what else can be done."""
    if not isinstance(name, str):
        raise InputError(f"unknown tool of type {type(name).__name__}; give the name of one of the bundle's tools")
    if (tool := tools.get(name)) is None:
        near = suggestion(name, tools)
        raise InputError(f"unknown tool {quoted(name)}; list the bundle's tools with: edgeret inspect{otherwise}{near}")
    return tool


def check_choosable(tools: Collection[str] | None, known: Mapping[str, Tool]) -> None:
    """Raises InputError unless these are names of `known` tools, of one at least, or None for all."""
    if tools is None:
        return
    if isinstance(tools, str) or not isinstance(tools, Collection) or not all(isinstance(t, str) for t in tools):
        raise InputError("tools must be a list of tools' names")
    unknown = next((name for name in tools if name not in known), None)
    if unknown is not None:
        near = suggestion(unknown, known)
        raise InputError(f"unknown tool {quoted(unknown)} in tools; list them with: edgeret inspect{near}")
    if not tools:
        raise InputError("tools is empty; name at least one tool, or leave it out for all")


def checked_name(tools: Mapping[str, Tool], name: object, foreign: bool) -> str:
    """The name of a tool, which only one that is `foreign` need not have in the bundle. Raises InputError."""
    if not isinstance(foreign, bool):
        raise InputError(f"foreign must be True or False, found {type(foreign).__name__}")
    if not foreign or not isinstance(name, str):
        if type(name) is str and name in tools:  # nothing else of it is read
            return name
        return find_tool(tools, name, "; call one that is not the bundle's with foreign=True").name
    if not name:
        raise InputError("a foreign tool needs a name, found none")
    check_name(name, "a foreign tool")
    return name


def begin(items: Sequence[str | Call], tools: Mapping[str, Tool]) -> History:
    """The history that names of tools, or calls, make. Raises InputError."""
    if not isinstance(items, list | tuple):
        raise InputError(f"history must be a list of tools' names or calls, found {type(items).__name__}")
    history = History([], [])  # spelt out, in half the time
    for position, item in enumerate(items, 1):
        call = item if isinstance(item, Call) else Call(item)
        try:
            tool = find_tool(tools, call.tool).name
            checked = Call(tool, check_arguments(call.arguments), check_result(call.result))
            history.add(checked)
        except InputError as error:
            raise InputError(f"history, item {position}: {error}") from None
    return history


def save(query: str, content_hash: str, history: History, tools: Mapping[str, Tool]) -> dict[str, Any]:
    """A task as JSON-ready data; all in it is a copy but for arguments and results."""
    return {
        "query": query,
        "content_hash": content_hash,
        "calls": [
            {"tool": c.tool, "arguments": c.arguments, "result": c.result, "foreign": c.tool not in tools}
            for c in history.calls
        ],
        "failures": [asdict(failure) for failure in history.failures],
    }


def restore(value: object, tools: Mapping[str, Tool]) -> tuple[str, History]:
    """The query and the history of a saved task. Raises InputError for anything that `save` does not write, and for
    tools that the bundle does not have (any more)."""
    saved = _fields(value, _KINDS, _WHERE)
    query = check_query(saved["query"], f"{_WHERE}: query")
    content_hash = saved["content_hash"]
    if not _CONTENT_HASH.fullmatch(content_hash):
        raise InputError(f'{_WHERE}: "content_hash" must have 64 hexadecimal digits, found {quoted(content_hash)}')
    for key in ("calls", "failures"):
        if len(saved[key]) > MAX_CALLS:
            raise InputError(f"{_WHERE}: {len(saved[key])} {key}, at most {MAX_CALLS} are allowed; open a new task")
    history = History()
    for position, entry in enumerate(saved["calls"], 1):
        where = f"{_WHERE}, call {position}"
        fields = _fields(entry, _CALL, where)
        name = _known(fields["tool"], tools, where, content_hash, foreign=fields["foreign"])
        try:
            call = Call(name, check_arguments(fields["arguments"]), check_result(fields["result"]))
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
        history.add(call)
    for position, entry in enumerate(saved["failures"], 1):
        history.fail(_failure(entry, f"{_WHERE}, failure {position}", history, tools, content_hash))
    return query, history


def _failure(entry: object, where: str, history: History, tools: Mapping[str, Tool], content_hash: str) -> Failure:
    """Raises InputError."""
    fields = _fields(entry, _FAILURE, where)
    name = _known(fields["tool"], tools, where, content_hash, foreign=False)
    least, most = history.failures[-1].after if history.failures else 0, len(history.calls)
    if not least <= fields["after"] <= most:
        raise InputError(f'{where}: "after" must count calls, from {least} to {most} here, found another number')
    if len(fields["reason"]) > MAX_REASON_CHARS:
        raise InputError(f'{where}: "reason" has more than {MAX_REASON_CHARS} characters; shorten it')
    try:
        reason = check_reason(fields["reason"])
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return Failure(name, reason, fields["after"], fields["retried"])


def _known(name: str, tools: Mapping[str, Tool], where: str, content_hash: str, *, foreign: bool) -> str:
    """The name, if the bundle has such a tool or need not have it. Raises InputError."""
    if not foreign and name not in tools:
        raise InputError(
            f"{where}: this bundle has no tool {quoted(name)}; load the bundle that the task was saved with "
            f"(content hash {content_hash}), or open a new task"
        )
    try:
        return checked_name(tools, name, foreign)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _fields(value: object, kinds: Mapping[str, type], where: str) -> dict[str, Any]:
    """The object, if it has exactly these fields, each of its kind. Raises InputError."""
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected an object as task.to_dict() writes it, found {json_type(value)}")
    for key, kind in kinds.items():
        if key not in value:
            raise InputError(f'{where}: "{key}" is missing; give all that task.to_dict() wrote')
        found = value[key]
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            raise InputError(f'{where}: "{key}" must be {_SAID[kind]}, found {json_type(found)}')
    for key in value:
        if key not in kinds:
            shown = quoted(key) if isinstance(key, str) else f"of type {type(key).__name__}"
            raise InputError(f"{where}: unknown key {shown}; give what task.to_dict() wrote, and nothing else")
    return value
