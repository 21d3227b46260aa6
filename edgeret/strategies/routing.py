"""When a planner is worth its time: what `edgeret-export lab route` measured, and the file that keeps it. Knows nothing
of how anything is found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgeret.errors import BundleError, InputError
from edgeret.fields import get, get_number
from edgeret.inputs.jsonl import read_text
from edgeret.records import dataclass
from edgeret.types import Hit

MAX_MS = 1e7


@dataclass(frozen=True, slots=True)
class Route:
    """Search strategy "auto" asks a planner by `strategy` where the first tool is `contested`: where another one has at
    least that part of its share (0: always; above 1: never). A strategy that reads tools one by one reads these alone.
    It asks if there are `ms` milliseconds left of its budget: what nine of ten such searches took."""

    strategy: str
    contested: float
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
                get_number(value, "contested", 0.0, 2.0, where),
                get_number(value, "ms", 0.0, MAX_MS, where),
            )
        except BundleError as error:
            raise InputError(str(error).replace("build the bundle again", _AGAIN)) from None


_AGAIN = "measure it again with: edgeret-export lab route"


def contested(hits: Sequence[Hit], least: float) -> list[int]:
    """Where the hits stand that have at least `least` times the largest share; nowhere if that is more than all of
    it."""
    if least > 1:
        return []
    shares = [hit.share or 0.0 for hit in hits]
    bar = least * max(shares, default=0.0)
    return [i for i, share in enumerate(shares) if share >= bar]


def read_route(path: str | Path) -> Route:
    """The route in a file that `edgeret-export lab route` wrote. Raises InputError."""
    try:
        value = json.loads(read_text(Path(path), "a route as JSON"))
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not JSON; {_AGAIN}") from None
    if not isinstance(value, dict) or not isinstance(value.get("route"), dict):
        raise InputError(f'{path}: expected a JSON object with "route"; {_AGAIN}')
    return Route.from_dict(value["route"], str(path))
