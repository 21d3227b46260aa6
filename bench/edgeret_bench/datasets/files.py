"""Reads the originals' files. A file that is missing or damaged is an error; a record in it may still be dirty."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.jsonl import read_text


def read_json(file: Path, what: str) -> Any:
    """The file's one JSON value. Raises InputError."""
    try:
        return json.loads(read_text(file, what))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not JSON ({error}); expected {what}") from None


def decoded(text: str) -> Any:
    """The JSON value that a record holds as text; None for text that is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_list(file: Path, what: str) -> list[Any]:
    """As `read_json`, for a file that must hold a list."""
    found = read_json(file, what)
    if not isinstance(found, list):
        raise InputError(f"{file}: expected a JSON list ({what}), found {type(found).__name__}")
    return found


def read_object(file: Path, what: str) -> dict[str, Any]:
    """As `read_json`, for a file that must hold an object."""
    found = read_json(file, what)
    if not isinstance(found, dict):
        raise InputError(f"{file}: expected a JSON object ({what}), found {type(found).__name__}")
    return found


def read_lines(file: Path, what: str) -> Iterator[Any]:
    """The JSON value of every line. Lines end with a line feed alone: JSON strings may hold the other separators."""
    for number, line in enumerate(read_text(file, what).split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{file}:{number}: not JSON ({error}); expected {what}, one a line") from None


def read_entries(file: Path, what: str) -> Iterator[tuple[str, Any]]:
    """Keys and values of one big JSON object, decoded one at a time, as the whole may not fit into memory."""
    text = read_text(file, what)
    decoder = json.JSONDecoder()

    def skip(at: int) -> int:
        while at < len(text) and text[at] in " \t\r\n":
            at += 1
        return at

    def expect(at: int, allowed: str) -> int:
        at = skip(at)
        if at >= len(text) or text[at] not in allowed:
            raise InputError(f"{file}: expected one of '{allowed}' at character {at}; is it {what}, and all of it?")
        return at

    at = skip(expect(0, "{") + 1)
    while text[at : at + 1] != "}":
        try:
            key, at = decoder.raw_decode(text, expect(at, '"'))
            value, at = decoder.raw_decode(text, skip(expect(at, ":") + 1))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file}: not JSON ({error}); expected {what}") from None
        yield key, value
        at = expect(at, ",}")
        if text[at] == ",":
            at = expect(at + 1, '"')


def read_table(file: Path, what: str) -> Iterator[dict[str, str]]:
    """Rows of a CSV file by the names in its first line. Raises InputError."""
    lines = read_text(file, what).split("\n")
    try:
        for row in csv.DictReader((line + "\n" for line in lines), strict=True):
            yield {str(key): value or "" for key, value in row.items() if isinstance(value, str | None)}
    except csv.Error as error:
        raise InputError(f"{file}: not CSV ({error}); expected {what}") from None


def read_parquet(file: Path) -> list[Any]:
    """The rows of a Parquet file. Raises InputError, also where pyarrow is missing."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InputError(
            f"{file}: reading Parquet needs pyarrow: pip install pyarrow (or convert it to JSONL)"
        ) from None
    try:
        return list(parquet.read_table(file).to_pylist())
    except (ArrowException, OSError) as error:
        raise InputError(f"{file}: cannot be read as Parquet ({error})") from None


def read_yaml(file: Path, what: str) -> dict[str, Any]:
    """The mapping that a YAML file holds. Raises InputError, also where PyYAML is missing."""
    try:
        from yaml import YAMLError, safe_load
    except ImportError:
        raise InputError(f"{file}: reading YAML needs PyYAML: pip install pyyaml") from None
    try:
        found = safe_load(read_text(file, what))
    except (YAMLError, ValueError, RecursionError) as error:
        told = " ".join(str(error).split())
        raise InputError(f"{file}: not YAML ({told}); expected {what}") from None
    if not isinstance(found, dict):
        raise InputError(f"{file}: expected a YAML mapping ({what}), found {type(found).__name__}")
    return found
