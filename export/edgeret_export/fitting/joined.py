"""Two requests joined to one that asks for both, as people do. Knows nothing of tools, vectors and fits."""

from __future__ import annotations

import random
from collections.abc import Sequence

from edgeret.inputs.demonstrations import Demonstration

MOST, LONGEST = 30, 12
"""Joined requests of one set at most, and the words that each half may have."""
_LEAST = 4
"""Requests of one call that a set must have for any to be joined."""
_BETWEEN = (" and ", ", then ", ". also ", " and then ", ". ", ", ", " and also ", " then ", "; ", ". then ", " plus ")


def joined(name: str, demonstrations: Sequence[Demonstration]) -> tuple[Demonstration, ...]:
    """Requests that were made of two different ones of one call each, which differ in the tool. Always the same for a
    set's `name` and plans."""
    single = [d for d in demonstrations if len(d.calls) == 1 and len(d.query.split()) <= LONGEST]
    if len(single) < _LEAST:
        return ()
    rng, found = random.Random(f"{name} {len(single)} joined"), []
    for number in range(MOST):
        one, other = rng.sample(single, 2)
        if one.calls[0].tool != other.calls[0].tool:
            query = _join(one.query, other.query, rng.choice(_BETWEEN))
            found.append(Demonstration(f"joined-{number}", query, (*one.calls, *other.calls)))
    return tuple(found)


def _join(one: str, other: str, between: str) -> str:
    """Both in one breath; inside a sentence the second begins small, unless it is an abbreviation."""
    if between != ". " and not other[:2].isupper():
        other = other[:1].lower() + other[1:]
    return one.rstrip(" .!?") + between + other
