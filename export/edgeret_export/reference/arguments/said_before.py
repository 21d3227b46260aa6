"""The values that earlier calls took, as a request may say them again. Knows nothing of requests."""

from __future__ import annotations

from collections.abc import Sequence

from edgeret.types import REFERENCE, Call


def values_of(calls: Sequence[Call], tool: str) -> tuple[set[str], set[str], dict[str, set[str]]]:
    """Values of earlier calls in lower case: of all; of those of one tool; and of the others, by parameter."""
    said: set[str] = set()
    taken: set[str] = set()
    named: dict[str, set[str]] = {}
    for call in calls:
        for name, value in call.arguments.items():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, str | int | float) and not isinstance(one, bool):
                    said.add(str(one).lower())
                    if call.tool == tool:
                        taken.add(str(one).lower())
                    else:
                        named.setdefault(name, set()).add(str(one).lower())
    return said, taken, named


def earlier_values(calls: Sequence[Call], tool: str) -> tuple[list[str], list[str]]:
    """Values of earlier calls in lower case, sorted: of all of them, and of those of one tool."""
    said, taken, _ = values_of(calls, tool)
    return sorted(one for one in said if not REFERENCE.fullmatch(one)), sorted(taken)
