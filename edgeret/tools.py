"""Tool schemas: reads JSONL, an OpenAI `tools` array or an MCP `tools/list` result, and checks them.

Descriptions are data written by strangers: they are bounded, and characters that a reader cannot see are refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.jsonl import decode, parse_objects, plain, read_text, text_field
from edgeret.quoting import quoted
from edgeret.types import END, START, Tool

MAX_TOOLS = 100_000
MAX_NAME_CHARS = 256
MAX_DESCRIPTION_CHARS = 16_384
MAX_PARAMETERS_BYTES = 1 << 16
"""Of a function's parameters as JSON. The largest of 7,494 functions of six public sets have 9.6 kB."""
_LAYOUT, _JOINERS = "\t\n\r\u2028\u2029", "\u200c\u200d"
# Nothing is drawn for these, whatever their category says. Two variation selectors belong to emoji and are let through.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0d\U000e0000-\U000e0fff]"
)


def read_tools(path: str | Path) -> list[Tool]:
    """Tools of a file, in file order.

    Accepts JSONL with one `{"name", "description", "parameters"}` a line, a JSON array of those or of OpenAI's
    `{"type": "function", "function": {…}}`, and MCP's `{"tools": [{…, "inputSchema"}]}`, bare or as `result`.
    Raises InputError naming file, line (or position) and the fix.
    """
    path = Path(path)
    text = read_text(path, "tools as JSONL, an OpenAI `tools` array or an MCP `tools/list` result")
    try:
        whole = decode(text)
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
        raise InputError(f"{error}; tool {quoted(name)} cannot be found without words: describe what it does") from None
    parameters = entry.get("parameters", entry.get("inputSchema", {}))
    if not isinstance(parameters, dict):
        raise InputError(f'{where}: "parameters" must be a JSON Schema object, found {type(parameters).__name__}')
    try:
        return Tool(name, description, plain(parameters, MAX_PARAMETERS_BYTES))
    except ValueError as error:
        raise InputError(
            f'{where}: "parameters" of {quoted(name)} cannot be taken ({error}); describe fewer or simpler parameters'
        ) from None


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
        if hidden := _hidden(tool.description):
            raise InputError(f"{place}: the description of {quoted(tool.name)} contains {hidden}; take it out")
        if tool.name in seen:
            raise InputError(
                f"{place}: the name {quoted(tool.name)} is already taken by {seen[tool.name]}; names are unique"
            )
        seen[tool.name] = place
    if not tools:
        raise InputError(f"{where}: no tools in it")
    return [tool for _, tool in tools]


def check_name(name: str, where: str) -> None:
    """Raises InputError unless the name is short, no reserved one, on one line, and made of what a reader can see."""
    if name in (START, END):
        raise InputError(f"{where}: the name {quoted(name)} is reserved")
    if len(name) > MAX_NAME_CHARS or name != name.strip():
        raise InputError(
            f"{where}: {quoted(name)} is no name; one has at most {MAX_NAME_CHARS} characters and no space at its ends"
        )
    if hidden := _hidden(name, _LAYOUT + _JOINERS):
        raise InputError(f"{where}: the name {quoted(name)} contains {hidden}; take it out")


def without_hidden(text: str) -> str:
    """The text without what `is_hidden` finds in it."""
    return text if _is_plain(text) else "".join(c for c in text if not is_hidden(c))


def _hidden(text: str, forbidden: str = "") -> str | None:
    """The first character that is hidden or forbidden, in words."""
    found = None if _is_plain(text) else next((c for c in text if c in forbidden or is_hidden(c)), None)
    return None if found is None else f"the invisible character U+{ord(found):04X}"


def _is_plain(text: str) -> bool:
    """Whether nothing in the text can be hidden; true of nearly every one, and found a hundred times sooner."""
    return text.isprintable() and not _BLANK.search(text)


def is_hidden(char: str) -> bool:
    """Whether a reader of the text would not see the character: controls, tag characters, bidirectional overrides,
    fillers.

    Joiners are let through: U+200C and U+200D belong to Persian, Indic scripts and emoji. So are tabs and ends of lines
    and paragraphs.
    """
    if char in _LAYOUT or char in _JOINERS:
        return False
    return unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs") or _BLANK.match(char) is not None
