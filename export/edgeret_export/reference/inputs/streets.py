"""Where a street stands with its number in front: "12 Baker Street". Knows nothing of tools."""

from __future__ import annotations

from collections.abc import Iterator

from edgeret_export.reference.inputs.units import Reading

_COUNTED = ("phone", "date", "time", "duration", "percent", "money", "measure", "serial")


def streets(reading: Reading) -> Iterator[tuple[str, int, int]]:
    """Runs of capitals with a number in front that is no day's, no time's and no amount's."""
    units = reading.units
    counted = [match for kind in _COUNTED for match in reading.matches.get(kind, ())]
    for name in reading.matches.get("name", ()):
        at = name.first - 1
        if at >= 0 and units[at].text[0].isdecimal() and not any(one.first <= at < one.last for one in counted):
            yield "name", at, name.last
