"""What arguments may be: grammars by hand, sampled and in llama.cpp; any answer settled into what fits."""

from __future__ import annotations

import json
import random
import re
import sys
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLE
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from edgeret.errors import MissingExtraError
from edgeret.inputs.numerals import find_numbers
from edgeret.inputs.tools import read_tools
from edgeret.planner.arguments import Filled, settle, validates
from edgeret.planner.grammar import UnsupportedSchemaError, grammar
from edgeret.types import references

TOOLS = {tool.name: tool.parameters for tool in read_tools(EXAMPLE / "tools.jsonl")}
QUERY = "Book a table at Hugo's for four, call it \"the 'parents' evening'\" (7:30 pm), then tell Ana/Ben: C:\\x café"
ADDRESS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}},
    "required": ["city"],
}


class Language:
    """The texts of a grammar in the part of GBNF that we write: literals, names, groups, `|` and `?`."""

    def __init__(self, gbnf: str) -> None:
        self.rules: dict[str, Any] = {}
        for line in gbnf.splitlines():
            name, body = line.split(" ::= ", 1)
            self.tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[\w-]+|[()|?]', body)
            self.rules[name] = self.options()
            assert not self.tokens, line

    def options(self) -> tuple[str, list[Any]]:
        found = [self.sequence()]
        while self.tokens and self.tokens[0] == "|":
            self.tokens.pop(0)
            found.append(self.sequence())
        return "|", found

    def sequence(self) -> tuple[str, list[Any]]:
        items: list[Any] = []
        while self.tokens and self.tokens[0] not in "|)":
            token = self.tokens.pop(0)
            if token == "(":
                items.append(self.options())
                assert self.tokens.pop(0) == ")"
            elif token == "?":
                items[-1] = ("|", [items[-1], ("text", "")])
            elif token[0] == '"':
                items.append(("text", re.sub(r"\\(.)", r"\1", token[1:-1])))
            else:
                items.append(("rule", token))
        return "all", items

    def ends(self, node: Any, text: str, start: int) -> set[int]:
        kind, value = node
        if kind == "text":
            return {start + len(value)} if text.startswith(value, start) else set()
        if kind == "rule":
            return self.ends(self.rules[value], text, start)
        if kind == "|":
            return set().union(*(self.ends(option, text, start) for option in value))
        found = {start}
        for item in value:
            found = set().union(*(self.ends(item, text, at) for at in found))
        return found

    def sample(self, chance: random.Random, node: Any = ("rule", "root")) -> str:
        kind, value = node
        if kind == "text":
            return str(value)
        if kind == "rule":
            return self.sample(chance, self.rules[value])
        return "".join(self.sample(chance, item) for item in ([chance.choice(value)] if kind == "|" else value))

    def __contains__(self, value: Any) -> bool:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return len(text) in self.ends(("rule", "root"), text, 0)


def offers(schema: Any, value: Any, query: str = QUERY, n_outputs: int = 2, **beside: Any) -> bool:
    """Whether a parameter of that schema can be filled with a value."""
    return {"a": value} in Language(grammar({"properties": {"a": schema}, **beside}, query, n_outputs))


def test_a_grammar_by_hand() -> None:
    schema = {"type": "object", "properties": {'say "it"': {"type": "string"}, "loud": {"type": "boolean"}}}
    assert grammar(schema, "no, Ann's", 1).splitlines() == [
        r'root ::= "{\"say \\\"it\\\"\":" ( string | "null" ) ",\"loud\":" ( "true" | "false" | "null" ) "}"',
        'w0 ::= "n" v0',
        'v0 ::= "o" ( "," ( " " w1 )? )?',
        'w1 ::= "A" v1',
        """v1 ::= "nn" ( "'s" )?""",
        r'string ::= "\"" ( "n" ( v0 ) | "A" ( v1 ) | "$out_" ( "1" ) ) "\""',
    ]


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"properties": {}, "additionalProperties": False}])
def test_without_properties_there_is_one_answer(schema: dict) -> None:
    assert grammar(schema, "anything at 5", 3) == 'root ::= "{}"\n'


SPANS = """
Book|Book a table|Hugo|Hugo's|Hugo's for four|four|four,|the 'parents' evening'|parents|'parents' evening|(7:30 pm)
7:30 pm|Ana|Ben|Ana/Ben|C:\\x|café
"""


@pytest.mark.parametrize("span", re.split(r"[|\n]", SPANS.strip()))
def test_strings_are_spans_of_the_query(span: str) -> None:
    assert offers({"type": "string"}, span)
    assert offers({"type": "string", "format": "date", "minLength": 99}, span)


@pytest.mark.parametrize("text", ["book", "able", "table Hugo", "tab", "", " Book", "$out_0", "$out_3", "Hugo'"])
def test_nothing_else_is_a_string(text: str) -> None:
    assert not offers({"type": "string"}, text)


def test_references_stand_for_earlier_outputs() -> None:
    assert offers({"type": "string"}, "$out_2")
    assert not offers({"type": "string"}, "$out_1", n_outputs=0)
    assert not offers({"type": "integer"}, "$out_1")


def test_scripts_without_spaces_are_cut_into_characters() -> None:
    assert offers({"type": "string"}, "会議", "明日の「会議」を消して。")
    assert offers({"type": "string"}, "「会議」", "明日の「会議」を消して。")


def test_numbers_of_a_query() -> None:
    query = (
        "12 or 1,200.50, -3 (-4) 2025-11-05 45min B7 forty-five, Twenty two, two hundred and ten; half a hundred no-one"
    )
    digits, words = [12, 1200.5, -3, -4, 2025, 11, 5, 45, 7], [22, 210, 0.5, 100, 1]
    assert [float(n) for n in find_numbers(query)] == digits + words


def test_numbers_must_fit() -> None:
    query = "between 3 and 7.5, or forty"
    assert [n for n in (3, 7.5, 40, 5, None) if offers({"type": "number"}, n, query)] == [3, 7.5, 40, None]
    assert [n for n in (3, 7.5, 40) if offers({"type": "integer", "minimum": 4}, n, query)] == [40]
    assert not offers({"type": "number", "exclusiveMaximum": 3}, 3, query)
    assert not offers({"type": "integer"}, 0, "no number here")


def test_choices_booleans_and_combinations() -> None:
    assert [v for v in ("x", 1, None, True, "y") if offers({"enum": ["x", 1, None]}, v)] == ["x", 1, None]
    assert offers({"const": "fixed"}, "fixed")
    assert offers({"type": ["integer", "string"]}, 7)
    assert offers({"type": ["integer", "null"]}, 7)
    assert offers({"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None}, False)
    assert offers({"allOf": [{"$ref": "#/$defs/n"}, {"maximum": 5}]}, 4, **{"$defs": {"n": {"type": "integer"}}})
    assert not offers({"allOf": [{"$ref": "#/$defs/n"}, {"maximum": 5}]}, 7, **{"$defs": {"n": {"type": "integer"}}})
    assert offers({}, "table")
    assert offers(False, None)


def test_arrays_and_objects() -> None:
    names = {"type": "array", "items": {"type": "string"}}
    assert offers(names, ["Ana", "Ben", "$out_1", "four"])
    assert not offers(names, [])
    assert not offers(names, ["Ana", None])
    assert not offers(names, ["Ana"] * 5)
    assert offers({**names, "minItems": 5}, ["Ana"] * 5)
    assert not offers({**names, "maxItems": 1}, ["Ana"] * 2)
    assert offers({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, [7, "pm"])
    assert offers({"type": "array", "items": ADDRESS}, [{"city": "Ana", "zip": None}, {"city": None, "zip": 7}])
    assert offers({"$ref": "#/$defs/address"}, {"city": "Ana", "zip": 7}, **{"$defs": {"address": ADDRESS}})
    assert not offers({"type": "object", "additionalProperties": {"type": "string"}}, {})
    assert not offers({"type": "object", "additionalProperties": {"type": "string"}}, {"Ana": "Ben"})


def test_alternatives_of_required_properties_offer_all_of_them() -> None:
    schema = {"properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert {"a": "Ana", "b": None} in Language(grammar(schema, QUERY, 0))


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"not": {"type": "string"}}, 'parameters.a: "not" cannot be written'),
        ({"if": {}, "then": {}}, 'parameters.a: "if"'),
        ({"$ref": "https://example.org/x"}, r"leads outside the schema \(https://example.org/x\)"),
        ({"$ref": "#/$defs/none"}, "leads nowhere"),
        (
            {"type": "array", "items": {"$ref": "#/properties/a"}},
            r'parameters.a\[\].*"array" is nested more than 5 deep',
        ),
        ({"anyOf": [{"$ref": "#/properties/a"}]}, 'parameters.a: "\\$ref" leads back to itself'),
        ({"type": "object", "patternProperties": {"^x": {}}}, 'parameters.a: "patternProperties"'),
        ({"type": "array", "items": {"not": {}}}, r'parameters.a\[\]: "not"'),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, '"allOf" combines types that exclude each other'),
        ({"type": "integer", "minimum": 0, "exclusiveMinimum": True}, "must be a number, found True"),
        ({"type": "text"}, '"type" must be among'),
        ({"type": "array", "items": [{}]}, '"items" must be one schema'),
        (7, "is no schema"),
    ],
)
def test_what_no_grammar_expresses_is_named(schema: Any, words: str) -> None:
    with pytest.raises(UnsupportedSchemaError, match=words):
        grammar({"properties": {"a": schema}}, "no number", 0)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 40)
    | st.floats()
    | st.sampled_from(["", "x", "$out_1", "$out_9", "a@b.c"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)
LEAVES = st.sampled_from([{}, {"type": "boolean"}, {"type": "integer", "minimum": 3}, {"enum": ["x", 3, None]}]) | (
    st.sampled_from([{"type": "string", "maxLength": 1}, {"type": ["number", "null"], "multipleOf": 0.5}])
    | st.sampled_from([{"type": "string"}, {"type": "string", "format": "email"}])
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: (
        st.fixed_dictionaries({"type": st.just("array"), "items": inner, "minItems": st.integers(0, 2)})
        | st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3)},
            optional={"required": st.just(["a", "b"]), "additionalProperties": st.booleans()},
        )
        | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)})
        | st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=2)})
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), SCHEMAS, max_size=3).map(
    lambda p: {"type": "object", "properties": p, "required": sorted(p)[:2], "minProperties": 1}
)


def lenient(schema: Any, inside: bool = True) -> Any:
    """The schema without what is only about missing properties; references to one call are welcome everywhere."""
    made = {k: v for k, v in schema.items() if k not in ("required", "minProperties", "format", "oneOf")}
    if "properties" in made:
        made["properties"] = {k: lenient(v) for k, v in made["properties"].items()}
    if "items" in made:
        made["items"] = lenient(made["items"])
    if parts := schema.get("anyOf", schema.get("oneOf")):
        made["anyOf"] = [lenient(part) for part in parts]
    return {"anyOf": [{"const": "$out_1"}, made]} if inside else made


@given(OBJECTS, JSON | st.dictionaries(st.sampled_from("abc"), JSON))
def test_whatever_is_left_fits(schema: dict, value: Any) -> None:
    filled = settle(value, schema, 1)
    Draft202012Validator(lenient(schema, inside=False)).validate(filled.arguments)
    assert set(references(filled.arguments)) <= {1}
    assert settle(filled.arguments, schema, 1).arguments == filled.arguments
    complete = settle(filled.arguments, schema, 1) == Filled(filled.arguments, (), ())
    assert validates(filled.arguments, schema, 1) == complete


@given(OBJECTS, st.text(st.sampled_from("ab 7'\"\\(),.é\n会/-s"), max_size=30), st.randoms())
def test_what_the_grammar_writes_is_json_that_is_kept(schema: dict, query: str, chance: random.Random) -> None:
    value = json.loads(Language(grammar(schema, query, 1)).sample(chance))
    assert list(value) == list(schema["properties"])
    beyond = ("is not a 'email'", "is too long", "is too short", "not a multiple of", "valid under")
    lines = (line for line in settle(value, schema, 1).problems if line.endswith("dropped"))
    assert [line for line in lines if not any(words in line for words in beyond)] == []
    assert all(text in query or text in ("$out_1", "x") for text in strings(value))


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    return [text for item in inner for text in strings(item)] if isinstance(value, dict | list) else []


@given(st.lists(st.integers(1, 999)), st.text())
def test_references_are_whole_strings(numbers: list[int], text: str) -> None:
    held = {"a": [f"$out_{n}" for n in numbers], "b": {"c": f"see $out_1 {text}"}}
    assert references(held) == tuple(sorted(set(numbers)))


def test_nulls_are_dropped_and_what_is_required_is_missing() -> None:
    value = {"name": "Ann", "email": None, "address": {"street": "Elm 3", "city": None}}
    kept = {"name": "Ann", "address": {"street": "Elm 3"}}
    assert settle(value, TOOLS["create_contact"], 0) == Filled(kept, ("address.city",), ())
    songs = {"name": None, "songs": [{"title": None, "artist": "Cher"}, {"title": None, "artist": None}]}
    filled = settle(songs, TOOLS["create_playlist"], 0)
    assert (filled.arguments, set(filled.missing)) == ({"songs": [{"artist": "Cher"}]}, {"name", "songs[0].title"})
    assert settle({"title": None, "settings": {"record": None}}, TOOLS["create_meeting_link"], 0).arguments == {}


def test_refused_values_are_dropped_with_their_reasons() -> None:
    filled = settle({"to": ["x", "$out_1", "$out_2"], "send_at": "Thursday", "cc": 1}, TOOLS["send_mail"], 1)
    assert filled.arguments == {"to": ["$out_1"], "send_at": "Thursday"}
    assert filled.problems == (
        'to[2]: "$out_2" refers to a call that was not made (1 were); dropped',
        "to[0]: 'x' is not a 'email'; dropped",
        "cc: Additional properties are not allowed ('cc' was unexpected); dropped",
    )
    assert settle([], TOOLS["set_volume"], 0) == Filled({}, ("level",), ("expected an object, found list",))
    assert settle({"sender": None}, TOOLS["search_mail"], 0).problems == ("arguments: {} should be non-empty",)


def test_a_reference_satisfies_any_schema() -> None:
    for schema in ({"type": "integer", "minimum": 3}, {"enum": ["x"]}, {"format": "email"}, {"pattern": "^x"}, ADDRESS):
        held = {"a": "$out_2"}
        part = {"properties": {"a": {"oneOf": [schema, {"type": "string"}]}, "b": schema}, "required": ["a"]}
        assert settle(held, part, 2) == Filled(held, (), ())
        assert validates({"a": "$out_2", "b": "$out_1"}, part, 2)
        assert not validates(held, part, 1)


def test_alternatives_are_judged_by_the_one_that_was_meant() -> None:
    schema = {"properties": {"to": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}, "$defs": {"a": ADDRESS}}
    assert settle({"to": {"city": "Rome", "zip": "x"}}, schema, 0).arguments == {"to": {"city": "Rome"}}
    assert settle({"to": {"zip": 7}}, schema, 0) == Filled({"to": {"zip": 7}}, ("to.city",), ())


def test_null_stays_where_it_is_required_and_allowed() -> None:
    schema = {"properties": {"a": {"type": ["string", "null"]}, "b": {}}, "required": ["a", "b"]}
    assert settle({"a": None, "b": None}, schema, 0) == Filled({"a": None}, ("b",), ())


def test_rules_about_the_whole_object_cost_as_few_values_as_possible() -> None:
    either = {"properties": {"a": {}, "b": {}}, "not": {"required": ["a", "b"]}}
    assert settle({"a": 1, "b": 2}, either, 0).arguments == {"a": 1}
    assert settle({"a": 1}, either, 0) == Filled({"a": 1}, (), ())
    one = {"properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert settle({"a": 1, "b": 2}, one, 0).arguments == {"a": 1, "b": 2}
    assert not validates({"a": 1, "b": 2}, one, 0)
    assert validates({"a": 1}, one, 0)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", ["Thursday", "March 3rd", "2025-11-05"], ["", " "]),
        ("email", ["a@b.c", "ana.lu+x@mail.example.org", "zoë@x.de"], ["a@", "Ana", "a b@c.d", "a@b..c"]),
        ("uri", ["https://x.y/z?q=1", "mailto:a@b.c", "file:///tmp/x"], ["x.y", "https://", "http:x", "a b:c"]),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]),
        ("ipv4", ["10.0.0.1"], ["10.0.0.256"]),
    ],
)
def test_formats(name: str, good: list[str], bad: list[str]) -> None:
    schema = {"properties": {"a": {"type": "string", "format": name}}}
    assert [text for text in good + bad if validates({"a": text}, schema, 0)] == good


def test_hostile_answers_and_odd_schemas() -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    assert settle({"a": deep, "b": 1e400, "c": "$out_" + "9" * 5000}, {}, 3).arguments == {}
    assert not validates({"a": deep}, {}, 0)
    assert settle({"a": 10**400}, {"properties": {"a": {"multipleOf": 0.5}}}, 0).arguments == {}
    assert settle({"a": "x"}, {"properties": {"a": {"pattern": r"^\p{L}+$"}}}, 0).arguments == {"a": "x"}
    with pytest.raises(UnsupportedSchemaError, match="leads nowhere"):
        settle({"a": 1}, {"properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}, 0)
    with pytest.raises(UnsupportedSchemaError, match=r'parameters\.properties\.a\.type: "anyOf" is violated'):
        settle({}, {"properties": {"a": {"type": "text"}}}, 0)


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(MissingExtraError, match=r"requires extra 'planner'.*pip install 'edgeret\[planner\]'"):
        settle({}, {"title": "not seen before"}, 0)


@pytest.mark.real
def test_llama_cpp_reads_every_grammar_of_the_example() -> None:
    pytest.importorskip("llama_cpp")
    from edgeret.planner.llama import Engine
    from edgeret_export.sources.cards import find_card
    from edgeret_export.sources.fetch import fetch

    engine = Engine(str(next(fetch(find_card("smollm2-135m-instruct")).glob("*.gguf"))), 1)
    for name, schema in TOOLS.items():
        gbnf = grammar(schema, QUERY, 2)
        written = Language(gbnf).sample(random.Random(name))
        with engine.grammar(gbnf) as state:
            logits = np.zeros((len(engine.tokenize(written)) + 1, 49152), np.float32)
            for row, token in zip(logits, engine.tokenize(written), strict=False):
                row[token] = 1
            picked = [state.pick(row) for row in logits]
        assert engine.text(picked[:-1]) == written
        assert engine.ends(picked[-1])
