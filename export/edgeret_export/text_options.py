"""The options of commands that are fitted to many people's texts, and the file that they write."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edgeret.errors import InputError
from edgeret.inputs.jsonl import read_text


def add_texts(command: argparse.ArgumentParser) -> None:
    """Adds where texts come from, and the file to write."""
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="[NAME=]FOLDER",
        help="requests and descriptions of tools.jsonl and demonstrations.jsonl in a folder; several times",
    )
    command.add_argument(
        "--texts", action="append", default=[], metavar="FILE", help="a text a line; may be given several times"
    )
    command.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")


def read_texts(arguments: argparse.Namespace) -> Iterator[str]:
    """The lines of the files with texts, blank ones too. Raises InputError for a file that cannot be read."""
    for told in arguments.texts:
        yield from read_text(Path(told), "a text a line").split("\n")


def write_file(arguments: argparse.Namespace, data: bytes) -> Mapping[str, Any]:
    """Writes the file, and tells its name, hash and size. Raises InputError where it cannot be written."""
    path = Path(arguments.output)
    try:
        path.write_bytes(data)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    return {"file": str(path), "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
