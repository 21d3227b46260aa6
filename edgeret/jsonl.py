"""Reads JSON and JSON-lines files and says exactly where one does not parse. Knows nothing of what the lines mean."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edgeret.errors import InputError


def read_text(path: Path, what: str) -> str:
    """The file as UTF-8 text (a byte-order mark is dropped). Raises InputError naming `what` the file should be."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; expected {what}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); expected {what}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); expected {what}") from None


def parse_objects(text: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields (`file:line`, object) for lines that are not blank. Raises InputError at the first that is no object."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            value = json.loads(line)
        except ValueError as error:
            raise InputError(f"{where}: not JSON ({error}); every line must be one JSON object") from None
        if not isinstance(value, dict):
            raise InputError(f"{where}: expected a JSON object, found {type(value).__name__}")
        yield where, value


def text_field(where: str, value: dict[str, Any], key: str) -> str:
    """`value[key]` as a string that is not blank. Raises InputError otherwise."""
    found = value.get(key)
    if not isinstance(found, str):
        raise InputError(
            f'{where}: "{key}" must be a string, found {type(found).__name__ if key in value else "nothing"}'
        )
    if not found.strip():
        raise InputError(f'{where}: "{key}" is empty')
    if not is_text(found):
        raise InputError(f'{where}: "{key}" holds half a surrogate pair, which no text can')
    return found


def is_text(value: str) -> bool:
    """Whether the string can be written as UTF-8; JSON lets halves of surrogate pairs through."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
