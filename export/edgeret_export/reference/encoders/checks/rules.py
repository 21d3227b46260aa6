"""What fields of a tokenizer.json may hold, in words and as tests, and components made of such fields. Knows nothing of
tokenizers beyond that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

MAX_CHARACTERS, MAX_IDS, MAX_PREFIX, MAX_STEPS = 256, 8, 16, 8
MAX_COUNT = 1 << 20

Rule = tuple[str, Callable[[Any], bool]]
"""What a field must be, in words and as a test of any JSON value."""
Rules = Mapping[str, Rule]


def one_of(*words: str) -> Rule:
    """One of these texts."""
    return " or ".join(words), lambda value: value in words


def number(low: int, high: int) -> Rule:
    """A whole number in this range, both ends included."""
    return f"an integer from {low} to {high}", lambda value: type(value) is int and low <= value <= high


def of_type(name: str, kind: type[Any]) -> Rule:
    """A value of a Python type, which is called `name` in messages."""
    return name, lambda value: type(value) is kind


def or_null(rule: Rule) -> Rule:
    """What `rule` lets through, or null."""
    return f"{rule[0]} or null", lambda value: value is None or rule[1](value)


FLAG, OBJECT, ARRAY = of_type("true or false", bool), of_type("an object", dict), of_type("an array", list)
TEXT: Rule = (f"a text of at most {MAX_CHARACTERS} characters", lambda v: type(v) is str and len(v) <= MAX_CHARACTERS)
PREFIX: Rule = (f"a text of at most {MAX_PREFIX} characters", lambda v: type(v) is str and len(v) <= MAX_PREFIX)
COUNT, TYPE_ID = number(0, MAX_COUNT), number(0, 255)
DIRECTION = one_of("Left", "Right")
NAMED_ID: Rule = (
    "a token and its id",
    lambda v: type(v) is list and len(v) == 2 and TEXT[1](v[0]) and COUNT[1](v[1]),
)
SOME_IDS: Rule = (
    f"1 to {MAX_IDS} ids",
    lambda v: type(v) is list and 0 < len(v) <= MAX_IDS and all(COUNT[1](item) for item in v),
)
SOME_TEXTS: Rule = (
    f"1 to {MAX_IDS} texts",
    lambda v: type(v) is list and 0 < len(v) <= MAX_IDS and all(TEXT[1](item) for item in v),
)
PADDING_STRATEGY: Rule = (
    'BatchLongest or {"Fixed": length}',
    lambda v: v == "BatchLongest" or (type(v) is dict and list(v) == ["Fixed"] and COUNT[1](v["Fixed"])),
)


def check_fields(value: Any, rules: Rules, name: str, optional: Collection[str] = ()) -> None:
    """Makes sure that `value` is an object with these fields and no other."""
    if type(value) is not dict:
        raise ValueError(f"{name} must be an object, found {type(value).__name__}")
    for key in value:
        if key not in rules:
            raise ValueError(f"{name} has an unknown field {quote(key)}, known are {', '.join(rules) or 'none'}")
    for key, (expected, fits) in rules.items():
        if key not in value and key not in optional:
            raise ValueError(f'{name} lacks "{key}"')
        if key in value and not fits(value[key]):
            raise ValueError(f'{name}: "{key}" must be {expected}')


def check_component(value: Any, kinds: Mapping[str, Rules], name: str, optional: Collection[str] = ()) -> str:
    """Makes sure that `value` is one of `kinds`, and says which; fields named in `optional` may be missing."""
    found = value.get("type") if type(value) is dict else None
    if type(found) is not str or found not in kinds:
        raise ValueError(f"{name} {quote(found)} is not allowed, expected one of {', '.join(kinds)}")
    fields = {key: value[key] for key in value if key != "type"}
    check_fields(fields, kinds[found], f"{name} {found}", optional)
    return found


def check_steps(
    value: Any, kinds: Mapping[str, Rules], name: str, key: str, optional: Collection[str] = ()
) -> list[dict[str, Any]]:
    """A component, several in a row, or none: as a list. Rows in rows are refused, since each would multiply the
    work."""
    if value is None:
        return []
    steps = [value]
    if value.get("type") == "Sequence":
        check_component(value, {"Sequence": {key: ARRAY}}, name)
        steps = value[key]
        if len(steps) > MAX_STEPS:
            raise ValueError(f"{name} Sequence: expected {MAX_STEPS} steps at most, found {len(steps)}")
    for step in steps:
        check_component(step, kinds, name, optional)
    return steps


def quote(value: Any) -> str:
    """A value as messages show it: the beginning of a text, the type of anything else."""
    return repr(value)[:60] if type(value) is str else type(value).__name__
