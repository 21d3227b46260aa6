"""Schemas as strangers write them: patterns that explode, branches without end, keywords of the wrong type, all settled
or refused in bounded time and memory.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeret.errors import InputError
from edgeret.planner.arguments import settle, validates
from edgeret.planner.filling import required
from edgeret.planner.grammar import UnsupportedSchemaError, grammar
from edgeret.planner.prompts import Exemplar, filling_prompt, selection_prompt
from edgeret.runtime.history import check_arguments
from edgeret.types import Call, Candidate, Tool

CPU_SECONDS = 5
SETTLED = """
import json, os, sys, traceback
from edgeret.planner.arguments import settle, validates
from edgeret.errors import EdgeretError
from edgeret.planner.grammar import grammar

def settled(schema, value):
    for ask in (lambda: settle(value, schema, 1).problems, lambda: validates(value, schema, 1),
                lambda: len(grammar(schema, "find 7 or Ana", 1))):
        try:
            yield str(ask())[:300]
        except EdgeretError as error:
            yield f"{type(error).__name__} {error}"

validates("a", {"pattern": "a"}, 1)  # loads what all of them need
for schema, value in json.load(sys.stdin):
    child = os.fork()
    if not child:
        try:
            print(json.dumps(list(settled(schema, value))), flush=True)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print("null", flush=True)
"""
"""Each in a process of its own, forked from one that has loaded everything: that takes longer than all the rest."""


def run(code: str, given_text: str = "") -> list[str]:
    """The lines that a fresh process prints, which may use a few seconds of one core and half a gigabyte."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_DATA, (1 << 29, 1 << 29))

    done = subprocess.run(
        [sys.executable, "-c", code],
        input=given_text,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        env={**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": os.devnull},
        preexec_fn=limit,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def chain(keyword: str, length: int = 16) -> dict[str, Any]:
    """Definitions of which each leads twice to the next."""
    steps = {f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(length)}
    return {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**steps, f"d{length}": {"type": "integer"}}}


EXPLODING = "^(a+)+$"
LONG = "a" * 40 + "!"
MANY = [f"p{i}" for i in range(400)]
NESTED: dict[str, Any] = {"type": "string"}
for _ in range(5):
    NESTED = {"type": "array", "items": NESTED, "minItems": 16}
HOSTILE: dict[str, tuple[Any, Any, str]] = {
    "a pattern": ({"properties": {"a": {"pattern": EXPLODING}}}, {"a": LONG}, "does not match"),
    "a pattern of names": (
        {"patternProperties": {EXPLODING: {}}, "additionalProperties": False},
        {LONG: 1},
        "Additional properties are not allowed",
    ),
    "a pattern of names seen elsewhere": (
        {"allOf": [{"patternProperties": {EXPLODING: {}}}], "unevaluatedProperties": False},
        {LONG: 1},
        "Unevaluated properties are not allowed",
    ),
    "a pattern under a dialect of its own": (
        {"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": EXPLODING}}},
        {"a": LONG},
        "does not match",
    ),
    "a pattern of two thousand characters": (
        {"properties": {"a": {"pattern": "(x+x+)+y" * 240}}},
        {"a": "x" * 60_000},
        "'xxxx",
    ),
    "branches of references": (chain("anyOf"), {"a": "x"}, "too branched"),
    "one of branches of references": (chain("oneOf"), {"a": 1}, "too branched"),
    "all of branches of references": (chain("allOf"), {"a": 1}, "too branched"),
    "the schema of schemas": (
        {"properties": {"a": {"allOf": [{"$ref": "http://json-schema.org/draft-07/schema#"}] * 900}}},
        {"a": {"properties": {name: {"type": "string"} for name in MANY}}},
        "leads nowhere",
    ),
    "the schema of schemas by another's name": (
        {"properties": {"a": {"$id": "http://json-schema.org/draft-07/schema", "allOf": [{"$ref": "#"}] * 900}}},
        {"a": {"properties": {name: {"type": "string"} for name in MANY}}},
        "too branched",
    ),
    "choices of two kinds": (
        {"$schema": "http://json-schema.org/draft-07/schema#", "enum": [[i, str(i)][i % 2] for i in range(7000)]},
        {"a": 1},
        "too many parts",
    ),
    "items looked up in a list": (
        {"properties": {"a": {"allOf": [{"contains": {}, "unevaluatedItems": False}] * 100}}},
        {"a": [1] * 4900},
        "too branched",
    ),
    "items that may not repeat": (
        {"properties": {"a": {"allOf": [{"uniqueItems": True}] * 1000}}},
        {"a": [[i, str(i)][i % 2] for i in range(4900)]},
        "too branched",
    ),
    "items that are anything": (
        {"properties": {"a": {"allOf": [{"items": {}}] * 1000}}},
        {"a": [1] * 4900},
        "too branched",
    ),
    "an object as a whole": ({"maxProperties": 1}, {f"p{i}": i for i in range(2000)}, "has too many properties"),
    "required properties": (
        {"properties": {name: {"type": ["string", "null"]} for name in MANY}, "required": MANY},
        {},
        "()",
    ),
    "anchors that are nowhere": (
        {
            "properties": {"a": {"anyOf": [{"$ref": "#nowhere"}] * 900}},
            "$defs": {f"k{i}": {"$id": f"i{i}"} for i in range(1500)},
        },
        {"a": "7"},
        "leads nowhere",
    ),
    "arrays in arrays": ({"properties": {"a": NESTED}}, {"a": []}, "is too short"),
    "a reference to itself": ({"properties": {"a": {"not": {"$ref": "#/properties/a"}}}}, {"a": 1}, "back to itself"),
}


@pytest.fixture(scope="module")
def settled() -> Mapping[str, list[str] | None]:
    """What is said of each; None where its process ended otherwise, for want of time or memory."""
    found = run(SETTLED, json.dumps([[schema, value] for schema, value, _ in HOSTILE.values()]))
    return dict(zip(HOSTILE, map(json.loads, found), strict=True))


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_that_a_stranger_writes_takes_long(settled: Mapping[str, list[str] | None], name: str) -> None:
    said = settled[name]
    assert said is not None and len(said) == 3
    assert HOSTILE[name][2] in said[0]


KEYWORDS = """
type properties required items enum const anyOf oneOf allOf not if then else $ref $schema $id $defs pattern format
patternProperties additionalProperties unevaluatedProperties prefixItems contains minItems maxItems uniqueItems minimum
maximum exclusiveMinimum multipleOf minLength dependentRequired dependentSchemas propertyNames default description
$anchor $dynamicRef $dynamicAnchor definitions dependencies id a b
"""
WORDS = """
a string object array integer # #/properties/a #/a #a http://[ ( ^a x%20y $out_1
http://json-schema.org/draft-04/schema# http://json-schema.org/draft-07/schema#
"""
KEYS = st.sampled_from(KEYWORDS.split())
TEXTS = st.sampled_from([*WORDS.split(), "", "\ud800", "\n\u2028"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 40) | st.builds(lambda: 10**5000) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(KEYS, ANYTHING, max_size=4)


def ask_everything(schema: Any, value: Any) -> None:
    """Asks all that a schema is asked; only one exception may come."""
    for ask in (settle, validates):
        with suppress(UnsupportedSchemaError):
            ask(value, schema, 1)
    with suppress(UnsupportedSchemaError):
        grammar(schema, "find 7 or Ana", 1)
    calls = []
    with suppress(InputError):
        calls = [Call("t", check_arguments(value))]
    if isinstance(schema, dict):
        tool = Tool("t", "does it", schema)
        shown = [Exemplar("do it", (*calls, Call("t")))]
        filling_prompt(tool, "do it", calls, shown)
        selection_prompt([tool], "do it", calls, [Candidate("t", 1.0)], exemplars=shown)
        assert all(isinstance(name, str) for name in required(schema))


@settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(OBJECTS | ANYTHING, OBJECTS | ANYTHING)
def strangers(schema: Any, value: Any) -> None:
    """What the test below runs, in a process with little time."""
    ask_everything(schema, value)


def test_any_json_as_schema_and_as_answer_is_settled_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "CPU_SECONDS", 60)
    run("import test_hostile_schemas; test_hostile_schemas.strangers()")


WRONG: list[Any] = [
    *({"$schema": 5}, {"required": None}, {"required": "name"}, {"properties": []}, {"type": {}}, {"enum": {}}),
    *({"properties": None}, {"$ref": 5}, {"$ref": "http://["}, {"$id": "http://["}, {"x": 5, "$ref": "#/x"}),
]


@pytest.mark.parametrize("schema", WRONG, ids=str)
def test_keywords_of_a_wrong_type_are_refused_by_name(schema: Any) -> None:
    ask_everything(schema, {"a": "x"})
    with pytest.raises(UnsupportedSchemaError, match=r"^parameters"):
        settle({"a": "x"}, schema, 0)
    assert required(schema) == ()


@pytest.mark.parametrize("schema", [True, None, [], 7, {"a": 10**5000}, {"a": float("nan")}, {"\ud800": 1}, {1: 2}])
def test_what_is_no_json_object_is_no_schema(schema: Any) -> None:
    for ask in (lambda: settle({}, schema, 0), lambda: grammar(schema, "x", 0)):
        with pytest.raises(UnsupportedSchemaError, match=r'parameters: "schema" (cannot be read|must be an object)'):
            ask()


@pytest.mark.parametrize("text", ["a" + "." * 19_998 + "b", "." * 20_000, "a'" * 10_000, "a" + "_" * 19_998 + "!"])
def test_words_are_found_in_one_pass(text: str) -> None:
    code = f"from edgeret.planner.spans import find_words; print(''.join(find_words({text!r})[0][1:3]))"
    assert run(code) == [text.strip(".'_!") if text.strip(".") else text]


def test_clauses_are_found_in_one_pass() -> None:
    query = "'do this now' + ' ' * 19_970 + 'and that'"
    code = f"from edgeret_export.reference.inputs.clauses import split_clauses; print(split_clauses({query}))"
    assert run(code) == ["['do this now']"]
