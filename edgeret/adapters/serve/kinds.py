"""Kinds of JSON values: each checks one, names by its path what does not fit, and says itself as JSON Schema. Knows
nothing of what is asked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from edgeret import InputError
from edgeret.quoting import quoted, suggestion
from edgeret.records import dataclass

_NAMES = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}


class MisfitError(InputError):
    """A value that does not fit; `path` says where it stands, such as `calls[1].tool`."""

    def __init__(self, path: str, says: str) -> None:
        super().__init__(f"{path}: {says}" if path else says)
        self.path = path


class Kind(Protocol):
    """One kind of value."""

    def check(self, value: Any, path: str) -> None:
        """Raises MisfitError."""

    def schema(self) -> dict[str, Any]:
        """JSON Schema (2020-12)."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text of at most `most` characters, or one of `choices`; `null` allows null as well."""

    most: int | None = None
    choices: Sequence[str] = ()
    null: bool = False

    def check(self, value: Any, path: str) -> None:
        """Raises MisfitError."""
        if value is None and self.null:
            return
        if not isinstance(value, str):
            raise MisfitError(path, f"expected text, found {found(value)}")
        if self.choices and value not in self.choices:
            hint = suggestion(value, self.choices)
            raise MisfitError(path, f"expected one of {', '.join(self.choices)}, found {quoted(value)}{hint}")
        if self.most is not None and len(value) > self.most:
            raise MisfitError(path, f"{len(value)} characters, at most {self.most} are allowed; shorten the text")

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        if self.choices:
            return {"type": "string", "enum": list(self.choices)}
        told: dict[str, Any] = {"type": ["string", "null"] if self.null else "string"}
        return told if self.most is None else {**told, "maxLength": self.most}


@dataclass(frozen=True, slots=True)
class Moment:
    """A day and a time of ISO 8601, as text."""

    def check(self, value: Any, path: str) -> None:
        """Raises MisfitError."""
        Text(64).check(value, path)
        try:
            datetime.fromisoformat(value)
        except ValueError:
            says = f"expected a day and a time as 2026-11-29T10:00:00+01:00, found {quoted(value)}"
            raise MisfitError(path, says) from None

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"type": "string", "format": "date-time", "maxLength": 64}


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def check(self, value: Any, path: str) -> None:
        """Raises MisfitError."""
        if not isinstance(value, bool):
            raise MisfitError(path, f"expected true or false, found {found(value)}")

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Number:
    """A number from `low` to `high`, both included; a `whole` one, or any. `null` allows null as well."""

    low: float
    high: float
    whole: bool = False
    null: bool = False

    def check(self, value: Any, path: str) -> None:
        """Raises MisfitError."""
        if value is None and self.null:
            return
        kinds = int if self.whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise MisfitError(path, f"expected a {'whole ' if self.whole else ''}number, found {found(value)}")
        if not self.low <= value <= self.high:
            shown = str(value)[:20]
            raise MisfitError(path, f"must lie between {self.low:g} and {self.high:g}, found {shown}")

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        kind = "integer" if self.whole else "number"
        told: dict[str, Any] = {"type": [kind, "null"] if self.null else kind}
        bounds = {"minimum": self.low, "maximum": self.high}
        return told | {name: bound for name, bound in bounds.items() if math.isfinite(bound)}


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON."""

    def check(self, value: Any, path: str) -> None:
        """Everything fits."""

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {}


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of `least` to `most` values of one kind."""

    kind: Kind
    least: int = 0
    most: int | None = None

    def check(self, value: Any, path: str) -> None:
        """Raises MisfitError."""
        if not isinstance(value, list):
            raise MisfitError(path, f"expected a list, found {found(value)}")
        if len(value) < self.least:
            raise MisfitError(path, f"expected a list of at least {self.least}, found {len(value)}")
        if self.most is not None and len(value) > self.most:
            raise MisfitError(path, f"{len(value)} entries, at most {self.most} are allowed")
        for place, one in enumerate(value):
            self.kind.check(one, f"{path}[{place}]")

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        told: dict[str, Any] = {"type": "array", "items": self.kind.schema()}
        told |= {"minItems": self.least} if self.least else {}
        return told if self.most is None else {**told, "maxItems": self.most}


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object with any names, whose values are of one kind."""

    kind: Kind

    def check(self, value: Any, path: str) -> None:
        """Raises MisfitError."""
        if not isinstance(value, dict):
            raise MisfitError(path, f"expected an object, found {found(value)}")
        for name, one in value.items():
            self.kind.check(one, f"{path}.{name[:40]}")

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"type": "object", "additionalProperties": self.kind.schema()}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object: its name, its kind, and in words what it is for."""

    name: str
    kind: Kind
    told: str
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Object:
    """An object with these fields and, unless `more`, no others."""

    fields: Sequence[Field]
    more: bool = False

    def check(self, value: Any, path: str) -> None:
        """Raises MisfitError."""
        if not isinstance(value, dict):
            raise MisfitError(path, f"expected an object, found {found(value)}")
        known = {field.name: field for field in self.fields}
        for name, one in value.items():
            where = f"{path}.{name[:40]}" if path else name[:40]
            if name in known:
                known[name].kind.check(one, where)
            elif not self.more:
                hint = suggestion(name, known) or f"; there are {', '.join(known) or 'none'}"
                raise MisfitError(where, f"no such field{hint}")
        for field in self.fields:
            if field.needed and field.name not in value:
                raise MisfitError(f"{path}.{field.name}" if path else field.name, f"is missing; it is {field.told}")

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        told: dict[str, Any] = {
            "type": "object",
            "properties": {field.name: {**field.kind.schema(), "description": field.told} for field in self.fields},
        }
        needed = [field.name for field in self.fields if field.needed]
        told |= {"required": needed} if needed else {}
        return told if self.more else {**told, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class TextOr:
    """Text, or an object that says more."""

    text: Text
    more: Object

    def check(self, value: Any, path: str) -> None:
        """Raises MisfitError."""
        if isinstance(value, str):
            return self.text.check(value, path)
        if isinstance(value, dict):
            return self.more.check(value, path)
        raise MisfitError(path, f"expected text or an object, found {found(value)}")

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"oneOf": [self.text.schema(), self.more.schema()]}


def found(value: Any) -> str:
    """A value's kind, in words."""
    return "null" if value is None else _NAMES.get(type(value), "something else")


def checked(value: Any, kind: Kind) -> Mapping[str, Any]:
    """The value, which is an object of this kind. Raises MisfitError."""
    kind.check(value, "")
    return dict(value)
