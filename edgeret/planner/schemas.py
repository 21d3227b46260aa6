"""A function's parameters as a check of values, by jsonschema. Whatever a stranger's schema makes it stumble over is an
UnsupportedSchemaError. Knows nothing of what becomes of the errors found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from edgeret.errors import EdgeretError, MissingExtraError
from edgeret.planner.formats import format_checker
from edgeret.planner.grammar import UnsupportedSchemaError, plain_schema
from edgeret.planner.schema_rules import Work, counted, current, measure
from edgeret.quoting import shortened

MAX_SCHEMAS = 4_000
"""Schemas in a schema (objects, true and false); checking that they are schemas takes some 0.2 ms each."""
MAX_PAIRS = 500_000
"""Pairs of values in the schema's lists that cannot be sorted; draft 7 and older want choices to differ."""


class Check:
    """A schema for one answer, with all the work that the answer may cause."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Raises UnsupportedSchemaError for what is no schema, MissingExtraError without jsonschema or RE2."""
        self._validator, sizes = _validator(json.dumps(plain_schema(schema), ensure_ascii=False))
        self._work = Work(sizes)

    def errors(self, value: Any, part: Any = None) -> list[Any]:
        """What jsonschema finds wrong with `value`, against `part` of the schema if one is given.

        Raises UnsupportedSchemaError where a reference leads nowhere or in circles, and when the work is used up.
        """
        self._work.sizes.clear()
        measure(value, self._work.sizes)
        token = current.set(self._work)
        try:
            with _translated():
                validator = self._validator if part is None else self._validator.evolve(schema=part)
                return list(validator.iter_errors(value))
        finally:
            current.reset(token)

    def unexpected(self, error: Any) -> list[str]:
        """The properties that an error of `additionalProperties` is about."""
        return self._work.undescribed(error.instance, error.schema)


@contextmanager
def _translated() -> Iterator[None]:
    """Whatever jsonschema raises as an UnsupportedSchemaError."""
    from referencing.exceptions import Unresolvable

    try:
        yield
    except EdgeretError:
        raise
    except RecursionError:
        raise UnsupportedSchemaError("parameters", "$ref", "leads back to itself, or too deep") from None
    except Unresolvable as error:
        raise UnsupportedSchemaError("parameters", "$ref", f"leads nowhere ({shortened(str(error))})") from None
    except Exception as error:  # what a reference leads to was never checked to be a schema
        reason = f"cannot be checked ({type(error).__name__}: {shortened(str(error))})"
        raise UnsupportedSchemaError("parameters", "schema", reason) from None


@lru_cache(maxsize=128)
def _validator(text: str) -> tuple[Any, Mapping[int, int]]:
    """jsonschema's validator with our rules, and the sizes of the schema's containers by `id`."""
    try:
        import jsonschema
        import re2  # noqa: F401
        from referencing import Registry
        from referencing.jsonschema import specification_with
    except ImportError:
        raise MissingExtraError("planner", "checking a function's arguments") from None
    schema = json.loads(text)
    dialect = {"$schema": str(schema.get("$schema"))}
    _prepare(schema)
    sizes: dict[int, int] = {}
    measure(schema, sizes)
    with _translated():
        newest: Any = jsonschema.Draft202012Validator
        base = jsonschema.validators.validator_for(dialect, default=newest)
        base = base if "oneOf" in base.VALIDATORS else newest
        try:
            base.check_schema(schema, jsonschema.FormatChecker(formats=()))
        except jsonschema.SchemaError as error:
            place = ".".join(map(str, ("parameters", *error.absolute_path)))
            reason = f"is violated ({shortened(error.message)})"
            raise UnsupportedSchemaError(place, str(error.validator), reason) from None
        # A registry with nothing in it but this schema: nothing is fetched, and no reference leads to the schemas of
        # JSON Schema itself, whose rules would not be counted. Crawled now, or every look-up would crawl it again.
        root = specification_with(base.ID_OF(base.META_SCHEMA)).create_resource(schema)
        address = root.id() or ""
        resolver = Registry().with_resource(address, root).crawl().resolver(base_uri=address)
        return counted(base)(schema, format_checker=format_checker(), _resolver=resolver), sizes


def _prepare(schema: dict[str, Any]) -> None:
    """Takes out `$schema` wherever it stands: it would bring a dialect's own rules back, which are not counted. Refuses
    with an UnsupportedSchemaError what takes too long to be checked to be a schema."""
    waiting: list[Any] = [schema]
    schemas = pairs = 0
    while waiting:
        part = waiting.pop()
        schemas += isinstance(part, dict | bool)
        if isinstance(part, dict):
            if isinstance(part.get("$schema"), str):
                del part["$schema"]
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
            sortable = {type(item) for item in part} <= {str} or {type(item) for item in part} <= {int, float}
            pairs += 0 if sortable else len(part) ** 2 // 2
    if schemas > MAX_SCHEMAS or pairs > MAX_PAIRS:
        raise UnsupportedSchemaError("parameters", "schema", "has too many parts to be checked")
