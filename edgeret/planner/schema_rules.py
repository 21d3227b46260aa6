"""jsonschema's rules, counted: those exchanged that could take for ever, and patterns on RE2, which cannot.

Schemas are written by strangers, and so may be values. Knows nothing of how a schema is read or an error is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from edgeret.planner.grammar import UnsupportedSchemaError
from edgeret.quoting import shortened
from edgeret.types import REFERENCE, references

MAX_WORK = 50_000
"""For one answer: keywords that are applied, and more for those that look at many values, schemas or characters; some
10 us each. For wrong and right values of 7,494 functions of six public sets at most 241."""
MAX_PATTERN_CHARS = 2_000
_PATTERN_BYTES = 1 << 20
"""RE2's memory for one pattern; large repeats of large classes have no room in it and are ignored."""
_CHARS, _VALUES, _STEPS = 512, 16, 20_000
"""How many characters count like one more value, and how many values or steps of RE2 like one more keyword."""
_EACH_VALUE = frozenset(("properties", "patternProperties", "additionalProperties", "unevaluatedProperties")).union(
    ("propertyNames", "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "uniqueItems")
)
_EACH_SCHEMA = frozenset(("allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"))
_REFERRING = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))


@dataclass(slots=True)
class Work:
    """What is left to be done for one answer. Sizes are those of the schema's and the answer's containers, by `id`."""

    schema_sizes: Mapping[int, int]
    sizes: dict[int, int] = field(default_factory=dict)
    left: int = MAX_WORK

    def apply(self, keyword: str, limit: Any, instance: Any) -> None:
        """Counts a keyword, with its value and what it is applied to."""
        size = self.schema_sizes.get(id(limit), 0)
        size += len(instance) // _CHARS if isinstance(instance, str) else self.sizes.get(id(instance), 0)
        work = 1 + size // _VALUES
        if keyword in _EACH_VALUE and isinstance(instance, dict | list):
            work += 2 * len(instance)
        elif keyword in _EACH_SCHEMA and isinstance(limit, dict | list):
            work += 2 * len(limit)
        elif keyword in _REFERRING:
            work += 4
        self.count(work)

    def count(self, work: int) -> None:
        """Uses up some of the work. Raises UnsupportedSchemaError when none is left."""
        self.left -= work
        if self.left < 0:
            raise UnsupportedSchemaError("parameters", "schema", "is too branched to check")

    def found(self, pattern: str, text: str) -> bool | None:
        """Whether a pattern is found anywhere in a text; None if it says something that RE2 does not know."""
        compiled = _compiled(pattern)
        if compiled is None:
            return None
        self.count(1 + len(text) * compiled.programsize // _STEPS)
        return compiled.search(text) is not None

    def undescribed(self, instance: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
        """Properties that neither `properties` nor `patternProperties` speaks of; a pattern that RE2 does not know
        speaks of all."""
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        return [
            name
            for name in instance
            if name not in known and not any(self.found(pattern, name) is not False for pattern in patterns)
        ]


def measure(value: Any, sizes: dict[int, int]) -> int:
    """Values inside a value, itself included and long texts counting for more; those of containers go to `sizes`."""
    if isinstance(value, str):
        return 1 + len(value) // _CHARS
    if not isinstance(value, dict | list):
        return 1
    inner = value.values() if isinstance(value, dict) else value
    sizes[id(value)] = 1 + sum(measure(item, sizes) for item in inner)
    return sizes[id(value)]


current: ContextVar[Work] = ContextVar("work")
"""The work of the answer that is being checked: a validator serves many threads, and its rules are functions."""


@cache
def counted(base: Any) -> Any:
    """A dialect's validator class of jsonschema with our rules."""
    from jsonschema.validators import extend

    ours = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "unevaluatedProperties": _unevaluated_properties,
        "unevaluatedItems": _unevaluated_items(base.VALIDATORS.get("unevaluatedItems")),
        "uniqueItems": _unique_items,
        "oneOf": _one_of(base.VALIDATORS["oneOf"]),
    }
    rules = {keyword: ours.get(keyword, rule) for keyword, rule in base.VALIDATORS.items()}
    return extend(base, {keyword: _counted(keyword, rule) for keyword, rule in rules.items()})


def _counted(keyword: str, rule: Any) -> Any:
    """A keyword's rule that counts, lets references pass, and survives what Python cannot compute."""

    def check(validator: Any, limit: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and REFERENCE.fullmatch(instance):
            return
        current.get().apply(keyword, limit, instance)
        try:
            yield from rule(validator, limit, instance, schema) or ()
        except OverflowError:
            yield _error("the number is too large")

    return check


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> Any:
    import re2

    if len(pattern) > MAX_PATTERN_CHARS:
        return None
    options = re2.Options()
    options.max_mem, options.never_capture, options.log_errors = _PATTERN_BYTES, True, False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None


def _error(message: str) -> Any:
    from jsonschema import ValidationError

    return ValidationError(message)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and current.get().found(pattern, instance) is False:
        yield _error(f"{shortened(instance)!r} does not match {shortened(pattern)!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    for pattern, part in patterns.items() if isinstance(instance, dict) else ():
        for name, value in instance.items():
            if current.get().found(pattern, name):
                yield from validator.descend(value, part, path=name, schema_path=pattern)


def _additional_properties(validator: Any, part: Any, instance: Any, schema: Any) -> Iterator[Any]:
    extra = current.get().undescribed(instance, schema) if isinstance(instance, dict) else []
    if isinstance(part, dict):
        for name in extra:
            yield from validator.descend(instance[name], part, path=name)
    elif not part and extra:
        yield _unexpected("Additional", extra)


def _unevaluated_properties(validator: Any, part: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        seen = set(_evaluated(validator, instance, {k: v for k, v in schema.items() if k != "unevaluatedProperties"}))
        extra = [name for name in instance if name not in seen and not _fits(validator, instance[name], part)]
        if extra:
            yield _unexpected("Unevaluated", extra)


def _unexpected(kind: str, names: list[str]) -> Any:
    listed = ", ".join(repr(shortened(name)) for name in sorted(names)[:5])
    return _error(f"{kind} properties are not allowed ({listed} {'was' if len(names) == 1 else 'were'} unexpected)")


def _evaluated(validator: Any, instance: Mapping[str, Any], schema: Any) -> Iterable[str]:
    """Properties that a schema speaks of, or one that it is made of and that `instance` fits."""
    if not isinstance(schema, dict):
        return
    current.get().apply("unevaluatedProperties", schema, instance)
    if not schema.keys().isdisjoint(("additionalProperties", "unevaluatedProperties", "$recursiveRef")):
        yield from instance
        return
    extra = set(current.get().undescribed(instance, schema))
    yield from (name for name in instance if name not in extra)
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in schema:
            found = validator._resolver.lookup(schema[keyword])  # noqa: SLF001 - it has no other name
            inner = validator.evolve(schema=found.contents, _resolver=found.resolver)
            yield from _evaluated(inner, instance, found.contents)
    branches = [*schema.get("allOf", ()), *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    branches += [part for name, part in schema.get("dependentSchemas", {}).items() if name in instance]
    if "if" in schema:
        holds = _fits(validator, instance, schema["if"])
        branches += [schema["if"], schema.get("then", {})] if holds else [schema.get("else", {})]
    for branch in branches:
        if _fits(validator, instance, branch):
            yield from _evaluated(validator, instance, branch)


def _fits(validator: Any, value: Any, part: Any) -> bool:
    return next(validator.descend(value, part), None) is None


def _unevaluated_items(rule: Any) -> Any:
    """The dialect's own, which looks every item up in a list."""

    def check(validator: Any, part: Any, instance: Any, schema: Any) -> Iterator[Any]:
        current.get().count(len(instance) ** 2 // _CHARS if isinstance(instance, list) else 0)
        yield from rule(validator, part, instance, schema)

    return check


def _unique_items(validator: Any, unique: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if unique and isinstance(instance, list):
        whole = (int(item) if isinstance(item, float) and item.is_integer() else item for item in instance)
        if len({json.dumps(item, sort_keys=True) for item in whole}) < len(instance):
            yield _error("has non-unique elements")


def _one_of(rule: Any) -> Any:
    """oneOf, but anyOf for values that hold references, which fit every alternative."""

    def check(validator: Any, parts: Any, instance: Any, schema: Any) -> Iterator[Any]:
        for error in rule(validator, parts, instance, schema):
            if error.context or not references({"": instance}):
                yield error

    return check
