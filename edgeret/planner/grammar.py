"""What a function's arguments may be, as a grammar in llama.cpp's GBNF: JSON Schema and a query to rules.

An argument is a literal that stands in the query, one of the schema's choices, a boolean, or a reference to the output
of an earlier call; whatever cannot be filled is null. Nothing can be invented. Knows nothing of models, and what a
grammar cannot say (formats, patterns, lengths) is left to `edgeret.planner.arguments`.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any

from edgeret.errors import EdgeretError
from edgeret.inputs.jsonl import plain
from edgeret.inputs.numerals import find_numbers
from edgeret.inputs.tools import MAX_PARAMETERS_BYTES
from edgeret.planner.spans import find_words, quote, span_rules
from edgeret.quoting import quoted, shortened

MAX_DEPTH = 5
"""Objects and arrays inside each other at most, the arguments object not counted."""
MAX_ITEMS = 4
"""Items that an array is given at most, unless its schema wants more of them (`minItems`), and then exactly those."""
_MOST_ITEMS = 16
MAX_ALTERNATIVES = 256
"""Forms that one value may take."""
MAX_WORK = 20_000
"""Schemas that are looked at, and their keywords, for one grammar; a hundred times what public functions need."""
MAX_CHARS = 1 << 18
"""Of a grammar, since llama.cpp compiles it with every question, and of the bodies of its values together."""

_REFUSED = ("not", "if", "then", "else", "dependentSchemas", "$dynamicRef", "$recursiveRef")
_NOTES = frozenset(
    ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format", "pattern")
).union(
    ("$comment", "$schema", "$id", "$defs", "definitions", "minLength", "maxLength", "uniqueItems", "multipleOf"),
    ("minProperties", "maxProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"),
    ("dependentRequired", "contains", "minContains", "maxContains", "contentEncoding", "contentMediaType", "required"),
)
"""Keywords that change nothing in a grammar: the first of two wins when schemas are merged."""


class UnsupportedSchemaError(EdgeretError):
    """A function's parameters that cannot be written as a grammar, or not be checked."""

    def __init__(self, path: str, keyword: str, problem: str = "cannot be written as a grammar") -> None:
        super().__init__(
            f"{shortened(path)}: {quoted(keyword)} {problem}; "
            "describe this parameter by type, enum, properties or items instead"
        )


def plain_schema(schema: Any) -> dict[str, Any]:
    """A function's parameters as plain JSON. Raises UnsupportedSchemaError for what no `Tool` read from a file has."""
    try:
        found = plain(schema, MAX_PARAMETERS_BYTES)
    except ValueError as error:
        raise UnsupportedSchemaError("parameters", "schema", f"cannot be read ({error})") from None
    if not isinstance(found, dict):
        raise UnsupportedSchemaError("parameters", "schema", f"must be an object, found {type(schema).__name__}")
    return found


def grammar(
    schema: Mapping[str, Any], query: str, n_outputs: int, choices: Mapping[str, Sequence[Any]] | None = None
) -> str:
    """GBNF whose rule `root` is the arguments object as JSON without spaces, ready for llama.cpp.

    `schema` is the function's parameters (JSON Schema), `n_outputs` counts the calls made so far. Every property
    stands in the schema's order and is `null` or:

    - string: words of the query that stand together, with or without punctuation at either end and a final
      possessive 's, in the query's spelling; or `"$out_k"`, k in 1..n_outputs
    - number, integer: a number of the query, in digits or English words, within the schema's bounds
    - enum, const, boolean: one of the choices
    - array: 1 to 4 items; object: the same rules again

    A parameter in `choices` is one of these values and nothing else. A free-form object can only be null. Without
    properties the grammar is that of `{}`. Raises UnsupportedSchemaError naming keyword and place; also for what would
    take more than MAX_ALTERNATIVES, MAX_WORK or MAX_CHARS.
    """
    writer = _Writer(plain_schema(schema), query, n_outputs, choices or {})
    try:
        body = writer.root()
    except RecursionError:
        raise UnsupportedSchemaError("parameters", "allOf", "combines schemas too deeply") from None
    text = "\n".join((f"root ::= {body}", *(f"{name} ::= {rule}" for name, rule in writer.rules.items()), ""))
    if len(text) > MAX_CHARS:
        raise UnsupportedSchemaError("parameters", "properties", f"make a grammar of more than {MAX_CHARS} characters")
    return text


class _Writer:
    """Collects the rules of one grammar. Methods return a rule's body, or None where only null is left."""

    def __init__(
        self, schema: Mapping[str, Any], query: str, n_outputs: int, choices: Mapping[str, Sequence[Any]]
    ) -> None:
        self.schema, self.query, self.n_outputs, self.choices = schema, query, n_outputs, choices
        self.rules: dict[str, str] = {}
        self._objects: dict[int, tuple[Any, str]] = {}
        self._numbers: list[Decimal] | None = None
        self._string: str | None = None
        self._work, self._chars = MAX_WORK, MAX_CHARS

    def root(self) -> str:
        """The arguments object."""
        forms = self._alternatives(self.schema, "parameters", ())
        if any("object" not in _types(form, "parameters") for form in forms if form):
            raise UnsupportedSchemaError("parameters", "type", "must be object")
        bodies = [self._object(form, "parameters", 0)[0] for form in forms]
        return " | ".join(dict.fromkeys(bodies))

    def value(self, schema: Any, path: str, depth: int) -> str | None:
        """A value other than null."""
        if schema is False:
            return None
        bodies: list[str] = []
        for form in self._alternatives(schema, path, ()):
            if "enum" in form:
                bodies += [quote(_json(choice)) for choice in _list(form, "enum", path) if choice is not None]
                continue
            bodies += filter(None, (self._typed(kind, form, path, depth) for kind in _types(form, path)))
        body = " | ".join(dict.fromkeys(bodies))
        self._count(len(body), path)
        return body or None

    def _count(self, chars: int, path: str) -> None:
        """Counts what is written. A body inside another counts again: arrays in arrays grow as a power does."""
        self._chars -= chars
        if self._chars < 0:
            raise UnsupportedSchemaError(path, "schema", f"makes a grammar of more than {MAX_CHARS} characters")

    def _typed(self, kind: str, form: Mapping[str, Any], path: str, depth: int) -> str | None:
        match kind:
            case "string":
                return self._text()
            case "boolean":
                return '"true" | "false"'
            case "integer" | "number":
                return self._number(form, path, whole=kind == "integer")
            case "array" | "object" if depth == MAX_DEPTH:
                raise UnsupportedSchemaError(path, kind, f"is nested more than {MAX_DEPTH} deep")
            case "array":
                return self._array(form, path, depth + 1)
            case "object":
                return self._nested(form, path, depth + 1)
        return None

    def _nested(self, form: Mapping[str, Any], path: str, depth: int) -> str | None:
        """An object inside, as a rule of its own, so that a definition used twice is written once."""
        properties = form.get("properties")
        if id(properties) in self._objects and properties:
            return self._objects[id(properties)][1]
        body, fillable = self._object(form, path, depth)
        if not fillable:
            return None
        self._count(len(body), path)
        name = f"object-{len(self._objects)}"
        self.rules[name] = body
        self._objects[id(properties)] = properties, name  # kept, so that no other object gets its id
        return name

    def _object(self, form: Mapping[str, Any], path: str, depth: int) -> tuple[str, bool]:
        """An object's body, and whether any of its properties can be filled."""
        properties = form.get("properties", {})
        if not isinstance(properties, Mapping):
            raise UnsupportedSchemaError(path, "properties", "must be an object")
        if not properties and "patternProperties" in form:
            raise UnsupportedSchemaError(path, "patternProperties")
        parts: list[str] = []
        literal = "{"
        for name, schema in properties.items():
            literal += _json(str(name)) + ":"
            if depth == 0 and name in self.choices:
                body: str | None = " | ".join(dict.fromkeys(quote(_json(value)) for value in self.choices[name]))
            else:
                body = self.value(schema, f"{path}.{name}", depth)
            if body is None:
                literal += "null,"
            else:
                parts += [quote(literal), f'( {body} | "null" )']
                literal = ","
        return " ".join((*parts, quote(literal.removesuffix(",") + "}"))), bool(parts)

    def _array(self, form: Mapping[str, Any], path: str, depth: int) -> str | None:
        first = _list(form, "prefixItems", path)
        least = int(_numeric(form, "minItems", path) or 0)
        limit = _numeric(form, "maxItems", path)
        most = max(MAX_ITEMS, least) if limit is None else min(int(limit), max(MAX_ITEMS, least))
        if first:
            fixed = [self.value(item, f"{path}[{i}]", depth) for i, item in enumerate(first)]
            unfit = None in fixed or not least <= len(fixed) <= most
            return None if unfit else '"[" ' + ' "," '.join(f"( {item} )" for item in fixed) + ' "]"'
        items = form.get("items", True)
        if not isinstance(items, Mapping | bool):
            raise UnsupportedSchemaError(path, "items", "must be one schema")
        item = self.value(items, f"{path}[]", depth)
        least = max(1, least)
        if item is None or not least <= most <= _MOST_ITEMS:
            return None
        self._count(len(item) * most, path)
        needed, optional = f' "," ( {item} )' * (least - 1), f' ( "," ( {item} )' * (most - least)
        return f'"[" ( {item} ){needed}{optional}' + " )?" * (most - least) + ' "]"'

    def _number(self, form: Mapping[str, Any], path: str, whole: bool) -> str | None:
        if self._numbers is None:
            self._numbers = find_numbers(self.query)
        limits = {key: _numeric(form, key, path) for key in _BOUNDS}
        bounds = [(_BOUNDS[key], Decimal(str(limit))) for key, limit in limits.items() if limit is not None]
        fitting = (n for n in self._numbers if (not whole or n == int(n)) and all(holds(n, b) for holds, b in bounds))
        return " | ".join(quote(format(n.normalize(), "f")) for n in fitting) or None

    def _text(self) -> str | None:
        """The rule of strings, written once: a span of the query or a reference, in quotes."""
        if self._string is None:
            options = [span_rules(find_words(self.query), self.rules)]
            if self.n_outputs > 0:
                numbers = " | ".join(f'"{k}"' for k in range(1, self.n_outputs + 1))
                options.append(f'"$out_" ( {numbers} )')
            body = " | ".join(filter(None, options))
            if body:
                self.rules["string"] = f'"\\"" ( {body} ) "\\""'
            self._string = "string" if body else ""
        return self._string or None

    def _alternatives(self, schema: Any, path: str, seen: tuple[str, ...]) -> list[Mapping[str, Any]]:
        """The schema with references followed and combinations merged: forms of which any one may be filled."""
        schema = {} if schema is True else schema
        if not isinstance(schema, Mapping):
            raise UnsupportedSchemaError(path, _json(schema), "is no schema")
        self._spend(1 + len(schema), path)
        for keyword in _REFUSED:
            if keyword in schema:
                raise UnsupportedSchemaError(path, keyword)
        forms: list[Mapping[str, Any]] = [{k: v for k, v in schema.items() if k not in _COMBINING}]
        if "const" in schema:
            forms = self._join(forms, [{"enum": [schema["const"]]}], path, "const")
        if "$ref" in schema:
            pointer = schema["$ref"]
            if pointer in seen:
                raise UnsupportedSchemaError(path, "$ref", f"leads back to itself ({shortened(str(pointer))})")
            target = self._alternatives(self._resolve(pointer, path), path, (*seen, pointer))
            forms = self._join(forms, target, path, "$ref")
        for part in _list(schema, "allOf", path):
            forms = self._join(forms, self._alternatives(part, path, seen), path, "allOf")
        for keyword in ("anyOf", "oneOf"):
            parts = _list(schema, keyword, path)
            # Alternatives that only say what is required offer nothing to choose from.
            if parts and not all(isinstance(p, Mapping) and p.keys() <= _NOTES for p in parts):
                options = [form for p in parts if p is not False for form in self._alternatives(p, path, seen)]
                forms = self._join(forms, options, path, keyword)
        return forms

    def _join(
        self, forms: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], path: str, keyword: str
    ) -> list[Mapping[str, Any]]:
        """Every form with every other."""
        if len(forms) * len(others) > MAX_ALTERNATIVES:
            raise UnsupportedSchemaError(path, keyword, f"gives more than {MAX_ALTERNATIVES} alternatives")
        return [self._merge(one, other, path, keyword) for one in forms for other in others]

    def _merge(self, one: Mapping[str, Any], other: Mapping[str, Any], path: str, keyword: str) -> Mapping[str, Any]:
        """One form that demands what both do. Raises UnsupportedSchemaError where that is not simple."""
        merged = dict(one)
        for key, value in other.items():
            self._spend(1 + (len(value) if isinstance(value, dict | list) else 0), path)
            if key not in merged or merged[key] == value:
                merged[key] = value
            elif key == "properties" and isinstance(merged[key], Mapping) and isinstance(value, Mapping):
                mine = merged[key]
                self._spend(len(mine), path)
                merged[key] = {**mine, **{n: {"allOf": [mine[n], s]} if n in mine else s for n, s in value.items()}}
            elif key == "enum":
                allowed = set(map(_json, _list(other, key, path)))
                merged[key] = [choice for choice in _list(merged, key, path) if _json(choice) in allowed]
            elif key == "type":
                kinds = [kind for kind in _types(merged, path) if kind in _types(other, path)]
                if not kinds:
                    raise UnsupportedSchemaError(path, keyword, "combines types that exclude each other")
                merged[key] = kinds
            elif key not in _NOTES:
                raise UnsupportedSchemaError(path, keyword, f"combines different values of {quoted(key)}")
        return merged

    def _spend(self, work: int, path: str) -> None:
        self._work -= work
        if self._work < 0:
            raise UnsupportedSchemaError(path, "schema", "branches too much to be written as a grammar")

    def _resolve(self, pointer: Any, path: str) -> Any:
        if not isinstance(pointer, str) or not pointer.startswith("#"):
            raise UnsupportedSchemaError(path, "$ref", f"leads outside the schema ({shortened(str(pointer))})")
        found: Any = self.schema
        first, *steps = _decoded(pointer[1:]).split("/")
        for part in (*filter(None, (first,)), *steps):
            key = part.replace("~1", "/").replace("~0", "~")
            # A name without a slash is an anchor, and those are not looked for.
            if first or not isinstance(found, Mapping) or key not in found:
                raise UnsupportedSchemaError(path, "$ref", f"leads nowhere ({shortened(pointer)})")
            found = found[key]
        return found


def _decoded(pointer: str) -> str:
    """A pointer without the percent signs that stand for what a URL cannot hold."""
    return re.sub(
        r"(?:%[0-9a-fA-F]{2})+", lambda m: bytes.fromhex(m[0].replace("%", "")).decode(errors="replace"), pointer
    )


_COMBINING = frozenset(("$ref", "allOf", "anyOf", "oneOf", "const"))
_KINDS = ("string", "boolean", "integer", "number", "array", "object", "null")
_BOUNDS = {"minimum": ge, "maximum": le, "exclusiveMinimum": gt, "exclusiveMaximum": lt}
_SIGNS = {
    "object": ("properties", "required", "additionalProperties", "patternProperties"),
    "array": ("items", "prefixItems"),
    "number": (*_BOUNDS, "multipleOf"),
}


def _types(form: Mapping[str, Any], path: str) -> list[str]:
    """The types that a form allows; a missing `type` is guessed from the other keywords, and is string without any."""
    found = form.get("type")
    if found is None:
        default = "object" if path == "parameters" else "string"
        return [next((kind for kind, keys in _SIGNS.items() if any(key in form for key in keys)), default)]
    found = [found] if isinstance(found, str) else found
    if not isinstance(found, Sequence) or not all(kind in _KINDS for kind in found):
        raise UnsupportedSchemaError(path, "type", f"must be among {', '.join(_KINDS)}, found {reprlib.repr(found)}")
    return list(dict.fromkeys(found))


def _list(schema: Mapping[str, Any], keyword: str, path: str) -> list[Any]:
    found = schema.get(keyword, [])
    if not isinstance(found, list):
        raise UnsupportedSchemaError(path, keyword, "must be a list")
    return found


def _numeric(form: Mapping[str, Any], key: str, path: str) -> float | None:
    found = form.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float | None):
        raise UnsupportedSchemaError(path, key, f"must be a number, found {reprlib.repr(found)}")
    return found


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
