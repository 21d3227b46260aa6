"""Hashes of the originals' files, as they were when somebody fetched them, or as independent public records have them.
Knows no dataset and reads no original.

`pins.json` has them by the place and the path of a file, so that a place of another revision has none until its files
are fetched and their hashes written down.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def read_pins() -> Mapping[str, Mapping[str, str]]:
    """The sha256 of files, 64 hexadecimal digits each, by KIND:PLACE and then by the path in that place."""
    pins: Mapping[str, Mapping[str, str]] = json.loads((files(__package__) / "pins.json").read_text(encoding="utf-8"))
    return pins


def find_pin(kind: str, place: str, path: str) -> str | None:
    """The sha256 of one file; None where it could not be had."""
    return read_pins().get(f"{kind}:{place}", {}).get(path)
