"""What is told of learning. Knows nothing of how anything is learned."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from edgeret.records import dataclass


@dataclass(frozen=True, slots=True)
class LearnReport:
    """What learning did: plans `learned` now, plans `stored` in all, whether what was learned is `used` (it is muted
    while it does worse than the bundle alone), in words `status`, and the `size_bytes` that it takes."""

    learned: int
    stored: int
    used: bool
    status: str
    size_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data."""
        return asdict(self)
