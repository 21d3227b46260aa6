"""Definitions as servers send them: each is mended or left out by itself, and every list of the rest is valid."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from hypothesis import given
from hypothesis import strategies as st
from mcp_types import ListToolsResult
from mcp_types.methods import serialize_server_result
from mcp_types.version import SUPPORTED_PROTOCOL_VERSIONS

from edgeret.adapters.mcp.definitions import Definition, accepted
from edgeret.inputs.hygiene import hidden_character

OBJECT = {"type": "object"}
PLAIN = {"name": "t", "description": "Does a thing.", "inputSchema": OBJECT}
A = {"type": "object", "properties": {"a": {"type": "string"}}}


def taken(*entries: Any) -> tuple[dict[str, Definition], list[str]]:
    lines: list[str] = []
    return accepted("s", "s", entries, lines.append), lines


def valid(definitions: dict[str, Definition]) -> list[dict[str, Any]]:
    """The list that they make, which the SDK's server and its client both take, and stricter clients, too."""
    shown = [definition.shown for definition in definitions.values()]
    result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": shown}
    for version in SUPPORTED_PROTOCOL_VERSIONS:
        wire = json.dumps(serialize_server_result("tools/list", version, result), allow_nan=False)
        ListToolsResult.model_validate_json(wire, by_name=False)
    for tool in shown:
        assert None not in tool.values()
        for schema in (tool["inputSchema"], tool.get("outputSchema", OBJECT)):
            assert schema["type"] == "object"
            assert all(value is not True for value in schema.get("properties", {}).values())
        assert None not in [tool.get("annotations", {}).get(key, "") for key in ("title", "readOnlyHint")]
    for definition in definitions.values():
        for text in (json.dumps(definition.shown, ensure_ascii=False), json.dumps(definition.found)):
            assert hidden_character(text) is None
        assert definition.searched().description.strip()
    return shown


INPUTS: dict[str, tuple[Any, Any]] = {
    "none": ({}, OBJECT),
    "null": (None, OBJECT),
    "a list, as PHP writes it": ([], OBJECT),
    "no type": ({"properties": A["properties"]}, A),
    "a reference": ({"$ref": "#/$defs/A", "$defs": {"A": A}}, {**A, "$defs": {"A": A}}),
    "a reference beside a type": ({"type": "object", "$ref": "#/$defs/A", "$defs": {"A": A}}, {**A, "$defs": {"A": A}}),
    "any of": ({"anyOf": [A, OBJECT]}, {"type": "object", "anyOf": [A, OBJECT]}),
    "text": ({"type": "string"}, OBJECT),
    "two types": ({"type": ["object", "null"]}, OBJECT),
    "properties in a list": ({"type": "object", "properties": []}, {"type": "object", "properties": {}}),
    "properties of null": ({"type": "object", "properties": None}, OBJECT),
    "a property that is text": ({"type": "object", "properties": {"a": "string"}}, A),
    "a property that is true": ({"type": "object", "properties": {"a": True}}, {**OBJECT, "properties": {"a": {}}}),
    "required": ({"type": "object", "required": True}, OBJECT),
    "required of null": ({"type": "object", "required": None}, OBJECT),
    "a dialect that is none": ({"type": "object", "$schema": 7}, OBJECT),
    "the schema as text": (json.dumps(A), A),
}


@pytest.mark.parametrize(("schema", "shown"), INPUTS.values(), ids=INPUTS)
def test_odd_parameters_are_mended_and_all_other_tools_are_listed(schema: Any, shown: Any) -> None:
    found, _ = taken({**PLAIN, "name": "one"}, {**PLAIN, "inputSchema": schema}, {**PLAIN, "name": "two"})
    listed = valid(found)
    assert [tool["name"] for tool in listed] == ["s__one", "s__t", "s__two"]
    assert listed[1] == {**PLAIN, "name": "s__t", "inputSchema": shown}
    assert found["s__t"].found["inputSchema"] == shown


FIELDS: dict[str, tuple[Any, Any]] = {
    "outputSchema array": ({"outputSchema": {"type": "array"}}, {}),
    "outputSchema any of": ({"outputSchema": {"anyOf": [A]}}, {}),
    "outputSchema without type": ({"outputSchema": {"properties": A["properties"]}}, {"outputSchema": A}),
    "outputSchema of text": ({"outputSchema": "object"}, {}),
    "outputSchema required": ({"outputSchema": {"type": "object", "required": "a"}}, {}),
    "outputSchema null": ({"outputSchema": None}, {}),
    "annotations list": ({"annotations": []}, {}),
    "annotations of text": ({"annotations": {"readOnlyHint": "yes", "x": 1}}, {"annotations": {"x": 1}}),
    "annotations of null": ({"annotations": {"title": None}}, {"annotations": {}}),
    "title": ({"title": ["T"]}, {}),
    "title null": ({"title": None}, {}),
    "icons": ({"icons": "x"}, {}),
    "icons without source": ({"icons": [{"src": 1}, {"src": "x", "sizes": "9x9"}]}, {"icons": [{"src": "x"}]}),
    "meta": ({"_meta": [1]}, {}),
    "meta with a token": ({"_meta": {"progressToken": {}, "a": 1}}, {"_meta": {"a": 1}}),
    "execution": ({"execution": {"taskSupport": "maybe"}}, {}),
    "execution of text": ({"execution": "required"}, {}),
    "a vendor's own": ({"x-vendor": {"a": None}, "annotations": {"title": "T"}}, None),
}


@pytest.mark.parametrize(("fields", "kept"), FIELDS.values(), ids=FIELDS)
def test_a_field_that_clients_refuse_is_dropped_and_the_tool_stays(fields: Any, kept: Any) -> None:
    found, lines = taken({**PLAIN, **fields})
    assert valid(found) == [{**PLAIN, "name": "s__t", **(fields if kept is None else kept)}]
    harmless = kept is None or list(fields.values()) == [None]
    assert lines == (
        [] if harmless else [f"server s: 1 of 1 tools mended, each has fields that clients refuse: {DROP}"]
    )


DROP = "they are dropped: t"


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("t", "is no object with a name"),
        ({**PLAIN, "name": ""}, "is no object with a name"),
        ({**PLAIN, "name": ["t"]}, "is no object with a name"),
        ({**PLAIN, "inputSchema": 3}, "has parameters that cannot be read"),
        ({**PLAIN, "inputSchema": "none"}, "has parameters that cannot be read"),
        ({**PLAIN, "inputSchema": {"type": "object", "x": 1 << 2000}}, "has parameters that cannot be read"),
        ({**PLAIN, "_meta": {"x": float("nan")}}, "holds a number that JSON does not have"),
        ({**PLAIN, "description": "x" * 70_000}, "has a definition of more than 65,536 bytes"),
    ],
    ids=str,
)
def test_what_cannot_be_mended_is_left_out_and_told(entry: Any, why: str) -> None:
    found, lines = taken({**PLAIN, "name": "one"}, entry, {**PLAIN, "name": "two"})
    assert [tool["name"] for tool in valid(found)] == ["s__one", "s__two"]
    assert len(lines) == 1 and lines[0].startswith(f"server s: 1 of 3 tools left out, each {why}: ")


def test_what_hides_reaches_nobody_and_a_pin_sees_it() -> None:
    poison = "\u200b\u202e\U000e0041"
    schema = {"type": "object", "properties": {"a": {"description": f"Where{poison}", "enum": [f"x{poison}"]}}}
    entry = {
        "name": f"t{poison}",
        "description": f"reads a\u202e file{poison}\nof yours",
        "title": f"T{poison}",
        "inputSchema": schema,
        "outputSchema": {"type": "object", "description": poison},
        "annotations": {"title": f"T{poison}"},
        "_meta": {f"k{poison}": [poison]},
    }
    found, lines = taken(entry)
    (tool,) = found.values()
    valid(found)
    assert lines == [
        "server s: 1 of 1 tools mended, each held characters that nobody sees: they are dropped: t" + ESCAPED
    ]
    assert tool.name == entry["name"], "the server is called by what it calls its tool"
    assert tool.shown["description"] == "reads a file\nof yours" and tool.shown["_meta"] == {"k": [""]}
    assert tool.found["inputSchema"]["properties"] == {"a": {"description": "Where", "enum": ["x"]}}
    assert tool.searched().description == "reads a file of yours"
    (plain,) = taken({**entry, "description": "reads a file\nof yours"})[0].values()
    assert plain.shown == tool.shown and plain.digest != tool.digest


ESCAPED = "\\u200b\\u202e\\U000e0041"


def test_words_are_found_where_a_description_has_none() -> None:
    for fields, words in (({}, "get mail"), ({"annotations": {"title": "Post"}}, "Post"), ({"title": "Mail"}, "Mail")):
        found, lines = taken({"name": "get_mail", "description": "", "inputSchema": {}, **fields})
        assert found["s__get_mail"].found["description"] == words
        assert "has no description" in lines[0]


def test_what_is_known_is_not_read_and_not_told_of_again() -> None:
    entries = [{**PLAIN, "description": "a\u200b"}, {**PLAIN, "name": "u"}]
    first, lines = taken(*entries)
    again: list[str] = []
    second = accepted("s", "s", [{**PLAIN, "description": "a\u200b"}, {**PLAIN, "name": "v"}], again.append, first)
    assert second["s__t"] is first["s__t"] and len(lines) == 1 and again == []
    third = accepted("s", "s", [{**PLAIN, "description": "b\u200b"}], again.append, first)
    assert third["s__t"].shown["description"] == "b" and len(again) == 1


KEYS = "type properties required $ref $defs $schema title description src sizes taskSupport readOnlyHint progressToken"
VALUES = ("object", "string", "x", "a\u200b", "#/$defs/a", "{}", "required")
SOUP = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(VALUES) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*KEYS.split(), "a"]) | st.text(max_size=2), inner, max_size=4)
    ),
    max_leaves=10,
)
OF_A_TOOL = (
    "description",
    "title",
    "inputSchema",
    "outputSchema",
    "annotations",
    "icons",
    "_meta",
    "execution",
    "type",
)


@given(st.lists(st.fixed_dictionaries({"name": st.text(max_size=4)}, optional=dict.fromkeys(OF_A_TOOL, SOUP)) | SOUP))
def test_whatever_servers_send_the_list_is_valid(entries: list[Any]) -> None:
    found, _ = taken(PLAIN, *entries)
    assert valid(found)[0] == {**PLAIN, "name": "s__t"}
