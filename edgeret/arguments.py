"""A function's arguments: what they may be (`grammar`), and what a model's answer is worth (`settle`, `validates`).

A string `"$out_k"` stands for the output of the plan's k-th call, a value that is not known yet, and so satisfies any
schema. Knows nothing of models and never trusts one: whatever was written, what is handed on fits the schema.

The formats date, time, date-time and duration accept any words: the user's own ("Thursday", "March 3rd") are passed
on, and turning them into a timestamp is the assistant's business. email, uri, uri-reference, uuid, hostname, ipv4 and
ipv6 are checked; other formats are not.
"""

from __future__ import annotations

import ipaddress
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from edgeret.errors import MissingExtraError
from edgeret.grammar import UnsupportedSchemaError
from edgeret.types import REFERENCE, references

Place = tuple[str | int, ...]
MAX_DEPTH = 32
"""Values nested deeper than this are dropped unread; they could exhaust the stack."""
_LIKE_REFERENCE = re.compile(r"\$out_[0-9]+")
_MOST_CHARS = 160
_DROPPED = object()


@dataclass(frozen=True, slots=True)
class Filled:
    """A model's answer after checking.

    `arguments` hold neither nulls (but see `settle`) nor anything the schema refuses. `missing` names the required
    properties that have no value, nested ones as `address.city` or `songs[0].title`. `problems` are one line each:
    what was refused and dropped, and what else does not fit.
    """

    arguments: dict[str, Any]
    missing: tuple[str, ...]
    problems: tuple[str, ...]


def settle(value: Any, schema: Mapping[str, Any], n_outputs: int) -> Filled:
    """What a model's answer is worth as arguments for `schema`, after `n_outputs` calls were made.

    `value` is any decoded JSON. Dropped are nulls, references to calls that do not exist, and whatever JSON Schema
    refuses (in the dialect that `$schema` names, else draft 2020-12), with the objects and arrays that this leaves
    empty. What is left always validates, short of what is missing: against the schema without `required` and
    `minProperties`, `oneOf` being read as `anyOf` where only those tell its alternatives apart. A required property
    that the schema lets be null is null, not missing.

    Never raises for what a model wrote. Raises UnsupportedSchemaError for a schema that cannot be checked, and
    MissingExtraError without jsonschema.
    """
    validator = _validator(schema)
    problems = [] if isinstance(value, dict) else [f"expected an object, found {type(value).__name__}"]

    def unusable(path: Place, item: Any) -> bool:
        problem = _problem(path, item, n_outputs)
        problems.extend([f"{_dotted(path)}: {problem}; dropped"] if problem else [])
        return bool(problem) or item is None

    arguments = _rebuild(value if isinstance(value, dict) else {}, unusable)
    while refused := _refused(arguments, validator):
        problems += (f"{_dotted(path)}: {reason}; dropped" for path, reason in refused.items())
        arguments = _without(arguments, refused)
    for error, name in list(_needed(arguments, validator)):
        _fill_null(arguments, error, name, validator)
    missing = [_dotted((*error.absolute_path, name)) for error, name in _needed(arguments, validator)]
    leaves = (leaf for error in _errors(arguments, validator) for leaf in _leaves(error))
    problems += (_line(leaf) for leaf in leaves if leaf.validator != "required")
    return Filled(arguments, tuple(dict.fromkeys(missing)), tuple(dict.fromkeys(problems)))


def validates(arguments: Any, schema: Mapping[str, Any], n_outputs: int) -> bool:
    """Whether arguments fit a schema with nothing missing, references to the first `n_outputs` calls accepted.

    Raises UnsupportedSchemaError and MissingExtraError as `settle` does.
    """
    validator = _validator(schema)
    dangling = False

    def unusable(path: Place, item: Any) -> bool:
        nonlocal dangling
        refused = _problem(path, item, n_outputs) is not None
        dangling |= refused
        return refused

    _rebuild(arguments, unusable)
    return isinstance(arguments, dict) and not dangling and not _errors(arguments, validator)


def _problem(path: Place, item: Any, n_outputs: int) -> str | None:
    """Why a value cannot be an argument whatever the schema."""
    if len(path) > MAX_DEPTH:
        return f"nested more than {MAX_DEPTH} deep"
    if isinstance(item, float) and not math.isfinite(item):
        return f"{item} is not a number of JSON"
    if isinstance(item, str) and _LIKE_REFERENCE.fullmatch(item):
        match = REFERENCE.fullmatch(item)
        if match is None or int(match[1]) > n_outputs:
            return f"{_short(item)} refers to a call that was not made ({n_outputs} were)"
    return None


def _rebuild(item: Any, refuse: Callable[[Place, Any], bool], path: Place = ()) -> Any:
    """A copy without the values that `refuse` names, nor the objects and arrays that this leaves empty."""
    if path and refuse(path, item):
        return _DROPPED
    if isinstance(item, dict):
        made = ((key, _rebuild(inner, refuse, (*path, key))) for key, inner in item.items())
        kept: Any = {key: inner for key, inner in made if inner is not _DROPPED}
    elif isinstance(item, list):
        kept = [inner for i, value in enumerate(item) if (inner := _rebuild(value, refuse, (*path, i))) is not _DROPPED]
    else:
        return item
    return _DROPPED if path and item and not kept else kept


def _without(arguments: dict[str, Any], paths: Iterable[Place]) -> dict[str, Any]:
    gone = set(paths)
    return dict(_rebuild(arguments, lambda path, _: path in gone))


def _refused(arguments: dict[str, Any], validator: Any) -> dict[Place, str]:
    """Places to be dropped with the reasons; empty once the arguments fit the schema but for what is missing."""
    errors = [error for error in _errors(arguments, validator) if not _is_missing(error)]
    leaves = [leaf for error in errors for leaf in _leaves(error) if not _is_missing(leaf)]
    reasons = {place: _reason(leaf) for leaf in leaves for place in _culprits(leaf)}
    if errors and not reasons:
        # The object as a whole is refused: it goes without the last property whose absence mends it, or the last.
        mending = (key for key in reversed(arguments) if _is_mended(_without(arguments, [(key,)]), validator))
        key = next(mending, next(reversed(arguments), None))
        return {} if key is None else {(key,): _reason(errors[0])}
    return reasons


def _is_missing(error: Any) -> bool:
    """Whether an error only says that something is missing, or that alternatives cannot be told apart for that."""
    if error.validator in ("anyOf", "oneOf") and error.context:
        return any(all(map(_is_missing, branch)) for branch in _branches(error))
    return error.validator in ("required", "minProperties") or (_is_ambiguous(error) and not error.absolute_path)


def _is_ambiguous(error: Any) -> bool:
    """Whether several alternatives fit where one may."""
    return error.validator == "oneOf" and not error.context


def _is_mended(arguments: dict[str, Any], validator: Any) -> bool:
    return all(map(_is_missing, _errors(arguments, validator)))


def _branches(error: Any) -> list[list[Any]]:
    """The errors of every alternative."""
    found: dict[Any, list[Any]] = {}
    for inner in error.context:
        found.setdefault(inner.relative_schema_path[0], []).append(inner)
    return list(found.values())


def _leaves(error: Any) -> Iterator[Any]:
    """The errors to be mended. Of alternatives, the one that was meant: the only one whose type and choices fit."""
    if error.validator in ("anyOf", "oneOf") and error.context:
        fits = (all(e.relative_path or e.validator not in _KIND for e in branch) for branch in _branches(error))
        meant = [branch for branch, fit in zip(_branches(error), fits, strict=True) if fit]
        if len(meant) == 1:
            for inner in meant[0]:
                yield from _leaves(inner)
            return
    yield error


_KIND = ("type", "enum", "const", "additionalProperties")


def _culprits(error: Any) -> list[Place]:
    path: Place = tuple(error.absolute_path)
    if error.validator == "additionalProperties":
        known, patterns = error.schema.get("properties", {}), "|".join(error.schema.get("patternProperties", {}))
        extra = (key for key in error.instance if key not in known)
        return [(*path, key) for key in extra if not (patterns and re.search(patterns, key))]
    return [path] if path else []


def _needed(arguments: dict[str, Any], validator: Any) -> Iterator[tuple[Any, str]]:
    """Required properties that are not there, each with the error that says so."""
    for error in _errors(arguments, validator):
        for leaf in _leaves(error):
            if leaf.validator == "required":
                yield from ((leaf, name) for name in leaf.validator_value if name not in leaf.instance)


def _fill_null(arguments: dict[str, Any], error: Any, name: str, validator: Any) -> None:
    """Puts null where a required property may be null, but makes no object of nulls alone."""
    part = validator.evolve(schema=error.schema.get("properties", {}).get(name, False))
    named = not _errors(None, part) and _errors(_DROPPED, part)  # where anything goes, null is not named as a value
    if not named or (error.absolute_path and not error.instance):
        return
    target: Any = arguments
    for step in error.absolute_path:
        target = target[step]
    target[name] = None
    if not _is_mended(arguments, validator):
        del target[name]


def _errors(arguments: Any, validator: Any) -> list[Any]:
    from referencing.exceptions import Unresolvable

    try:
        return list(validator.iter_errors(arguments))
    except RecursionError:
        raise UnsupportedSchemaError("parameters", "$ref", "leads back to itself") from None
    except Unresolvable as error:
        raise UnsupportedSchemaError("parameters", "$ref", f"leads nowhere ({_short(str(error), False)})") from None


def _validator(schema: Mapping[str, Any]) -> Any:
    return _build_validator(json.dumps(schema, ensure_ascii=False, default=dict))


@lru_cache(maxsize=1024)
def _build_validator(text: str) -> Any:
    try:
        import jsonschema
        from referencing import Registry
    except ImportError:
        raise MissingExtraError("planner", "checking a function's arguments") from None
    schema = json.loads(text)
    newest: Any = jsonschema.Draft202012Validator
    base = jsonschema.validators.validator_for(schema, default=newest)
    base = base if "oneOf" in base.VALIDATORS else newest
    schema.pop("$schema", None)  # left here, it would bring the dialect's own rules back wherever "#" is referred to
    try:
        base.check_schema(schema, jsonschema.FormatChecker(formats=()))
    except jsonschema.SchemaError as error:
        place = _dotted(("parameters", *error.absolute_path))
        raise UnsupportedSchemaError(place, str(error.validator), f"is violated ({_reason(error)})") from None
    rules = base.VALIDATORS | {"oneOf": _one_of(base)}
    kind = jsonschema.validators.extend(base, {key: _known(rule) for key, rule in rules.items()})
    validator = kind(schema, format_checker=_formats(), registry=Registry())  # empty: nothing is ever fetched
    _errors({}, validator)
    return validator


def _known(rule: Any) -> Any:
    """A keyword's rule that lets references pass and survives what Python cannot compute."""

    def check(validator: Any, limit: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and REFERENCE.fullmatch(instance):
            return
        try:
            yield from rule(validator, limit, instance, schema)
        except re.error:
            return  # a pattern in another dialect of regular expressions
        except OverflowError:
            from jsonschema import ValidationError

            yield ValidationError("the number is too large")

    return check


def _one_of(base: Any) -> Any:
    """oneOf, but anyOf for values that hold references, which fit every alternative."""

    def check(validator: Any, parts: Any, instance: Any, schema: Any) -> Any:
        unknown = references({"": instance})
        return base.VALIDATORS["anyOf" if unknown else "oneOf"](validator, parts, instance, schema)

    return check


_EMAIL = re.compile(r"[^\s@<>()\",:;\\\[\]]+@[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)*")
_HOSTNAME = re.compile(r"[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)*\.?")
_URI_CHARS = r"[^\s<>\"{}|\\^`]"
_URI = re.compile(
    rf"(?:https?|ftp)://[^\s/?#<>\"{{}}|\\^`]{_URI_CHARS}*|(?!https?:|ftp:)[a-z][a-z0-9+.-]*:{_URI_CHARS}+",
    re.IGNORECASE,
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def _formats() -> Any:
    """A checker of the formats that this file's docstring names."""
    from jsonschema import FormatChecker

    checks: dict[str, Callable[[str], object]] = {
        **dict.fromkeys(("date", "time", "date-time", "duration"), str.strip),
        **dict.fromkeys(("email", "idn-email"), _EMAIL.fullmatch),
        **dict.fromkeys(("hostname", "idn-hostname"), _HOSTNAME.fullmatch),
        **dict.fromkeys(("uri", "iri"), _URI.fullmatch),
        **dict.fromkeys(("uri-reference", "iri-reference"), re.compile(f"{_URI_CHARS}+").fullmatch),
        "uuid": _UUID.fullmatch,
        "ipv4": ipaddress.IPv4Address,
        "ipv6": ipaddress.IPv6Address,
    }
    checker: Any = FormatChecker(formats=())
    for name, check in checks.items():
        checker.checks(name, raises=ValueError)(
            lambda value, check=check: not isinstance(value, str) or bool(check(value))
        )
    return checker


def _line(error: Any) -> str:
    return f"{_dotted(tuple(error.absolute_path)) or 'arguments'}: {_reason(error)}"


def _reason(error: Any) -> str:
    return _short(error.message, quote=False)


def _dotted(path: Place) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _short(text: str, quote: bool = True) -> str:
    """One line; of a long text, both ends."""
    text = " ".join((json.dumps(text, ensure_ascii=False) if quote else text).split())
    return text if len(text) <= _MOST_CHARS else f"{text[: _MOST_CHARS // 2]}…{text[-_MOST_CHARS // 2 :]}"
