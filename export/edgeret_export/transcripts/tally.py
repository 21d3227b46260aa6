"""What was skipped, why, how often, and where first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from edgeret.quoting import visible

MAX_ROWS, MAX_CHARS = 200, 200
"""Some reasons hold a stranger's word, of which there may be very many."""


@dataclass(slots=True)
class Tally:
    """Counts by (what, reason); `what` is one of: file, line, record, request, call, part, tool."""

    _rows: dict[tuple[str, str], list[Any]] = field(default_factory=dict)

    def add(self, what: str, reason: str, where: object) -> None:
        """One more of them, at `where`."""
        if len(reason) > MAX_CHARS or ((what, reason) not in self._rows and len(self._rows) >= MAX_ROWS):
            reason = "other reasons"
        self._rows.setdefault((what, reason), [0, str(where)])[0] += 1

    def rows(self) -> list[dict[str, Any]]:
        """JSON-ready, most frequent first."""
        listed = [
            {"what": what, "reason": visible(reason), "count": count, "first": first}
            for (what, reason), (count, first) in self._rows.items()
        ]
        return sorted(listed, key=lambda row: -int(row["count"]))
