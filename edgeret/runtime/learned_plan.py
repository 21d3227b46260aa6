"""One plan that was learned, and the record that keeps it in an overlay. Knows nothing of files, nor of how anything is
learned from it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any, Literal

from edgeret.errors import BundleError
from edgeret.fields import get, get_number, get_strings
from edgeret.inputs.demonstrations import Demonstration
from edgeret.inputs.hygiene import check_names
from edgeret.inputs.query import check_query, plain
from edgeret.records import dataclass
from edgeret.types import Call

Origin = Literal["accepted", "corrected", "demonstration"]
ORIGINS: tuple[Origin, ...] = ("accepted", "corrected", "demonstration")
MAX_TIME = 1e12
MAX_CALLS = 255
"""Of a plan that is learned."""
Key = tuple[str, tuple[str, ...]]
"""What makes two plans one: the query, and its calls."""


@dataclass(frozen=True, slots=True)
class LearnedPlan:
    """A plan that was learned. `query` is None where no words are kept, `learned_at` seconds since 1970."""

    id: int
    query: str | None
    calls: tuple[str, ...]
    origin: Origin
    learned_at: float

    @property
    def demonstration(self) -> Demonstration:
        """The same as a demonstration, where its words were kept."""
        return Demonstration(f"learned-{self.id}", str(self.query), tuple(map(Call, self.calls)))


def keyed(plans: Iterable[LearnedPlan]) -> dict[Key, LearnedPlan]:
    """Those whose words were kept, by what makes two plans one."""
    return {(plain(plan.query), plan.calls): plan for plan in plans if plan.query is not None}


def callable_here(plans: Iterable[LearnedPlan], tools: Container[str]) -> list[LearnedPlan]:
    """Those that call nothing but these tools."""
    return [plan for plan in plans if all(name in tools for name in plan.calls)]


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
