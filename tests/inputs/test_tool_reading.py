"""One reader of tools: every known form is taken, what is odd is mended and told, what cannot be mended is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeret import InputError, Tool, read_tool, read_tools
from edgeret.inputs.hygiene import hidden_character
from edgeret.inputs.tools import MAX_DESCRIPTION_CHARS

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": "weather", "description": "Tells the weather.", "parameters": CITY}
TEXT = {"type": "string"}
BARE = {"name": "weather", "description": "Tells the weather."}
WEATHER = Tool("weather", "Tells the weather.", CITY)
LOUD = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}

ENTRIES: dict[str, Any] = {
    "chat completions": {"type": "function", "function": {**FUNCTION, "strict": True}},
    "without its type": {"function": FUNCTION},
    "responses": {"type": "function", **FUNCTION, "strict": None},
    "anthropic": {**BARE, "input_schema": CITY, "defer_loading": True, "input_examples": []},
    "anthropic custom": {"type": "custom", **BARE, "input_schema": CITY, "cache_control": {"type": "ephemeral"}},
    "mcp": {
        **BARE,
        "title": "Weather",
        "inputSchema": CITY,
        "outputSchema": {"type": "object"},
        "annotations": {"title": "W", "readOnlyHint": True},
        "_meta": {"a": 1},
        "icons": [{"src": "x"}],
    },
    "bedrock": {"toolSpec": {**BARE, "inputSchema": {"json": CITY}}},
    "gemini": {**BARE, "parameters": LOUD},
    "gemini with JSON Schema": {**BARE, "parametersJsonSchema": CITY},
    "langchain": {**BARE, "args_schema": CITY, "return_direct": False},
    "bfcl": {**BARE, "parameters": {"type": "dict", "properties": {"city": {"type": "str"}}, "required": ["city"]}},
    "as JSON text": {**BARE, "parameters": json.dumps(CITY)},
    "schema": {**BARE, "schema": CITY},
    "listed parameters": {**BARE, "parameters": [{"name": "city", "type": "string", "required": True}]},
    "openapi": {
        **BARE,
        "parameters": [{"name": "city", "in": "query", "required": True, "schema": {"type": "string"}}],
    },
    "toolbench": {**BARE, "required_parameters": [{"name": "city", "type": "STRING"}], "optional_parameters": []},
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_a_tool_is_the_same_in_whatever_form_it_comes(entry: Any) -> None:
    before = json.dumps(entry)
    assert read_tool(entry) == WEATHER
    assert json.dumps(entry) == before


@pytest.mark.parametrize("form", ["chat completions", "responses", "anthropic", "anthropic custom", "mcp", "langchain"])
def test_nothing_is_told_of_what_is_as_it_should_be(form: str) -> None:
    assert notes(ENTRIES[form]) == (WEATHER, [])


BY_NAME = {"type": "object", "properties": {"city": {"type": "string", "description": "Where"}}}


@pytest.mark.parametrize(
    "entry",
    [
        {**BARE, "parameters": {"city": {"type": "str, optional", "description": "Where"}}},
        {**BARE, "args": {"city": {"type": "string", "description": "Where"}}},
        {**BARE, "properties": {"city": {"type": "string", "description": "Where"}}},
        {**BARE, "parameters": {"properties": {"city": {"type": "string", "description": "Where"}}}},
    ],
)
def test_parameters_by_name_become_a_schema(entry: Any) -> None:
    assert read_tool(entry).parameters == BY_NAME


LISTS: dict[str, Any] = {
    "request": {"model": "m", "messages": [], "tools": [{"type": "function", "function": FUNCTION}]},
    "functions": {"functions": [FUNCTION]},
    "gemini": {"tools": [{"functionDeclarations": [{**BARE, "parameters": LOUD}]}]},
    "gemini list": [{"function_declarations": [{**BARE, "parameters": LOUD}]}],
    "bedrock": {"toolConfig": {"tools": [ENTRIES["bedrock"]], "toolChoice": {"auto": {}}}},
    "mcp answer": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [ENTRIES["mcp"]]}},
    "bare": [FUNCTION],
    "one": FUNCTION,
}


@pytest.mark.parametrize("form", LISTS)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_of_tools_is_read_from_a_file_as_apis_write_it(tmp_path: Path, form: str, indent: int | None) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(LISTS[form], indent=indent))
    assert read_tools(path) == [WEATHER]


def notes(entry: Any) -> tuple[Tool, list[str]]:
    told: list[str] = []
    return read_tool(entry, tell=told.append), [line.partition(":")[0] for line in told]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"name": "get_weatherReport"}, "get weather Report"),
        ({"name": "x", "description": None, "title": "The weather"}, "The weather"),
        ({"name": "x", "description": "", "annotations": {"title": "The weather"}}, "The weather"),
        ({"name": "x", "description": " \u200b", "title": "", "annotations": {"title": 3}}, "x"),
        ({"name": "x", "description": 7, "annotations": []}, "x"),
        ({"name": "_"}, "_"),
    ],
)
def test_a_tool_without_words_gets_those_of_its_title_or_name(entry: Any, words: str) -> None:
    tool, told = notes(entry)
    assert tool.description == words and "has no description" in told


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (None, {}),
        ({}, {}),
        ({"properties": {"a": TEXT}}, {"properties": {"a": TEXT}}),
        ([], {}),
        (True, {}),
        ("{}", {}),
        ({"type": "object", "properties": []}, {"type": "object", "properties": {}}),
        ({"type": "object", "properties": None}, {"type": "object"}),
        ({"type": "object", "required": True}, {"type": "object"}),
        ({"type": "object", "required": None}, {"type": "object"}),
        ({"type": "object", "required": ["a", 3]}, {"type": "object", "required": ["a"]}),
        ({"type": "object", "properties": {"a": True}}, {"type": "object", "properties": {"a": {}}}),
        (
            {"type": "object", "properties": {"a": "string"}},
            {"type": "object", "properties": {"a": {"type": "string"}}},
        ),
        ({"type": "string"}, {"type": "object"}),
        ({"type": ["object", "null"], "x": 1}, {"type": "object", "x": 1}),
        ({"type": None, "properties": {}}, {"type": "object", "properties": {}}),
        ({"$schema": 3, "type": "object"}, {"type": "object"}),
        ({"anyOf": [CITY, {}]}, {"type": "object", "anyOf": [CITY, {}]}),
        ({"$ref": "#/$defs/A", "$defs": {"A": CITY}}, {**CITY, "$defs": {"A": CITY}}),
        ({"$ref": "#/nowhere", "$defs": {}}, {"type": "object", "$defs": {}}),
        ({"$ref": "#", "type": "object"}, {"type": "object"}),
        ({"$ref": {"a": 1}, "type": "object"}, {"type": "object"}),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, {"$defs": {"A": {"$ref": "#/$defs/A"}}}),
    ],
)
def test_odd_parameters_become_a_schema_of_an_object(parameters: Any, expected: Any) -> None:
    tool, told = notes({**BARE, "parameters": parameters})
    assert tool.parameters == ({"type": "object", **expected} if expected else {})
    harmless = parameters in (None, {}, {"properties": {"a": TEXT}})
    assert told == ([] if harmless else ["has parameters that are no JSON Schema of an object"])


def test_what_hides_is_dropped_wherever_it_stands() -> None:
    poison = "\u200b\u202e\U000e0041\u2066\x00\ud800"
    schema = {
        "type": "object",
        f"x{poison}": {f"k{poison}": [f"v{poison}"]},
        "properties": {f"city{poison}": {"enum": [f"Oslo{poison}"], "description": f"Where{poison}"}},
        "required": [f"city{poison}"],
    }
    tool, told = notes({"name": f"wea{poison}ther", "description": f"Tells{poison}.", "inputSchema": schema})
    assert tool == Tool(
        "weather",
        "Tells.",
        {
            "type": "object",
            "x": {"k": ["v"]},
            "properties": {"city": {"enum": ["Oslo"], "description": "Where"}},
            "required": ["city"],
        },
    )
    assert told == ["held characters that nobody sees"]


def test_long_words_are_cut_and_spaces_around_names_dropped() -> None:
    tool, told = notes({"name": " a\n", "description": "x" * 99_999})
    assert (tool.name, len(tool.description)) == ("a", MAX_DESCRIPTION_CHARS)
    assert told == ["has spaces around its name", "has a description of more than 16,384 characters"]


def test_of_many_odd_ones_a_line_a_kind_is_told(tmp_path: Path) -> None:
    path, told = tmp_path / "t.json", list[str]()
    path.write_text(json.dumps([BARE, BARE, *({"name": f"t{i}"} for i in range(5))]))
    assert len(read_tools(path, tell=told.append)) == 6
    assert told == [
        f"{path}: 1 of 7 tools mended, each stands there twice: it counts once: weather",
        f"{path}: 5 of 7 tools mended, each has no description: its title or its name stands in: t0, t1, t2, …",
    ]


KEYS = ("type", "properties", "required", "$ref", "$defs", "A", "name", "description", "title", "a\u200b", "json")
TEXTS = ("object", "string", "#/$defs/A", "a\u200b", "{}")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(parameters=JSON, description=JSON, key=st.sampled_from(["parameters", "inputSchema", "schema", "args"]))
def test_whatever_stands_there_is_read_the_same_twice_or_refused(parameters: Any, description: Any, key: str) -> None:
    try:
        tool = read_tool({"name": "a", "description": description, key: parameters})
    except InputError as error:
        assert "cannot be taken" in str(error)
        return
    assert hidden_character(json.dumps(tool.parameters, ensure_ascii=False) + tool.description) is None
    again, told = notes({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
    assert (again, told) == (tool, [])
    if tool.parameters:
        assert tool.parameters["type"] == "object" and "$ref" not in tool.parameters
        assert all(isinstance(value, dict) for value in tool.parameters.get("properties", {}).values())
