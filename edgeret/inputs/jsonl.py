"""Reads JSON and JSON-lines files and says exactly where one does not parse. Knows nothing of what the lines mean."""

from __future__ import annotations

import json
import math
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from edgeret.errors import InputError
from edgeret.quoting import quoted

MAX_DEPTH = 32
"""Objects and arrays inside each other, at most, in a function's parameters and arguments. Of 7,494 functions of six
public sets none has more than 7."""
_MOST_BITS = 1024
_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "an array", dict: "an object"}
_ALIKE = 0.8
"""`link` and `links`, `querry` and `query` are more alike than this; `lines` and `links` are not."""


def read_text(path: Path, what: str) -> str:
    """The file as UTF-8 text (a byte-order mark is dropped). Raises InputError naming `what` the file should be."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, what, error) from None


def read_objects(path: Path, what: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """`parse_objects` of a file, line by line: the text of a million demonstrations need not be in memory at once.
    Raises InputError as `read_text` does, too, for the first line that is no text."""
    start = here = 0
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                begin = len(BOM_UTF8) if number == 1 and line.startswith(BOM_UTF8) else 0
                start, here = start + len(line), start + begin
                if text := line[begin:].decode().strip():
                    yield _object(text, f"{path}:{number}")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, what, error, here) from None


def _unreadable(path: Path, what: str, error: OSError | UnicodeDecodeError, before: int = 0) -> InputError:
    """What is wrong with a file; `before` is the number of bytes before those that could not be decoded."""
    if isinstance(error, UnicodeDecodeError):
        return InputError(f"{path}: not UTF-8 text (byte {before + error.start}); expected {what}")
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: no such file; expected {what}")
    return InputError(f"{path}: cannot be read ({error.strerror}); expected {what}")


def decode(text: str | bytes) -> Any:
    """Decoded JSON. Raises ValueError, and nothing else, for what is no JSON or more than Python can decode."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_objects(text: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields (`file:line`, object) for lines that are not blank. Raises InputError at the first that is no object.

    Lines end with a line feed alone: JSON strings may hold all other separators as they are.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _object(line, f"{path}:{number}")


def _object(line: str, where: str) -> tuple[str, dict[str, Any]]:
    try:
        value = decode(line)
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({error}); every line must be one JSON object") from None
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected a JSON object, found {json_type(value)}; give one object a line")
    return where, value


def refuse_misspelling(
    where: str, value: dict[str, Any], key: str, kind: type[Any], others: tuple[str, ...] = ()
) -> None:
    """Raises InputError if `key` is missing and another one was written for it, whose value would be left out
    silently: what `misspelt` finds."""
    if (found := misspelt(value, key, kind, others)) is not None:
        raise InputError(f'{where}: unknown key {quoted(found)}; did you mean "{key}"?')


def misspelt(value: Mapping[str, Any], key: str, kind: type[Any], others: tuple[str, ...] = ()) -> str | None:
    """What was written for a `key` that is missing: a key with a value of `kind` which, but for case and dashes, is one
    of `others` or resembles `key`. All other keys are their owner's business."""
    if key in value:
        return None
    return next((name for name, item in value.items() if isinstance(item, kind) and _means(name, key, others)), None)


@lru_cache(maxsize=1024)
def _means(found: str, key: str, others: tuple[str, ...]) -> bool:
    plain_name = found.lower().replace("_", "").replace("-", "")
    if plain_name in others or plain_name == key:
        return True
    from difflib import SequenceMatcher

    return len(found) < 2 * len(key) and SequenceMatcher(None, plain_name, key).ratio() > _ALIKE


def json_type(value: object) -> str:
    """What JSON calls a decoded value's type: users read JSON, not Python."""
    if value is None:
        return "null"
    for kind, name in _KINDS.items():
        if isinstance(value, kind):
            return name
    return type(value).__name__


def text_field(where: str, value: dict[str, Any], key: str) -> str:
    """`value[key]` as a string that is not blank. Raises InputError otherwise."""
    found = value.get(key)
    if not isinstance(found, str):
        raise InputError(f'{where}: "{key}" must be a string, found {json_type(found) if key in value else "nothing"}')
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


def plain(value: Any, max_bytes: int, max_depth: int = MAX_DEPTH) -> Any:
    """A copy of `value` in dicts, lists, strings, finite numbers, booleans and None, as JSON would give it back.

    Raises ValueError, saying why, for what JSON cannot hold, for what holds itself, and for what is nested more than
    `max_depth` deep or has more than `max_bytes` as UTF-8 JSON without spaces.
    """
    return json.loads(plain_text(value, max_bytes, max_depth))


def plain_text(value: Any, max_bytes: int, max_depth: int = MAX_DEPTH) -> str:
    """`plain` as JSON without spaces. Raises ValueError as it does."""
    waiting = [(value, 0)]
    room = max_bytes
    while waiting and room >= 0:
        item, depth = waiting.pop()
        if isinstance(item, dict) or (not isinstance(item, str | list) and isinstance(item, Mapping)):
            for key in item:
                if not isinstance(key, str):
                    raise ValueError("a key is no string")
                room -= len(key)
                if not key.isascii():
                    check_scalar(key)
            inner: Collection[Any] = item.values()
        elif isinstance(item, list | tuple):
            inner = item
        else:
            # What is shared is written again wherever it stands, so it is counted again.
            if isinstance(item, str):
                room -= len(item)
                if item.isascii():
                    continue
            else:
                room -= 1
            check_scalar(item)
            continue
        if inner and depth == max_depth:
            raise ValueError(f"nested more than {max_depth} deep")
        room -= len(inner)
        waiting += [(thing, depth + 1) for thing in inner]
    text = json.dumps(value, ensure_ascii=False, default=dict, separators=(",", ":")) if room >= 0 else ""
    if room < 0 or len(text.encode()) > max_bytes:
        raise ValueError(f"more than {max_bytes} bytes as JSON")
    return text


def check_scalar(item: Any) -> None:
    """Raises ValueError unless JSON can hold this text, number, truth value or None, and others can read it."""
    if isinstance(item, str):
        if not is_text(item):
            raise ValueError("half a surrogate pair, which no text can hold")
    elif isinstance(item, float):
        if not math.isfinite(item):
            raise ValueError(f"{item} is not a number of JSON")
    elif isinstance(item, int):
        if item.bit_length() > _MOST_BITS:
            raise ValueError("an integer of more than 300 digits")
    elif item is not None:
        raise ValueError(f"a {type(item).__name__} is nothing that JSON can hold")


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")


def list_field(where: str, value: dict[str, Any], key: str) -> list[Any]:
    """`value[key]` as a list. Raises InputError otherwise."""
    found = value.get(key)
    if not isinstance(found, list):
        raise InputError(f'{where}: "{key}" must be a list, found {json_type(found) if key in value else "nothing"}')
    return found
