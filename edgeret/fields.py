"""Fields of decoded maps, checked by type and range. Knows nothing of where a map came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from edgeret.errors import BundleError


def get(value: Mapping[str, Any], key: str, kind: type[Any] | tuple[type[Any], ...], where: str) -> Any:
    """`value[key]`, which must be of `kind`. Raises BundleError otherwise."""
    found = value.get(key)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(found, kinds) or (isinstance(found, bool) and bool not in kinds):
        expected = " or ".join(k.__name__ for k in kinds)
        raise BundleError(f'{where}: "{key}" must be {expected}, found {type(found).__name__}; build the bundle again')
    if isinstance(found, float) and not math.isfinite(found):
        raise BundleError(f'{where}: "{key}" is not finite; build the bundle again')
    return found


def get_number(value: Mapping[str, Any], key: str, low: float, high: float, where: str) -> float:
    """`value[key]` as a number in [low, high]. Raises BundleError otherwise."""
    found = get(value, key, (int, float), where)
    if not low <= found <= high:
        raise BundleError(
            f'{where}: "{key}" must lie between {low:g} and {high:g}, found {short(found)}; build the bundle again'
        )
    return float(found)


def get_strings(value: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """`value[key]` as a tuple of strings. Raises BundleError."""
    found = get(value, key, list, where)
    if not all(isinstance(item, str) for item in found):
        raise BundleError(f'{where}: "{key}" must hold strings only; build the bundle again')
    return tuple(found)


def short(value: object) -> str:
    """A value for an error message, cut where a forger made it long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
