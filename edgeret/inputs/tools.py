"""Tools: read from files or one by one, in every form that APIs, servers, frameworks and data sets write, and checked.

Descriptions are data written by strangers, and not by those who read them: what can be mended is mended and told, so
that one odd definition costs no other one. Every door reads tools here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.hygiene import check_name, hidden_character, shows_all, without_hidden
from edgeret.inputs.jsonl import decode, json_type, parse_objects, plain, plain_text, read_text, text_field
from edgeret.inputs.tool_care import care_of, check_confirm, check_risk
from edgeret.inputs.tool_examples import MAX_EXAMPLE_CHARS, MOST_EXAMPLES, check_examples, examples_of, with_values
from edgeret.inputs.tool_forms import function_of, is_built_in, listed, parameters_of, title_of, unpacked
from edgeret.inputs.tool_schema import object_schema
from edgeret.inputs.tool_text import name_in_words
from edgeret.quoting import few, quoted
from edgeret.types import Tool

Tell = Callable[[str], None]
MAX_TOOLS = 100_000
MAX_DESCRIPTION_CHARS = 16_384
MAX_PARAMETERS_BYTES = 1 << 16
"""Of a function's parameters as JSON. The largest of 7,494 functions of six public sets have 9.6 kB."""
NAMELESS = "has no description: its title or its name stands in"
HIDING = "held characters that nobody sees: they are dropped"
LONG = f"has a description of more than {MAX_DESCRIPTION_CHARS:,} characters: it is cut"
SPACED = "has spaces around its name: they are dropped"
NO_SCHEMA = "has parameters that are no JSON Schema of an object: they are made one"
MISPLACED = "has its parameters under another key: they are taken"
LEFT_OUT = (
    f"shows examples that are no sentence of at most {MAX_EXAMPLE_CHARS} characters and no arguments, or more than "
    f"{MOST_EXAMPLES}: they are left out"
)
TWICE = "stands there twice: it counts once"


def read_tools(path: str | Path, *more: str | Path, tell: Tell | None = None) -> list[Tool]:
    """Tools of a file or of several, in their order; names are unique over all of them. Pages of one `tools/list` are
    given one after the other, up to the last.

    Accepts JSONL with one `{"name", "description", "parameters"}` a line, and lists of tools as OpenAI, Anthropic,
    Gemini, Bedrock and MCP write them, bare, in a request or in an answer. What is odd in an entry is mended as
    `read_tool` does; `tell` is given a line for each kind of that. Raises InputError naming file, line (or position)
    and the fix, for what cannot be mended, and for two tools of one name.
    """
    placed: dict[str, tuple[str, Tool]] = {}
    mended: dict[str, list[str]] = {}
    unfinished: Path | None = None
    count = 0
    for file in map(Path, (path, *more)):
        entries, page = _entries(file)
        _check_page(unfinished, page)
        unfinished = file if page and page.get("nextCursor") else None
        before = count
        for where, entry in entries:
            count += 1
            notes: list[str] = []
            tool = read_tool(entry, where, notes.append)
            known = placed.get(tool.name)
            if known is None:
                placed[tool.name] = where, tool
            elif known[1] == tool:
                notes.append(TWICE)
            else:
                raise _taken(where, tool.name, known[0])
            for why in notes:
                mended.setdefault(why, []).append(tool.name)
        if count == before:
            raise InputError(f"{file}: no tools in it")
    _check_page(unfinished, None)
    files = ", ".join(map(str, (path, *more)))
    told = _silent if tell is None else tell
    for why, names in mended.items():
        told(f"{files}: {len(names)} of {count} tools mended, each {why}: {few(names)}")
    return check_tools(list(placed.values()), files)


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
    found = listed(whole)
    if found is not None:
        return ((f"{path}: tool {i}", entry) for i, entry in enumerate(found[0], 1)), found[1]
    if isinstance(whole, dict):
        return ((f"{path}:1", inner) for inner in unpacked(whole)), None
    return ((where, inner) for where, entry in parse_objects(text, path) for inner in unpacked(entry)), None


_FORMS = (
    'a tool is {"name", "description", "parameters"}, or what OpenAI, Anthropic, Gemini, Bedrock or MCP write for a '
    "function; built-in tools and demonstrations are none"
)


def read_tool(entry: Any, where: str = "tool", tell: Tell | None = None) -> Tool:
    """One tool from a decoded JSON object in any of the forms of `read_tools`, for whoever has it in memory and not in
    a file.

    Mended are an empty description (by the title, else by the name's words), one that is too long (cut), characters
    that nobody sees in any text (dropped), parameters that are no JSON Schema of an object (made one), spaces around
    the name. `tell` is given what was mended, one of this module's phrases each. `where` begins what is said of one
    that cannot be taken: InputError, for what has no usable name, or parameters that are none, too many or nested too
    deeply.
    """
    told = _silent if tell is None else tell
    if not isinstance(entry, dict):
        raise InputError(f"{where}: expected a JSON object, found {json_type(entry)}")
    function = function_of(entry)
    given = function.get("name")
    seen = without_hidden(given) if isinstance(given, str) else given
    try:
        name = text_field(where, function if seen is given else {"name": seen}, "name").strip()
    except InputError as error:
        raise InputError(f"{error}; {_FORMS}") from None
    if is_built_in(function):
        raise InputError(f"{where}: {quoted(name)} describes no function; {_FORMS}")
    check_name(name, where)
    words = function.get("description")
    description = without_hidden(words) if isinstance(words, str) else ""
    parameters, hides = _parameters(function, name, where, told)
    examples, calls, incomplete = examples_of(function)
    parameters = with_values(parameters, calls)
    if incomplete:
        told(LEFT_OUT)
    if hides or seen != given or (description != words and isinstance(words, str)):
        told(HIDING)
    if seen != name:
        told(SPACED)
    if not description.strip():
        told(NAMELESS)
        description = without_hidden(title_of(function)) or name_in_words(name) or name
    if len(description) > MAX_DESCRIPTION_CHARS:
        told(LONG)
        description = description[:MAX_DESCRIPTION_CHARS]
    risk, confirm = care_of(entry, function, where)
    return Tool(name, description, parameters, examples, risk, confirm)


def _silent(_: str) -> None:
    pass


def _parameters(function: dict[str, Any], name: str, where: str, told: Tell) -> tuple[dict[str, Any], bool]:
    """A function's parameters, and whether something was hidden in them. Raises InputError."""
    given, misplaced = parameters_of(function)
    if given is None or given == {}:
        return {}, False
    hides = False
    try:
        try:
            text = plain_text(given, MAX_PARAMETERS_BYTES)
        except ValueError:
            # Halves of surrogate pairs are no text, and nothing that anybody sees.
            text, hides = plain_text(without_hidden(given), MAX_PARAMETERS_BYTES), True
        found = json.loads(text)
        clean = found if shows_all(text) else without_hidden(found)
        schema, mended = object_schema(clean)
    except (ValueError, TypeError) as error:
        raise InputError(
            f'{where}: "parameters" of {quoted(name)} cannot be taken ({error}); describe fewer or simpler '
            "parameters, in one JSON Schema object"
        ) from None
    if misplaced or mended:
        told(MISPLACED if misplaced else NO_SCHEMA)
    return schema, hides or (clean is not found and clean != found)


def stored_tool(entry: Any, where: str) -> Tool:
    """One tool as edgeret itself writes it, in bundles and overlays: nothing is mended but what parameters hide, since
    older ones were written with that. Raises InputError."""
    if not isinstance(entry, dict):
        raise InputError(f"{where}: expected a JSON object, found {json_type(entry)}")
    name, description = text_field(where, entry, "name"), text_field(where, entry, "description")
    parameters = {} if entry.get("parameters") is None else entry["parameters"]
    if not isinstance(parameters, dict):
        raise InputError(f'{where}: "parameters" must be a JSON Schema object, found {json_type(parameters)}')
    try:
        parameters = without_hidden(plain(parameters, MAX_PARAMETERS_BYTES))
    except ValueError as error:
        raise InputError(f'{where}: "parameters" of {quoted(name)} cannot be taken ({error})') from None
    shown = entry.get("examples", [])
    check_examples(shown, name, where)
    risk = None if entry.get("risk") is None else check_risk(entry["risk"], where)
    confirm = check_confirm(entry.get("confirm", False), where)
    return Tool(name, description, parameters, tuple(shown), risk, confirm)


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
            raise _taken(place, tool.name, seen[tool.name])
        seen[tool.name] = place
    if not tools:
        raise InputError(f"{where}: no tools in it")
    return [tool for _, tool in tools]


def _taken(where: str, name: str, by: str) -> InputError:
    return InputError(f"{where}: the name {quoted(name)} is already taken by {by}; names are unique")
