"""Kinds of JSON values, written as JSON Schema (2020-12), and the check that names by its path what does not fit. Knows
nothing of what is asked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from edgeret import InputError
from edgeret.quoting import quoted, suggestion

Kind = Mapping[str, Any]
"""A schema, of those that the functions here write."""
ANYTHING: Kind = {}
FLAG: Kind = {"type": "boolean"}
MOMENT: Kind = {"type": "string", "format": "date-time", "maxLength": 64}
"""A day and a time of ISO 8601."""
_NAMES = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
_TYPES: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "string": ("text", (str,)),
    "boolean": ("true or false", (bool,)),
    "number": ("a number", (int, float)),
    "integer": ("a whole number", (int,)),
    "array": ("a list", (list,)),
    "object": ("an object", (dict,)),
}


class MisfitError(InputError):
    """A value that does not fit; `path` says where it stands, such as `calls[1].tool`."""

    def __init__(self, path: str, says: str) -> None:
        super().__init__(f"{path}: {says}" if path else says)
        self.path = path


def text(most: int | None = None, choices: Sequence[str] = (), null: bool = False) -> Kind:
    """Text of at most `most` characters, or one of `choices`; with `null`, null as well."""
    if choices:
        return {"type": "string", "enum": list(choices)}
    return {"type": ["string", "null"] if null else "string", **({} if most is None else {"maxLength": most})}


def number(low: float = -math.inf, high: float = math.inf, whole: bool = False) -> Kind:
    """A number from `low` to `high`, both included; a `whole` one, or any."""
    bounds = {"minimum": low, "maximum": high}
    finite = {name: bound for name, bound in bounds.items() if math.isfinite(bound)}
    return {"type": "integer" if whole else "number", **finite}


def list_of(kind: Kind, least: int = 0, most: int | None = None) -> Kind:
    """A list of `least` to `most` values of one kind."""
    bounds = ({"minItems": least} if least else {}) | ({} if most is None else {"maxItems": most})
    return {"type": "array", "items": kind, **bounds}


def map_of(kind: Kind) -> Kind:
    """An object with any names, whose values are of one kind."""
    return {"type": "object", "additionalProperties": kind}


def text_or(short: Kind, whole: Kind) -> Kind:
    """Text, or an object that says more."""
    return {"oneOf": [short, whole]}


def fields(*rows: tuple[str, Kind, str] | tuple[str, Kind, str, bool], more: bool = False) -> Kind:
    """An object with these fields and, unless `more`, no others: each with its name, its kind, in words what it is for,
    and whether it is needed."""
    told: dict[str, Any] = {
        "type": "object",
        "properties": {name: {**kind, "description": words} for name, kind, words, *_ in rows},
    }
    needed = [row[0] for row in rows if row[3:] == (True,)]
    told |= {"required": needed} if needed else {}
    return told if more else {**told, "additionalProperties": False}


def check(value: Any, kind: Kind, path: str = "") -> None:
    """Raises MisfitError for a value that is not of its kind."""
    if "oneOf" in kind:
        if not isinstance(value, str | dict):
            raise MisfitError(path, f"expected text or an object, found {found(value)}")
        return check(value, kind["oneOf"][isinstance(value, dict)], path)
    wanted = kind.get("type")
    name = wanted[0] if isinstance(wanted, list) else wanted
    if name is None or (value is None and name != wanted):
        return None
    said, types = _TYPES[name]
    if not isinstance(value, types) or (isinstance(value, bool) and name != "boolean"):
        raise MisfitError(path, f"expected {said}, found {found(value)}")
    if isinstance(value, str):
        return _check_text(value, kind, path)
    if isinstance(value, list):
        return _check_list(value, kind, path)
    if isinstance(value, dict):
        return _check_fields(value, kind, path)
    low, high = kind.get("minimum", -math.inf), kind.get("maximum", math.inf)
    if not low <= value <= high:
        raise MisfitError(path, f"must lie between {low:g} and {high:g}, found {str(value)[:20]}")
    return None


def _check_text(value: str, kind: Kind, path: str) -> None:
    if "enum" in kind and value not in kind["enum"]:
        hint = suggestion(value, kind["enum"])
        raise MisfitError(path, f"expected one of {', '.join(kind['enum'])}, found {quoted(value)}{hint}")
    if len(value) > (most := kind.get("maxLength", math.inf)):
        raise MisfitError(path, f"{len(value)} characters, at most {most} are allowed; shorten the text")
    if kind.get("format") == "date-time":
        try:
            datetime.fromisoformat(value)
        except ValueError:
            says = f"expected a day and a time as 2026-11-29T10:00:00+01:00, found {quoted(value)}"
            raise MisfitError(path, says) from None


def _check_list(value: list[Any], kind: Kind, path: str) -> None:
    if len(value) < (least := kind.get("minItems", 0)):
        raise MisfitError(path, f"expected a list of at least {least}, found {len(value)}")
    if len(value) > (most := kind.get("maxItems", math.inf)):
        raise MisfitError(path, f"{len(value)} entries, at most {most} are allowed")
    for place, one in enumerate(value):
        check(one, kind["items"], f"{path}[{place}]")


def _check_fields(value: dict[str, Any], kind: Kind, path: str) -> None:
    known, others, before = (
        kind.get("properties", {}),
        kind.get("additionalProperties", ANYTHING),
        f"{path}." * bool(path),
    )
    for name, one in value.items():
        if name not in known and others is False:
            hint = suggestion(name, known) or f"; there are {', '.join(known) or 'none'}"
            raise MisfitError(before + name[:40], f"no such field{hint}")
        check(one, known.get(name, others), before + name[:40])
    for name in kind.get("required", ()):
        if name not in value:
            raise MisfitError(before + name, f"is missing; it is {known[name]['description']}")


def found(value: Any) -> str:
    """A value's kind, in words."""
    return "null" if value is None else _NAMES.get(type(value), "something else")


def checked(value: Any, kind: Kind) -> Mapping[str, Any]:
    """The value, which is an object of this kind. Raises MisfitError."""
    check(value, kind)
    return dict(value)
