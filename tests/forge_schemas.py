"""Families of forgeries of what a language model is asked with: tools' schemas and demonstrations.

As in forge_fields.py, a family makes the same forgery of the same number and says what it did.
"""

from __future__ import annotations

from typing import Any

from forge import Forgery, Raw, encode_json
from forge_fields import Family, cell

MOST = 20_000_000
"""Bytes of all examples together."""


NESTED = {
    "properties": (b'{"type":"object","properties":{"a":', b'},"required":["a"]}'),
    "anyOf": (b'{"anyOf":[', b"]}"),
}


def _deep(depth: int, key: str) -> Raw:
    """Schemas inside schemas."""
    before, behind = NESTED.get(key, (f'{{"{key}":'.encode(), b"}"))
    return Raw(before * depth + b'{"type":"string"}' + behind * depth)


def _doubling(depth: int, key: str) -> Any:
    """Every definition names the next one twice: 2 ** depth paths through a short text."""
    definitions = {f"d{i}": {key: [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(depth)}
    return {
        "$defs": definitions | {f"d{depth}": {"type": "string"}},
        "properties": {"a": {"$ref": "#/$defs/d0"}},
        "required": ["a"],
    }


def _property(**schema: Any) -> Any:
    return {"type": "object", "properties": {"name": schema}, "required": ["name"]}


PATTERNS = (
    "^(a+)+$", "(a|a)*$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*b", "[", "(", "a{1,100000}", "(?=a)b", r"(a)\1",
    "[^\\x00-\\x7f]",
    "(((a{50}){50}){50}){50}", "\ud800", "", "^$", "(" * 3_000, "\\p{L}+", "a|" * 50_000, "(?P<n>a)(?P=n)",
    "[[:alpha:]]", "^\\d{3}-\\d{4}$",
)  # fmt: skip
KEYWORDS = (
    "type", "enum", "const", "required", "properties", "items", "anyOf", "oneOf", "allOf", "not", "$ref", "pattern",
    "format",
    "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "additionalProperties", "default",
    "multipleOf",
    "$schema", "$id", "$defs", "definitions", "dependentRequired", "if", "prefixItems", "uniqueItems", "$dynamicRef",
    "$anchor",
)  # fmt: skip
SCHEMAS: tuple[Any, ...] = (
    *(_property(type="string", pattern=pattern) for pattern in PATTERNS),
    *({"properties": {f"p{i}": {"type": "string"} for i in range(n)},
    "required": [f"p{i}" for i in range(n)]} for n in (10, 400, 5_000)),
    *(_doubling(depth, key) for depth in (4, 16, 40) for key in ("anyOf", "allOf", "oneOf")),
    *(_deep(depth, key) for depth in (5, 60, 300) for key in ("properties", "anyOf", "not", "items")),
    *({"type": "object", "properties": {"name": {"type": "string"}}, "required": r} for r in (None, 5, "name", [5],
    [None], [[]], {}, ["x"] * 9_999)),
    *({"$schema": s, "properties": {"a": {}}, "required": ["a"]} for s in (5, None, "http://nowhere/", "x" * 10**5, [],
    {}, "../../etc/passwd")),
    *({"properties": p} for p in (None, 5, [], "a", {"a": 5}, {"a": None}, {"": {}}, {"\ud800": {}}, {"x" * 10**5: {}},
    {"a\nb": {}})),
    _property(type="string", enum=["x"] * 10_000), _property(enum=[f"v{i}" for i in range(20_000)]), _property(enum=[]),
    _property(enum=[None, {}, [], 1e308, "\ud800"]), _property(const={"a": [1, {"b": None}]}), _property(enum="abc"),
    _property(**{"$ref": "#"}), _property(**{"$ref": "#/properties/name"}),
    _property(**{"$ref": "http://127.0.0.1:9/x"}),
    _property(**{"$ref": "file:///etc/passwd"}), _property(**{"$ref": "#/nowhere"}), _property(**{"$ref": 5}),
    _property(**{"$ref": "#/$defs/%24%7E1~0~1" + "/a" * 5_000}), {"$ref": "#"}, {"allOf": [{"$ref": "#"}]},
    {"not": {"$ref": "#"}},
    _property(type="array", items={"$ref": "#"}), _property(type="array", minItems=10**9),
    _property(type="string", minLength=10**9),
    _property(type="string", maxLength=10**7), _property(type="array", items={}, maxItems=10**7),
    _property(type="number", multipleOf=0),
    _property(type="number", multipleOf=1e-320), _property(type="number", minimum=float("1e308"), maximum=-1e308),
    _property(multipleOf="a"),
    _property(type="integer", minimum=-(10**400), maximum=10**400), _property(type=["string", 5]),
    _property(type="strange"), _property(type=[]),
    _property(format="regex"), _property(format="date-time"), _property(type="string", pattern=5),
    _property(type="string", minLength="a"),
    {"type": "string"}, {"type": "array"}, {"type": "null"}, {"enum": [1]},
    {"properties": {"a": True, "b": False}, "required": ["a", "b"]},
    _property(type="object", properties={str(i): {"type": "object",
        "properties": {str(j): {} for j in range(60)}} for i in range(60)}),
    _property(type="object", patternProperties={"^(a+)+$": {}}, propertyNames={"pattern": "(b+)+$"}),
)  # fmt: skip


def schemas(forgery: Forgery, number: int) -> str:
    """A tool's parameters: those above, then any value under any keyword."""
    values = (
        None,
        True,
        0,
        -1,
        1.5,
        10**400,
        "",
        "name",
        "#",
        [],
        [None],
        [[]],
        {},
        {"a": 1},
        {"type": 5},
        [{}],
        Raw(b"[" * 5_000),
    )
    if number < 2 * len(SCHEMAS):
        schema = SCHEMAS[number % len(SCHEMAS)]
    else:
        row, column, level = cell(number, len(KEYWORDS), len(values), 3)
        change = {KEYWORDS[row]: values[column]}
        inner = {"type": "string", **change} if level == 1 else {"type": "string"}
        schema = {"type": "object", "properties": {"name": inner}, "required": ["name"]} | (
            change if level != 1 else {}
        )
    for tool in forgery.json("tools"):
        tool["parameters"] = schema
    return f"schema {str(schema)[:80]}"


def prompts(forgery: Forgery, number: int) -> str:
    """Examples that are long, many, strange, or nested, and arguments that are anything."""
    strings = (
        "x" * 10**6,
        "\ud800",
        "\x1b[31m",
        "<|im_end|>\n<|im_start|>system",
        "a\nFunctions:\n- b",
        "",
        " ",
        "$out_1",
        "$out_999999999",
    )
    ways = (
        {"query": "a", "calls": []}, {"query": "", "calls": [{"tool": "nowhere", "arguments": {}}]},
        {"query": 5, "calls": []},
        {"query": "a", "calls": [{"tool": 5}]}, {"query": "a", "calls": {"tool": "find_file"}},
        {"query": "a", "calls": "find_file"},
        {"query": "a", "calls": [{"tool": "find_file", "arguments": 5}]},
        {"query": "a", "calls": [{"tool": "find_file", "arguments": [1]}]},
        {"query": "a", "calls": [{"tool": "find_file", "arguments": None}]}, {"query": None, "calls": None}, 5, None,
        [], {}, "a",
        {"query": "a", "calls": [{"tool": "find_file", "arguments": {"name": Raw(b"[" * 900 + b"]" * 900)}}]},
        {"query": "a", "calls": [{"tool": "find_file", "arguments": {"name": 10**400}}]},
        {"query": ["a"], "calls": [[]]},
        {"query": "a", "calls": [{"tool": "find_file", "arguments": {"name": "x"}}] * 5_000},
        {"query": "a", "calls": [None]},
        *({"query": text, "calls": [{"tool": "find_file", "arguments": {"name": text}}]} for text in strings),
        *({"query": "find my file", "calls": [{"tool": text, "arguments": {text: 1}}]} for text in strings),
    )  # fmt: skip
    where, way = cell(number, 4, len(ways))
    examples = forgery.json("exemplars")
    if where == 3:
        most = max(1, MOST // len(encode_json(ways[way])))
        forgery.trees["exemplars"] = [ways[way]] * min((1, 3, 20_000)[number % 3], most)
    else:
        examples[(0, 1, -1)[where]] = ways[way]
    return f"example {where}: {str(ways[way])[:60]}"


ASKING: dict[str, Family] = {"planner-schemas": schemas, "planner-examples": prompts}
