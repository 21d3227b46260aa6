"""A function's arguments: what they may be (`grammar`), and what a model's answer is worth (`settle`, `validates`).

A string `"$out_k"` stands for the output of the plan's k-th call, a value that is not known yet, and so satisfies any
schema. Knows nothing of models and never trusts one: whatever was written, what is handed on fits the schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from edgeret.inputs.jsonl import MAX_DEPTH, check_scalar
from edgeret.planner.schema_rules import measure
from edgeret.planner.schemas import Check
from edgeret.quoting import quoted, shortened
from edgeret.records import dataclass
from edgeret.types import REFERENCE, Argument, Arguments

Place = tuple[str | int, ...]
MAX_ANSWER_VALUES = 5_000
"""Values in an answer, long texts counting for more; a planner has room for some two hundred."""
_LIKE_REFERENCE = re.compile(r"\$out_[0-9]+")
_TRIES = 16
_DROPPED = object()


@dataclass(frozen=True, slots=True)
class Filled:
    """A model's answer after checking.

    `arguments` hold neither nulls (but see `settle`) nor anything the schema refuses. `missing` names the required
    properties that have no value, nested ones as `address.city` or `songs[0].title`. `problems` are one line each:
    what was refused and dropped, and what else does not fit. `given` says of each argument where it is from.
    """

    arguments: dict[str, Any]
    missing: tuple[str, ...]
    problems: tuple[str, ...]
    given: Mapping[str, Argument] = field(default_factory=dict, compare=False)

    @property
    def read(self) -> Arguments:
        """The same with where each value is from, and the names of those that are missing."""
        return Arguments(self.given, dict.fromkeys(self.missing, ""))


def settle(value: Any, schema: Mapping[str, Any], n_outputs: int) -> Filled:
    """What a model's answer is worth as arguments for `schema`, after `n_outputs` calls were made.

    `value` is any decoded JSON. Dropped are nulls, references to calls that do not exist, and whatever JSON Schema
    refuses (in the dialect that `$schema` names, else draft 2020-12), with the objects and arrays that this leaves
    empty. What is left always validates, short of what is missing: against the schema without `required` and
    `minProperties`, `oneOf` being read as `anyOf` where only those tell its alternatives apart. A required property
    that the schema lets be null is null, not missing. Patterns are searched by RE2; one that it does not know is
    ignored.

    Never raises for what a model wrote. Raises UnsupportedSchemaError for a schema that cannot be checked, or not with
    MAX_WORK; and MissingExtraError without jsonschema or RE2.
    """
    check = Check(schema)
    problems = [] if isinstance(value, dict) else [f"expected an object, found {type(value).__name__}"]

    def unusable(path: Place, item: Any) -> bool:
        problem = _problem(path, item, n_outputs)
        problems.extend([f"{_shown(path)}: {problem}; dropped"] if problem else [])
        return bool(problem) or item is None

    arguments = _rebuild(value if isinstance(value, dict) else {}, unusable)
    if measure(arguments, {}) > MAX_ANSWER_VALUES:
        problems.append(f"expected at most {MAX_ANSWER_VALUES} values, found more; all dropped")
        arguments = {}
    errors = check.errors(arguments)
    while refused := _refused(arguments, errors, check):
        problems += (f"{_shown(path)}: {reason}; dropped" for path, reason in refused.items())
        arguments = _without(arguments, refused)
        errors = check.errors(arguments)
    errors = _fill_nulls(arguments, errors, check)
    missing = [_dotted((*error.absolute_path, name)) for error, name in _needed(errors)]
    leaves = (leaf for error in errors for leaf in _leaves(error))
    problems += (f"{_shown(leaf.absolute_path)}: {_reason(leaf)}" for leaf in leaves if leaf.validator != "required")
    return Filled(arguments, tuple(dict.fromkeys(missing)), tuple(dict.fromkeys(problems)))


def validates(arguments: Any, schema: Mapping[str, Any], n_outputs: int) -> bool:
    """Whether arguments fit a schema with nothing missing, references to the first `n_outputs` calls accepted.

    Raises UnsupportedSchemaError and MissingExtraError as `settle` does.
    """
    check = Check(schema)
    dangling = False

    def unusable(path: Place, item: Any) -> bool:
        nonlocal dangling
        refused = _problem(path, item, n_outputs) is not None
        dangling |= refused
        return refused

    _rebuild(arguments, unusable)
    if not isinstance(arguments, dict) or dangling or measure(arguments, {}) > MAX_ANSWER_VALUES:
        return False
    return not check.errors(arguments)


def _problem(path: Place, item: Any, n_outputs: int) -> str | None:
    """Why a value cannot be an argument whatever the schema."""
    if len(path) > MAX_DEPTH:
        return f"nested more than {MAX_DEPTH} deep"
    try:
        check_scalar(path[-1])
        if not isinstance(item, dict | list):
            check_scalar(item)
    except ValueError as error:
        return str(error)
    if isinstance(item, str) and _LIKE_REFERENCE.fullmatch(item):
        match = REFERENCE.fullmatch(item)
        if match is None or int(match[1]) > n_outputs:
            return f"{quoted(item)} refers to a call that was not made ({n_outputs} were)"
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


def _refused(arguments: dict[str, Any], errors: Iterable[Any], check: Check) -> dict[Place, str]:
    """Places to be dropped with the reasons; empty once the arguments fit the schema but for what is missing."""
    wrong = [error for error in errors if not _is_missing(error)]
    leaves = [leaf for error in wrong for leaf in _leaves(error) if not _is_missing(leaf)]
    reasons = {place: _reason(leaf) for leaf in leaves for place in _culprits(leaf, check)}
    if wrong and not reasons:
        return {(name,): _reason(wrong[0]) for name in _superfluous(arguments, check)}
    return reasons


def _superfluous(arguments: dict[str, Any], check: Check) -> list[str]:
    """Properties to do without where the object as a whole is refused: the last one whose absence mends it, else the
    last one (what is left is looked at again), or of many as many of the last ones as it takes."""
    names = list(arguments)
    for name in reversed(names[-_TRIES:]):
        if _is_mended(_without(arguments, [(name,)]), check):
            return [name]
    count = 1
    while len(names) > max(count, _TRIES):
        count *= 2
        if _is_mended(_without(arguments, ((name,) for name in names[-count:])), check):
            break
    return names[-count:]


def _is_missing(error: Any) -> bool:
    """Whether an error only says that something is missing, or that alternatives cannot be told apart for that."""
    if error.validator in ("anyOf", "oneOf") and error.context:
        return any(all(map(_is_missing, branch)) for branch in _branches(error))
    return error.validator in ("required", "minProperties") or (_is_ambiguous(error) and not error.absolute_path)


def _is_ambiguous(error: Any) -> bool:
    """Whether several alternatives fit where one may."""
    return error.validator == "oneOf" and not error.context


def _is_mended(arguments: dict[str, Any], check: Check) -> bool:
    return all(map(_is_missing, check.errors(arguments)))


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


def _culprits(error: Any, check: Check) -> list[Place]:
    path: Place = tuple(error.absolute_path)
    if error.validator == "additionalProperties":
        return [(*path, name) for name in check.unexpected(error)]
    return [path] if path else []


def _needed(errors: Iterable[Any]) -> Iterator[tuple[Any, str]]:
    """Required properties that are not there, each with an error that says so."""
    seen: set[tuple[int, int]] = set()
    for error in errors:
        for leaf in _leaves(error):
            # There is an error for every name, and each holds the names of all.
            place = id(leaf.instance), id(leaf.validator_value)
            if leaf.validator == "required" and place not in seen:
                seen.add(place)
                yield from ((leaf, name) for name in leaf.validator_value if name not in leaf.instance)


def _fill_nulls(arguments: dict[str, Any], errors: list[Any], check: Check) -> list[Any]:
    """Puts null where required properties may be null, but makes no object of nulls alone. The errors that are left."""
    filled: list[tuple[dict[str, Any], str]] = []
    for error, name in _needed(errors):
        part = error.schema.get("properties", {}).get(name)
        if part is None or (error.absolute_path and not error.instance):
            continue
        if not check.errors(None, part) and check.errors(_DROPPED, part):  # where anything goes, null is not named
            error.instance[name] = None
            filled.append((error.instance, name))
    after = check.errors(arguments) if filled else errors
    if all(map(_is_missing, after)):
        return after
    for instance, name in filled:
        del instance[name]
    return errors


def _reason(error: Any) -> str:
    return shortened(error.message)


def _shown(path: Iterable[str | int]) -> str:
    return shortened(_dotted(path)) or "arguments"


def _dotted(path: Iterable[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
