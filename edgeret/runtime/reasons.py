"""In words, which parts a decision rests on: those that have weight, and no others. Knows nothing of requests."""

from __future__ import annotations

from collections.abc import Sequence

BY_TOOLS = "most probable by the tools' names, descriptions and flow"
UNDEMONSTRATED = f"{BY_TOOLS}; nothing was demonstrated"
LEARNED = "what was learned here"
NONE_FITS = "no tool fits"
BESIDE_TURNS = ", beside earlier turns"
SURE = ", sure enough without the full encoder"


def listed(names: Sequence[str]) -> str:
    """The names as people list them."""
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)
