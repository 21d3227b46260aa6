"""One plan that was learned, and the record that keeps it in an overlay. Knows nothing of files, nor of how anything is
learned from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from edgeret.errors import BundleError
from edgeret.fields import get, get_number, get_strings
from edgeret.inputs.hygiene import check_names
from edgeret.inputs.query import check_query
from edgeret.records import dataclass

Origin = Literal["accepted", "corrected", "demonstration"]
ORIGINS: tuple[Origin, ...] = ("accepted", "corrected", "demonstration")
MAX_TIME = 1e12
MAX_CALLS = 255
"""Of a plan that is learned."""


@dataclass(frozen=True, slots=True)
class LearnedPlan:
    """A plan that was learned. `query` is None where no words are kept, `learned_at` seconds since 1970."""

    id: int
    query: str | None
    calls: tuple[str, ...]
    origin: Origin
    learned_at: float


def read_plan(value: Mapping[str, Any], where: str) -> LearnedPlan:
    """What is told of a plan that was kept, checked. Raises BundleError and InputError."""
    query = value.get("query")
    origin = next((known for known in ORIGINS if known == value.get("origin")), None)
    if origin is None or not (query is None or isinstance(query, str)):
        raise BundleError(f"{where}: a plan whose origin or query is none")
    if query is not None:
        check_query(query, where)
    number = get(dict(value), "id", int, where)
    # A clock may be wrong by any number of years, before 1970 too; nothing but people read the time.
    at = max(0.0, get_number(value, "learned_at", -MAX_TIME, MAX_TIME, where))
    calls = get_strings(dict(value), "calls", where)
    check_names(calls, where)
    return LearnedPlan(number, query, calls, origin, at)
