"""When two arguments are the same: what a fit, and a planner's trial, take for right. Knows nothing of calls."""

from __future__ import annotations

from typing import Any


def comparable(value: Any) -> Any:
    """The value without regard to case and white space."""
    return " ".join(value.split()).casefold() if isinstance(value, str) else value


def same(value: Any, other: Any) -> bool:
    """Whether two values are the same. Nothing is the same as None, and true is not 1."""
    if isinstance(value, list) and isinstance(other, list):
        return [comparable(one) for one in value] == [comparable(one) for one in other]
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    return value is not None and bool(comparable(value) == comparable(other))
