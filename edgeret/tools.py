"""Tool schemas: reads JSONL, an OpenAI `tools` array or an MCP `tools/list` result, and checks them.

Descriptions are data written by strangers: they are bounded, and characters that a reader cannot see are refused.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.jsonl import parse_objects, read_text, text_field
from edgeret.types import END, START, Tool

MAX_NAME_CHARS = 256
MAX_DESCRIPTION_CHARS = 16_384


def read_tools(path: str | Path) -> list[Tool]:
    """Tools of a file, in file order.

    Accepts JSONL with one `{"name", "description", "parameters"}` a line, a JSON array of those or of OpenAI's
    `{"type": "function", "function": {…}}`, and MCP's `{"tools": [{…, "inputSchema"}]}`, bare or as `result`.
    Raises InputError naming file, line (or position) and the fix.
    """
    path = Path(path)
    text = read_text(path, "tools as JSONL, an OpenAI `tools` array or an MCP `tools/list` result")
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and "tools" not in whole and "result" in whole:
        whole = whole["result"]
    if isinstance(whole, dict) and isinstance(whole.get("tools"), list):
        whole = whole["tools"]
    if isinstance(whole, list):
        entries: Iterable[tuple[str, Any]] = ((f"{path}: tool {i}", entry) for i, entry in enumerate(whole, 1))
    else:
        entries = parse_objects(text, path)
    return check_tools([(where, parse_tool(entry, where)) for where, entry in entries], str(path))


def parse_tool(entry: Any, where: str) -> Tool:
    """One tool from a decoded JSON object in any of the three forms. Raises InputError."""
    if not isinstance(entry, dict):
        raise InputError(f"{where}: expected a JSON object, found {type(entry).__name__}")
    if entry.get("type") == "function" and isinstance(entry.get("function"), dict):
        entry = entry["function"]
    name = text_field(where, entry, "name")
    try:
        description = text_field(where, entry, "description")
    except InputError as error:
        raise InputError(f'{error}; tool "{name}" cannot be found without words: describe what it does') from None
    parameters = entry.get("parameters", entry.get("inputSchema", {}))
    if not isinstance(parameters, dict):
        raise InputError(f'{where}: "parameters" must be a JSON Schema object, found {type(parameters).__name__}')
    try:
        json.dumps(parameters, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise InputError(f'{where}: "parameters" of "{name}" cannot be written as JSON ({error})') from None
    return Tool(name, description, parameters)


def check_tools(tools: Sequence[tuple[str, Tool]], where: str) -> list[Tool]:
    """The tools, if the names are unique and usable and the texts are bounded and visible. Raises InputError."""
    seen: dict[str, str] = {}
    for place, tool in tools:
        if tool.name in (START, END):
            raise InputError(f'{place}: the name "{tool.name}" is reserved')
        if len(tool.name) > MAX_NAME_CHARS or tool.name != tool.name.strip():
            raise InputError(f"{place}: a name has at most {MAX_NAME_CHARS} characters and no space at its ends")
        if len(tool.description) > MAX_DESCRIPTION_CHARS:
            raise InputError(
                f'{place}: the description of "{tool.name}" has {len(tool.description)} characters, '
                f"at most {MAX_DESCRIPTION_CHARS} are allowed"
            )
        for text in (tool.name, tool.description):
            hidden = next((c for c in text if is_hidden(c)), None)
            if hidden is not None:
                raise InputError(f'{place}: tool "{tool.name}" contains the invisible character U+{ord(hidden):04X}')
        if tool.name in seen:
            raise InputError(f'{place}: the name "{tool.name}" is already taken by {seen[tool.name]}; names are unique')
        seen[tool.name] = place
    if not tools:
        raise InputError(f"{where}: no tools in it")
    return [tool for _, tool in tools]


def is_hidden(char: str) -> bool:
    """Whether a reader of the text would not see the character: controls, tag characters, bidirectional overrides.

    Joiners are let through: U+200C and U+200D belong to Persian, Indic scripts and emoji.
    """
    if char in "\t\n\r\u200c\u200d":
        return False
    return unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs")
