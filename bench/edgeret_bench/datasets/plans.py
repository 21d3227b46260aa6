"""What readers of plans share: references, orders, and calls written as text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from edgeret_bench.datasets.collect import UNREADABLE, DirtyError

_CALL = re.compile(r"\s*([^\s(]+)\s*\((.*)\)\s*", re.DOTALL)
_NAME = r"[A-Za-z_]\w*"
BACKWARDS = "refers to a call that is not before it"


def refer(value: Any, pattern: re.Pattern[str], find: Callable[[str], int]) -> tuple[Any, set[int]]:
    """The value with its references as "$out_k", and the calls they lead to, counted from 0.

    `pattern` has one group; `find` makes a call's position out of it. References inside longer strings are renamed
    too, although edgeret takes only whole strings for references.
    """
    found: set[int] = set()

    def rename(match: re.Match[str]) -> str:
        found.add(find(match[1]))
        return f"$out_{find(match[1]) + 1}"

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(rename, value)
        if isinstance(value, list):
            return [walk(item) for item in value]
        if isinstance(value, dict):
            return {key: walk(item) for key, item in value.items()}
        return value

    return walk(value), found


def order_calls(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """An order in which i comes before j for every edge (i, j); of the calls that are ready, the first as written.

    Raises DirtyError when calls wait for each other.
    """
    edges = set(edges)
    order: list[int] = []
    while len(order) < count:
        waiting = {j for i, j in edges if i not in order}
        ready = [i for i in range(count) if i not in order and i not in waiting]
        if not ready:
            raise DirtyError("calls that wait for each other")
        order.append(ready[0])
    return order


def parse_call(text: str, parameters: Mapping[str, Collection[str]]) -> tuple[str, dict[str, Any]]:
    """Name and arguments of `name(key='value', …)` whose quotes are not escaped, so that no Python reads it.

    `parameters` maps tools to the names of their parameters, which show where arguments begin. A quoted value is a
    string as it stands. Raises DirtyError.
    """
    match = _CALL.fullmatch(text)
    if match is None:
        raise DirtyError(UNREADABLE)
    name, inside = match[1], match[2].strip()
    if not inside:
        return name, {}
    keys = "|".join(sorted(map(re.escape, parameters.get(name, ())), key=len, reverse=True))
    known = rf"(?:^|,)\s*['\"]?({keys or _NAME})['\"]?\s*=\s*"
    # A name that the tool does not have begins an argument only where a value has just ended and another begins.
    name_and_sign = rf"\s*['\"]?({_NAME})['\"]?\s*=\s*"
    unknown = rf"(?<=['\"\])}}\d]),{name_and_sign}(?=['\"\[({{\d-])|^{name_and_sign}"
    starts = list(re.finditer(f"{known}|{unknown}" if keys else known, inside))
    if not starts or starts[0].start() != 0:
        raise DirtyError(UNREADABLE)
    ends = [start.start() for start in starts[1:]] + [len(inside)]
    values = [parse_value(inside[start.end() : end].strip()) for start, end in zip(starts, ends, strict=True)]
    return name, dict(zip((start[start.lastindex or 0] for start in starts), values, strict=True))


def parse_value(text: str) -> Any:
    """A quoted text without its quotes, a literal of Python or JSON as its value, anything else as text."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
    return value if isinstance(value, str | int | float | bool | list | dict | None) else text
