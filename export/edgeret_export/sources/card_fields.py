"""A card's fields, checked by type: each function raises InputError naming file and key. Knows no meaning of theirs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeret.errors import InputError


def is_inside(name: str) -> bool:
    """Whether a path stays inside the folder that it is relative to."""
    return bool(name) and not Path(name).is_absolute() and ".." not in Path(name).parts


def get_choice(path: Path, value: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> str:
    """The field `key`, which must be one of the `allowed`."""
    found = value.get(key)
    if found not in allowed:
        raise InputError(f'{path}: "{key}" must be one of {", ".join(allowed)}, found {found!r}')
    return str(found)


def get_text(path: Path, value: Mapping[str, Any], key: str) -> str:
    """The text `key`, which may be empty, or not there."""
    found = value.get(key, "")
    if not isinstance(found, str):
        raise InputError(f'{path}: "{key}" must be a str, found {found!r}')
    return found


def get_field(path: Path, value: Mapping[str, Any], key: str, kind: type) -> Any:
    """The field `key`, which must be of `kind` and not empty; a whole number must be above 0."""
    found = value.get(key)
    fine = isinstance(found, kind)
    if kind is int:
        fine = type(found) is int and found > 0
    if not fine or (not found and kind in (str, list, dict)):
        raise InputError(f'{path}: "{key}" must be a {kind.__name__} that is not empty, found {found!r}')
    return found
