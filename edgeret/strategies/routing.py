"""When a planner is worth its time: what `edgeret-export route` measured, and the file that keeps it. Knows nothing of
how anything is found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgeret.errors import BundleError, InputError
from edgeret.fields import get, get_number
from edgeret.inputs.jsonl import read_text
from edgeret.records import dataclass

MAX_MS = 1e7


@dataclass(frozen=True, slots=True)
class Route:
    """Search strategy "auto" asks a planner by `strategy` where no tool has a share of `ask_below`, if there are `ms`
    milliseconds left of its budget: what nine of ten such searches took."""

    strategy: str
    ask_below: float
    ms: float

    def to_dict(self) -> dict[str, Any]:
        """The route as JSON-ready data."""
        return asdict(self)

    @staticmethod
    def from_dict(value: Mapping[str, Any], where: str) -> Route:
        """Reads it back. Raises InputError."""
        try:
            return Route(
                get(value, "strategy", str, where),
                get_number(value, "ask_below", 0.0, 2.0, where),
                get_number(value, "ms", 0.0, MAX_MS, where),
            )
        except BundleError as error:
            raise InputError(str(error).replace("build the bundle again", _AGAIN)) from None


_AGAIN = "measure it again with: edgeret-export route"


def read_route(path: str | Path) -> Route:
    """The route in a file that `edgeret-export route` wrote. Raises InputError."""
    try:
        value = json.loads(read_text(Path(path), "a route as JSON"))
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not JSON; {_AGAIN}") from None
    if not isinstance(value, dict) or not isinstance(value.get("route"), dict):
        raise InputError(f'{path}: expected a JSON object with "route"; {_AGAIN}')
    return Route.from_dict(value["route"], str(path))
