"""Tool schemas: reads JSONL, an OpenAI or Anthropic `tools` array or an MCP `tools/list` result, and checks them.

Descriptions are data written by strangers: they are bounded, and characters that a reader cannot see are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.hygiene import check_name, hidden_character
from edgeret.inputs.jsonl import decode, json_type, parse_objects, plain, read_text, refuse_misspelling, text_field
from edgeret.quoting import quoted
from edgeret.types import Tool

MAX_TOOLS = 100_000
MAX_DESCRIPTION_CHARS = 16_384
MAX_PARAMETERS_BYTES = 1 << 16
"""Of a function's parameters as JSON. The largest of 7,494 functions of six public sets have 9.6 kB."""
_PARAMETERS = ("parameters", "inputSchema", "input_schema")
_MEANT_AS_PARAMETERS = ("arguments", "args", "inputs", "inputschema", "jsonschema", "params", "properties", "schema")


def read_tools(path: str | Path, *more: str | Path) -> list[Tool]:
    """Tools of a file or of several, in their order; names are unique over all of them. Pages of one `tools/list` are
    given one after the other, up to the last.

    Accepts JSONL with one `{"name", "description", "parameters"}` a line, a JSON array of those, of OpenAI's
    `{"type": "function", "function": {…}}` or of Anthropic's `{…, "input_schema"}`, and MCP's
    `{"tools": [{…, "inputSchema"}]}`, bare or as `result`.
    Raises InputError naming file, line (or position) and the fix.
    """
    placed: list[tuple[str, Tool]] = []
    unfinished: Path | None = None
    for file in map(Path, (path, *more)):
        entries, page = _entries(file)
        _check_page(unfinished, page)
        unfinished = file if page and page.get("nextCursor") else None
        found = [(where, parse_tool(entry, where)) for where, entry in entries]
        if not found:
            raise InputError(f"{file}: no tools in it")
        placed += found
    _check_page(unfinished, None)
    return check_tools(placed, ", ".join(map(str, (path, *more))))


def _check_page(unfinished: Path | None, following: Mapping[str, Any] | None) -> None:
    """Raises InputError if a page that another one should follow has none behind it."""
    if unfinished is not None and following is None:
        raise InputError(
            f'{unfinished}: one page of a longer list (it has a "nextCursor"); ask the server for the others too, save '
            "each page, and give all files in order: --tools PAGE1 --tools PAGE2 …"
        )


def _entries(path: Path) -> tuple[Iterable[tuple[str, Any]], Mapping[str, Any] | None]:
    """A file's tools as decoded, each with its place; and the object that they are listed in, unless they stand alone.
    Raises InputError."""
    text = read_text(path, "tools as JSONL, an OpenAI or Anthropic `tools` array or an MCP `tools/list` result")
    try:
        whole = decode(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and "tools" not in whole and "result" in whole:
        whole = whole["result"]
    page = whole if isinstance(whole, dict) and isinstance(whole.get("tools"), list) else None
    if page is not None:
        whole = page["tools"]
    if isinstance(whole, list):
        return ((f"{path}: tool {i}", entry) for i, entry in enumerate(whole, 1)), page
    return parse_objects(text, path), None


_FORMS = (
    'a tool is {"name", "description", "parameters"}, or what OpenAI, Anthropic or MCP write for a function; '
    "built-in tools and demonstrations are none"
)


def parse_tool(entry: Any, where: str) -> Tool:
    """One tool from a decoded JSON object in any of the forms of `read_tools`. Raises InputError."""
    if not isinstance(entry, dict):
        raise InputError(f"{where}: expected a JSON object, found {json_type(entry)}")
    if entry.get("type") == "function" and isinstance(entry.get("function"), dict):
        entry = entry["function"]
    try:
        name = text_field(where, entry, "name")
    except InputError as error:
        raise InputError(f"{error}; {_FORMS}") from None
    try:
        description = text_field(where, entry, "description")
    except InputError as error:
        raise InputError(f"{error}; tool {quoted(name)} cannot be found without words: describe what it does") from None
    key = next((key for key in _PARAMETERS if key in entry), _PARAMETERS[0])
    refuse_misspelling(where, entry, key, dict, _MEANT_AS_PARAMETERS)
    parameters = {} if entry.get(key) is None else entry[key]
    if not isinstance(parameters, dict):
        raise InputError(f'{where}: "parameters" must be a JSON Schema object, found {json_type(parameters)}')
    try:
        return Tool(name, description, plain(parameters, MAX_PARAMETERS_BYTES))
    except ValueError as error:
        raise InputError(
            f'{where}: "parameters" of {quoted(name)} cannot be taken ({error}); describe fewer or simpler parameters'
        ) from None


def read_tool(entry: Any, where: str = "tool") -> Tool:
    """One tool from a decoded JSON object in any of the forms of `read_tools`, for whoever has it in memory and not in
    a file; `where` begins what is said of one that cannot be taken. Raises InputError."""
    return check_tools([(where, parse_tool(entry, where))], where)[0]


def check_tools(tools: Sequence[tuple[str, Tool]], where: str) -> list[Tool]:
    """The tools, if the names are unique and usable and the texts are bounded and visible. Raises InputError."""
    seen: dict[str, str] = {}
    if len(tools) > MAX_TOOLS:
        raise InputError(f"{where}: {len(tools)} tools, at most {MAX_TOOLS} are allowed; split the set")
    for place, tool in tools:
        check_name(tool.name, place)
        if len(tool.description) > MAX_DESCRIPTION_CHARS:
            raise InputError(
                f"{place}: the description of {quoted(tool.name)} has {len(tool.description)} characters, "
                f"at most {MAX_DESCRIPTION_CHARS} are allowed"
            )
        if hidden := hidden_character(tool.description):
            raise InputError(f"{place}: the description of {quoted(tool.name)} contains {hidden}; take it out")
        if tool.name in seen:
            raise InputError(
                f"{place}: the name {quoted(tool.name)} is already taken by {seen[tool.name]}; names are unique"
            )
        seen[tool.name] = place
    if not tools:
        raise InputError(f"{where}: no tools in it")
    return [tool for _, tool in tools]
