"""What tests of every language ask. Knows no language."""

from __future__ import annotations

from edgeret_export.reference.inputs.clauses import parts
from edgeret_export.reference.inputs.opposites import side_of, told


def asked(query: str) -> list[str]:
    """What a request asks for one after the other; nothing where that is one thing."""
    cut = parts(query)
    return [query[slice(*cut.spans[number])] for number in cut.wishes]


def on_sides(query: str, *words: str) -> bool:
    """Whether a request is on the sides of these English words and no others."""
    return told(query).sides == {side_of(word) for word in words}
