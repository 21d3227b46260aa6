"""What a function's arguments may be, as a grammar in llama.cpp's GBNF: JSON Schema and a query to rules.

An argument is a literal that stands in the query, one of the schema's choices, a boolean, or a reference to the output
of an earlier call; whatever cannot be filled is null. Nothing can be invented. Knows nothing of models, and what a
grammar cannot say (formats, patterns, lengths) is left to `edgeret.arguments`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any, NamedTuple

from edgeret.errors import EdgeretError

MAX_DEPTH = 5
"""Objects and arrays inside each other at most, the arguments object not counted."""
MAX_ITEMS = 4
"""Items that an array is given at most, unless its schema wants more of them (`minItems`), and then exactly those."""
_MOST_ITEMS = 16

_REFUSED = ("not", "if", "then", "else", "dependentSchemas", "$dynamicRef", "$recursiveRef")
_NOTES = frozenset(
    ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format", "pattern")
).union(
    ("$comment", "$schema", "$id", "$defs", "definitions", "minLength", "maxLength", "uniqueItems", "multipleOf"),
    ("minProperties", "maxProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"),
    ("dependentRequired", "contains", "minContains", "maxContains", "contentEncoding", "contentMediaType"),
)
"""Keywords that change nothing in a grammar: the first of two wins when schemas are merged."""


class UnsupportedSchemaError(EdgeretError):
    """A function's parameters that cannot be written as a grammar."""

    def __init__(self, path: str, keyword: str, problem: str = "cannot be written as a grammar") -> None:
        super().__init__(
            f'{path}: "{keyword}" {problem}; describe this parameter by type, enum, properties or items instead'
        )


def grammar(schema: Mapping[str, Any], query: str, n_outputs: int) -> str:
    """GBNF whose rule `root` is the arguments object as JSON without spaces, ready for llama.cpp.

    `schema` is the function's parameters (JSON Schema), `n_outputs` counts the calls made so far. Every property
    stands in the schema's order and is `null` or:

    - string: words of the query that stand together, with or without punctuation at either end and a final
      possessive 's, in the query's spelling; or `"$out_k"`, k in 1..n_outputs
    - number, integer: a number of the query, in digits or English words, within the schema's bounds
    - enum, const, boolean: one of the choices
    - array: 1 to 4 items; object: the same rules again

    A free-form object can only be null. Without properties the grammar is that of `{}`. Raises UnsupportedSchemaError
    naming keyword and place.
    """
    writer = _Writer(schema, query, n_outputs)
    body = writer.root()
    return "\n".join((f"root ::= {body}", *(f"{name} ::= {rule}" for name, rule in writer.rules.items()), ""))


class _Writer:
    """Collects the rules of one grammar. Methods return a rule's body, or None where only null is left."""

    def __init__(self, schema: Mapping[str, Any], query: str, n_outputs: int) -> None:
        self.schema, self.query, self.n_outputs = schema, query, n_outputs
        self.rules: dict[str, str] = {}
        self._objects: dict[int, tuple[Any, str]] = {}
        self._numbers: list[Decimal] | None = None
        self._string: str | None = None

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
                bodies += [_quote(_json(choice)) for choice in _list(form, "enum", path) if choice is not None]
                continue
            bodies += filter(None, (self._typed(kind, form, path, depth) for kind in _types(form, path)))
        return " | ".join(dict.fromkeys(bodies)) or None

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
            body = self.value(schema, f"{path}.{name}", depth)
            if body is None:
                literal += "null,"
            else:
                parts += [_quote(literal), f'( {body} | "null" )']
                literal = ","
        return " ".join((*parts, _quote(literal.removesuffix(",") + "}"))), bool(parts)

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
        needed, optional = f' "," ( {item} )' * (least - 1), f' ( "," ( {item} )' * (most - least)
        return f'"[" ( {item} ){needed}{optional}' + " )?" * (most - least) + ' "]"'

    def _number(self, form: Mapping[str, Any], path: str, whole: bool) -> str | None:
        if self._numbers is None:
            self._numbers = find_numbers(self.query)
        limits = {key: _numeric(form, key, path) for key in _BOUNDS}
        bounds = [(_BOUNDS[key], Decimal(str(limit))) for key, limit in limits.items() if limit is not None]
        fitting = (n for n in self._numbers if (not whole or n == int(n)) and all(holds(n, b) for holds, b in bounds))
        return " | ".join(_quote(format(n.normalize(), "f")) for n in fitting) or None

    def _text(self) -> str | None:
        """The rule of strings, written once: a span of the query or a reference, in quotes."""
        if self._string is None:
            options = [_span_rules(find_words(self.query), self.rules)]
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
        for keyword in _REFUSED:
            if keyword in schema:
                raise UnsupportedSchemaError(path, keyword)
        forms: list[Mapping[str, Any]] = [{k: v for k, v in schema.items() if k not in _COMBINING}]
        if "const" in schema:
            forms = _join(forms, [{"enum": [schema["const"]]}], path, "const")
        if "$ref" in schema:
            pointer = schema["$ref"]
            if pointer in seen:
                raise UnsupportedSchemaError(path, "$ref", f"leads back to itself ({pointer})")
            target = self._alternatives(self._resolve(pointer, path), path, (*seen, pointer))
            forms = _join(forms, target, path, "$ref")
        for part in _list(schema, "allOf", path):
            forms = _join(forms, self._alternatives(part, path, seen), path, "allOf")
        for keyword in ("anyOf", "oneOf"):
            parts = _list(schema, keyword, path)
            # Alternatives that only say what is required offer nothing to choose from.
            if parts and not all(isinstance(p, Mapping) and p.keys() <= _NOTES | {"required"} for p in parts):
                options = [form for p in parts if p is not False for form in self._alternatives(p, path, seen)]
                forms = _join(forms, options, path, keyword)
        return forms

    def _resolve(self, pointer: Any, path: str) -> Any:
        if not isinstance(pointer, str) or not pointer.startswith("#"):
            raise UnsupportedSchemaError(path, "$ref", f"leads outside the schema ({pointer})")
        found: Any = self.schema
        for part in pointer[1:].split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or key not in found:
                raise UnsupportedSchemaError(path, "$ref", f"leads nowhere ({pointer})")
            found = found[key]
        return found


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
        raise UnsupportedSchemaError(path, "type", f"must be among {', '.join(_KINDS)}, found {found!r}")
    return list(found)


def _list(schema: Mapping[str, Any], keyword: str, path: str) -> list[Any]:
    found = schema.get(keyword, [])
    if not isinstance(found, list):
        raise UnsupportedSchemaError(path, keyword, "must be a list")
    return found


def _join(
    forms: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], path: str, keyword: str
) -> list[Mapping[str, Any]]:
    return [_merge(one, other, path, keyword) for one in forms for other in others]


def _merge(one: Mapping[str, Any], other: Mapping[str, Any], path: str, keyword: str) -> Mapping[str, Any]:
    """One form that demands what both do. Raises UnsupportedSchemaError where that is not simple."""
    merged = dict(one)
    for key, value in other.items():
        if key not in merged or merged[key] == value:
            merged[key] = value
        elif key == "properties":
            mine = merged[key]
            merged[key] = {**mine, **{n: {"allOf": [mine[n], s]} if n in mine else s for n, s in value.items()}}
        elif key == "required":
            merged[key] = [*merged[key], *value]
        elif key == "enum":
            merged[key] = [choice for choice in merged[key] if choice in value]
        elif key == "type":
            kinds = [kind for kind in _types(merged, path) if kind in _types(other, path)]
            if not kinds:
                raise UnsupportedSchemaError(path, keyword, "combines types that exclude each other")
            merged[key] = kinds
        elif key not in _NOTES:
            raise UnsupportedSchemaError(path, keyword, f'combines different values of "{key}"')
    return merged


def _numeric(form: Mapping[str, Any], key: str, path: str) -> float | None:
    found = form.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float | None):
        raise UnsupportedSchemaError(path, key, f"must be a number, found {found!r}")
    return found


class Word(NamedTuple):
    """A word of the query, its texts escaped for JSON: punctuation before and after it, mark by mark, which a span
    may leave out at its ends; the word; a final possessive 's, likewise; and the space up to the next word."""

    lead: tuple[str, ...]
    core: str
    possessive: str
    trail: tuple[str, ...]
    gap: str


# Inside what stands between two spaces, words also end at dashes, slashes and the like between letters, and around
# characters of scripts that are written without spaces.
_UNSPACED = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_CUT = re.compile(
    rf"(?<=[^\W\d_][/,;|])(?=[^\W\d_])|(?<=[—–…。、」』）！？])(?=\S)"
    rf"|(?<=[{_UNSPACED}])(?=[\w「『（])|(?<=\w)(?=[{_UNSPACED}])"
)
_PARTS = re.compile(r"([\W_]*)(.+?)(['’][sS])?([\W_]*)", re.DOTALL)
_MOST_MARKS = 8


def find_words(query: str) -> list[Word]:
    """The words of a query, in order; together they are the query without the space around it."""
    found: list[Word] = []
    for text, gap in re.findall(r"(\S+)(\s*)", query):
        pieces = [text] if "://" in text else [piece for piece in _CUT.split(text) if piece]
        for i, piece in enumerate(pieces):
            lead, core, possessive, trail = "", piece, "", ""
            if (match := _PARTS.fullmatch(piece)) and any(map(str.isalnum, piece)):
                lead, core, possessive, trail = (part or "" for part in match.groups())
            marks = tuple(map(_escape, (*filter(None, (lead[:-_MOST_MARKS],)), *lead[-_MOST_MARKS:])))
            behind = tuple(map(_escape, (*trail[:_MOST_MARKS], *filter(None, (trail[_MOST_MARKS:],)))))
            space = _escape(gap) if i == len(pieces) - 1 else ""
            found.append(Word(marks, _escape(core), _escape(possessive), behind, space))
    return found


_DIGITS = re.compile(r"(?:(?<![^\s(\[{:=])[-+−])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?")
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
_NUMERALS = dict(zip(_NUMBER_WORDS.split(), (*range(20), *range(20, 100, 10)), strict=True))


def find_numbers(query: str) -> list[Decimal]:
    """The numbers that stand in a query, without repeats: digits (12, -3.5, 1,200), then English words up to 999
    (forty-five, two hundred and ten), `half` being 0.5."""
    digits = (text.replace(",", "").replace("−", "-") for text in _DIGITS.findall(query))
    found = [Decimal(text) + 0 for text in digits if len(text) <= 18]
    words = re.findall(r"[^\W\d_]+|\d+|[^\w\s-]", query.lower())
    i = 0
    while i < len(words):
        value, end = _numeral(words, i)
        if value is not None and words[end : end + 1] == ["hundred"]:
            start = end + 1 + (words[end + 1 : end + 2] == ["and"])
            rest, behind = _numeral(words, start)
            value, end = (100 * value, end + 1) if rest is None else (100 * value + rest, behind)
        if value is not None:
            found.append(Decimal(value))
        elif words[i] == "half":
            found.append(Decimal("0.5"))
        i = max(end, i + 1)
    return list(dict.fromkeys(found))


def _numeral(words: Sequence[str], start: int) -> tuple[int | None, int]:
    """The number below 100 (or the "a" of "a hundred") that begins at a word, and where it ends."""
    word, following = (*words[start : start + 2], "", "")[:2]
    if word in ("a", "an") and following == "hundred":
        return 1, start + 1
    value = _NUMERALS.get(word)
    if value is not None and value >= 20 and 0 < _NUMERALS.get(following, 0) < 10:
        return value + _NUMERALS[following], start + 2
    return value, start + (value is not None)


def _span_rules(words: Sequence[Word], rules: dict[str, str]) -> str:
    """Adds two rules a word, "from this word on" and the same behind its first character; the body of a span, or "".

    Where a span may begin is grouped by first characters: llama.cpp tries every token of its vocabulary against every
    open alternative, and a query has far fewer first characters than words.
    """
    starts: dict[str, list[str]] = {}
    for i, word in enumerate(words):
        end = 2 if word.core[0] == "\\" else 1
        head, rest = word.core[:end], word.core[end:]
        tail = _sequence(word.gap + "".join(words[i + 1].lead), f"w{i + 1}") if i + 1 < len(words) else ""
        for mark in reversed((word.possessive, *word.trail) if word.possessive else word.trail):
            tail = f"{_quote(mark)} ( {tail} )?" if tail else _quote(mark)
        rules[f"w{i}"] = f"{_quote(head)} v{i}"
        rules[f"v{i}"] = _sequence(rest, f"( {tail} )?" if tail else "")
        starts.setdefault(head, []).append(f"v{i}")
        for cut, mark in enumerate(word.lead):
            starts.setdefault(mark, []).append(_sequence("".join(word.lead[cut + 1 :]), f"w{i}"))
    return " | ".join(f"{_quote(head)} ( {' | '.join(dict.fromkeys(bodies))} )" for head, bodies in starts.items())


def _sequence(text: str, rule: str) -> str:
    return f"{_quote(text)} {rule}".rstrip() if text or not rule else rule


def _escape(text: str) -> str:
    return _json(text)[1:-1]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
