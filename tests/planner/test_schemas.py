"""Schemas: patterns on their own engine, bounds of grammars and answers, and jsonschema's word everywhere else."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from edgeret.errors import MissingExtraError
from edgeret.planner.arguments import Filled, settle, validates
from edgeret.planner.grammar import MAX_CHARS, UnsupportedSchemaError, grammar
from edgeret.planner.schemas import Check

MANY = [f"p{i}" for i in range(400)]


def test_patterns_are_searched_as_json_schema_says() -> None:
    schema = {"properties": {"a": {"pattern": "b[0-9]"}}}
    assert validates({"a": "ab7c"}, schema, 0)
    assert not validates({"a": "abc"}, schema, 0)


@pytest.mark.parametrize("pattern", ["^(?!b)", r"(.)\1", "(", "a{5000}", r"[\p{L}\p{N}]{900}", "a" * 3000])
def test_a_pattern_that_the_engine_does_not_know_is_ignored(pattern: str) -> None:
    assert settle({"a": "b"}, {"properties": {"a": {"pattern": pattern}}}, 0) == Filled({"a": "b"}, (), ())
    names = {"patternProperties": {pattern: {"type": "integer"}}, "additionalProperties": False}
    assert validates({"b": "x"}, names, 0)


def test_the_engine_of_patterns_is_part_of_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(MissingExtraError, match=r"arguments requires extra 'planner'"):
        settle({}, {"title": "never seen before"}, 0)


def test_required_properties_by_the_hundred_are_named_or_null() -> None:
    properties = {name: {"type": "string"} for name in MANY}
    assert settle({}, {"properties": properties, "required": MANY}, 0) == Filled({}, tuple(MANY), ())
    nullable = {name: {"type": ["string", "null"]} for name in MANY}
    filled = settle({}, {"properties": nullable, "required": MANY}, 0)
    assert filled == Filled(dict.fromkeys(MANY), (), ())


def test_nulls_that_break_another_rule_stay_missing() -> None:
    schema = {"properties": {"a": {"type": ["string", "null"]}}, "required": ["a"], "not": {"required": ["a"]}}
    assert settle({}, schema, 0).missing == ("a",)


def test_of_many_properties_as_few_are_dropped_as_it_takes() -> None:
    assert len(settle({f"p{i}": i for i in range(40)}, {"maxProperties": 30}, 0).arguments) == 24
    assert len(settle({f"p{i}": i for i in range(12)}, {"maxProperties": 7}, 0).arguments) == 7


WIDE = {"allOf": [{"anyOf": [{"enum": [i]} for i in range(17)]}] * 2}
DEEP = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(15)} | {"d15": {}}
LONG: dict[str, Any] = {"type": "string"}
for _ in range(5):
    LONG = {"type": "array", "items": LONG, "minItems": 16}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"properties": {"a": WIDE}}, r'parameters\.a: "allOf" gives more than 256 alternatives'),
        ({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": DEEP}, r'parameters\.a: "schema" branches too much'),
        ({"properties": {"a": LONG}}, r"makes a grammar of more than 262144 characters"),
        ({"properties": {"a": {"$ref": "#name"}}}, r'"\$ref" leads nowhere \(#name\)'),
        ({"properties": {"a\nb": {"not": {}}}}, r'parameters\.a b: "not"'),
    ],
)
def test_a_grammar_has_bounds(schema: Any, words: str) -> None:
    with pytest.raises(UnsupportedSchemaError, match=words):
        grammar(schema, "find 7 or Ana", 1)


def test_a_long_request_makes_no_grammar_beyond_the_bound() -> None:
    schema = {"properties": {"a": {"type": "string"}}}
    assert len(grammar(schema, "find Ana " * 400, 0)) < MAX_CHARS
    with pytest.raises(UnsupportedSchemaError, match=r'"properties" make a grammar of more than 262144 characters'):
        grammar(schema, "a b " * 5000, 0)


def test_references_may_be_written_as_urls_are() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/a%20%C3%A9"}}, "$defs": {"a é": {"type": "integer"}}}
    assert '"7"' in grammar(schema, "find 7", 0)
    assert settle({"a": 7}, schema, 0).problems == ()


def test_an_answer_beyond_all_measure_is_dropped_whole() -> None:
    filled = settle({"a": list(range(6000))}, {}, 0)
    assert filled == Filled({}, (), ("expected at most 5000 values, found more; all dropped",))
    assert not validates({"a": list(range(6000))}, {}, 0)
    filled = settle({"a": "\ud800", "\ud800": 1, "b": 10**5000}, {}, 0)
    assert filled.arguments == {}
    assert "half a surrogate pair" in filled.problems[0]
    assert "more than 300 digits" in filled.problems[2]


def test_problems_show_no_control_characters() -> None:
    problems = settle({"a\x1b[2J\u202e": 1}, {"additionalProperties": False}, 0).problems
    assert problems[0].isprintable()
    assert r"a\x1b[2J\u202e" in problems[0]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from([0.5, 1.0, "", "ab", "b1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "ab", "b1"]), inner, max_size=3),
    max_leaves=8,
)
RULES = st.recursive(
    st.booleans()
    | st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "object", "array", "null"])})
    | st.fixed_dictionaries({"enum": st.lists(VALUES, max_size=3)})
    | st.fixed_dictionaries({"pattern": st.sampled_from(["^a", "b", "[0-9]$"])})
    | st.sampled_from([{"uniqueItems": True}, {"minLength": 1}, {"maximum": 1}, {"$ref": "#/$defs/d"}]),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "ab"]), inner, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "[0-9]"]), inner, max_size=2),
            "additionalProperties": inner,
            "unevaluatedProperties": inner,
            "unevaluatedItems": inner,
            "items": inner,
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "if": inner,
            "then": inner,
            "dependentSchemas": st.dictionaries(st.sampled_from(["a", "ab"]), inner, max_size=2),
        },
    ),
    max_leaves=10,
)


@given(RULES.filter(lambda rules: isinstance(rules, dict)), RULES, VALUES)
def test_values_fit_where_jsonschema_says_so(rules: dict[str, Any], definition: Any, value: Any) -> None:
    schema = {**rules, "$defs": {"d": definition if "$ref" not in json.dumps(definition) else True}}
    assert (not Check(schema).errors(value)) == Draft202012Validator(schema).is_valid(value)


def test_older_dialects_keep_their_rules() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"]}, "items": [{}]}
    for value in ({"a": 1}, {"a": 1, "b": 2}):
        assert validates(value, schema, 0) == Draft7Validator(schema).is_valid(value)
    above = {"minimum": 1, "exclusiveMinimum": True}
    fourth = {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": above}}
    assert [n for n in (0, 1, 2) if validates({"a": n}, fourth, 0)] == [2]
    assert "$schema" in fourth  # what was given is not changed
