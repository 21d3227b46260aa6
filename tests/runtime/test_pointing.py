"""What a request points at instead of naming it, and what only stands behind a "that"."""

from __future__ import annotations

import pytest

from edgeret_export.reference.arguments.pointing import is_pointed_at, points
from edgeret_export.reference.inputs.chunks import Chunk, chunks, leads_of


@pytest.mark.parametrize(
    ("query", "said", "kind", "pointed"),
    [
        ("uninstall that game", "game", "", True),
        ("the news of that show", "news", "", True),
        ("move these holiday photos", "holiday photos", "path", True),
        ("play that song", "song", "text", True),
        ("save that Sam owes me 20", "Sam owes me 20", "text", False),
        ("text Ines that my phone is broken", "my phone is broken", "text", False),
        ("mail him that lunch is off", "lunch is off", "text", False),
        ("the mail that Mei Lin sent", "Mei Lin", "person", False),
        ("book a room with it tomorrow", "tomorrow", "when", False),
    ],
)
def test_what_is_pointed_at_and_what_is_told(query: str, said: str, kind: str, pointed: bool) -> None:
    found = chunks(query)
    units = found.reading.units
    first = next(i for i, unit in enumerate(units) if unit.start == query.index(said))
    last = next(i for i, unit in enumerate(units, 1) if unit.end == query.index(said) + len(said))
    assert points(units)
    assert (
        is_pointed_at(units, Chunk("chunk", first, last, leads_of(found.reading, first), 0, False, False), kind)
        is pointed
    )
