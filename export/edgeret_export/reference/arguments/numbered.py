"""Which numbers of a request belong to something else than the parameter that asks: the 4 of "fridge 4" is no
temperature, nor is any bare number where 41 F is said and degrees Celsius are asked for. "Baker Street" is no address
where "12 Baker Street" is said. Knows nothing of signs and of scores."""

from __future__ import annotations

from collections.abc import Sequence

from edgeret_export.reference.inputs.amounts import amount_of
from edgeret_export.reference.inputs.chunks import Chunk, Chunks
from edgeret_export.reference.inputs.measures import MONEY
from edgeret_export.reference.inputs.parameters import Parameter
from edgeret_export.reference.inputs.streets import is_street
from edgeret_export.reference.inputs.units import Match

_NUMBERING = frozenset((*"#.", "no", "nr", "nº", "number", "num"))
"""What may stand between a thing's name and its number."""
_DEGREES = frozenset(("degrees", "degree", "deg", "°"))
_NUMBERED = frozenset(("number", "id"))
_SAME = ({"C", "F"}, {"m", "mi"}, {"g", "lb"}, MONEY)
"""Units of one quantity, of which none is made from another."""
_STREETS = frozenset(("address", "street", "adress", "straß", "dirección"))
"""Stems of what has a number in its values."""
_BEFORE_STREETS = frozenset(("to", "from", "at", "in", "near"))


_THAN_NOW_WORDS = (
    "warmer cooler colder hotter louder quieter softer brighter dimmer darker "
    "wärmer kälter kühler lauter leiser heller dunkler"
)
_THAN_NOW = frozenset(_THAN_NOW_WORDS.split(" "))
_HIGHER = frozenset(("higher", "lower", "höher", "niedriger"))
_WARMTH = frozenset(("temperatur", "celsiu", "fahrenheit"))
"""The same of what is a temperature, by its stems; of prices and angles they may be what is asked for."""
_OF_CHANGE = frozenset(("degrees", "degree", "deg", "°", "c", "f", "percent", "%", "points", "steps", "notches"))
"""What may stand between a number and these."""
_CHANGE_STEMS = "chang step relativ delta offset increas decreas differenc adjust shift down"
_CHANGES = frozenset(_CHANGE_STEMS.split(" "))
"""Of what takes a difference."""
_THING_WORDS = "night nights people guests adults kids children tickets rooms seats beds persons"
_THINGS = frozenset(_THING_WORDS.split(" "))
_OFTEN = frozenset(("times", "once", "twice", "x"))
_SIZE, _PAIR = 3, 2
_MEASURES = ("duration", "measure", "percent", "money")
_BARE = ("number", "chunk")
"""Kinds of chunks that may be the number of a measure without its unit."""


def is_part(found: Chunks, parameter: Parameter, wanted: Sequence[Parameter], chunk: Chunk) -> bool:
    """Whether a chunk is a part of an account's number; the day of "once a day", and the 4 of "4x daily" where no
    number is asked for; or a part of "13x18", where no two of the parameters that are `wanted` are numbers."""
    matches = found.reading.matches
    if any(serial.cuts(chunk) for serial in matches.get("serial", ())):
        return True
    units = found.reading.units[max(chunk.first - 1, 0) : chunk.first + 1]
    if chunk.kind in ("duration", "measure") and len(units) > 1 and units[0].lower in _OFTEN and units[1].lower == "a":
        return True
    is_other = parameter.kind not in ("number", "duration") and chunk.kind == "number"
    if is_other and (_is_often(found, chunk) or _begins_range(found, chunk)):
        return True
    if parameter.kind == "number" and sum(one.kind == "number" for one in wanted) >= _PAIR:
        return False
    sizes = (one for one in matches.get("code", ()) if one.last - one.first == _SIZE and one.cuts(chunk))
    return any(found.reading.units[one.first + 1].lower == "x" for one in sizes)


def is_no_number(found: Chunks, parameter: Parameter, wanted: Sequence[Parameter], chunk: Chunk) -> bool:
    """Whether a chunk cannot be the number that a parameter asks for, one of all that are `wanted`: 150 of "150 pounds"
    for what counts in another unit, and what is another's."""
    if parameter.kind == "number" and _is_change(found, parameter, chunk):
        return True
    whole: tuple[str, ...] = _MEASURES if chunk.kind in _BARE and parameter.unit is not None else ()
    whole = ("duration", "measure", "money") if chunk.kind in ("measure", "duration") else whole
    if any(match.cuts(chunk) for kind in whole for match in found.reading.matches.get(kind, ())):
        return True
    if chunk.kind not in _BARE:
        return False
    if _is_in_thousands(found, chunk):
        return True
    if _is_of_measure(found, parameter, wanted, chunk) or (parameter.unit is not None and _is_often(found, chunk)):
        return True
    if (
        _counts_things(found, parameter, chunk)
        or _counts_otherwise(found, parameter)
        or _is_warmth(found, parameter, chunk)
    ):
        return True
    if parameter.kind != "number":
        return False
    if _begins_range(found, chunk) or (parameter.unit is None and _is_interval(found, chunk)):
        return True
    return _is_others(found, parameter, wanted, chunk) or _is_of_house(found, wanted, chunk)


def _is_in_thousands(found: Chunks, chunk: Chunk) -> bool:
    """Whether a letter right behind a number says more of it: the 350 of "350k", the 3 of "£3m"."""
    behind = found.reading.units[chunk.last : chunk.last + 1]
    if not behind or behind[0].start != found.reading.units[chunk.last - 1].end:
        return False
    money = found.reading.matches.get("money", ())
    return behind[0].lower == "k" or (behind[0].lower == "m" and any(one.cuts(chunk) for one in money))


def _is_change(found: Chunks, parameter: Parameter, chunk: Chunk) -> bool:
    """Whether a number is a difference from what is now, "2 degrees warmer" and "turn it up by 2", for what takes none:
    nobody wants a room at two degrees."""
    units, at = found.reading.units, chunk.last
    while at < len(units) and units[at].lower in _OF_CHANGE:
        at += 1
    behind = units[at].lower if at < len(units) else ""
    by = chunk.first > 0 and units[chunk.first - 1].lower == "by"
    told = parameter.stems | parameter.told
    is_change = behind in _THAN_NOW or (not _WARMTH.isdisjoint(told) and (by or behind in _HIGHER))
    return is_change and _CHANGES.isdisjoint(told)


def _is_of_measure(found: Chunks, parameter: Parameter, wanted: Sequence[Parameter], chunk: Chunk) -> bool:
    """Whether a bare number is in a unit that another parameter counts: the 2 of "2 ml" is not how often."""
    if parameter.unit is not None or parameter.kind != "number":
        return False
    counted = {one.unit[0] for one in wanted if one.unit is not None}
    for kind in _MEASURES if counted else ():
        for match in found.reading.matches.get(kind, ()):
            if match.cuts(chunk) and (told := amount_of(found.reading.glossed(match.first, match.last))) is not None:
                same = next((one for one in _SAME if told[1] in one), {told[1]})
                if not counted.isdisjoint(same):
                    return True
    return False


def _counts_things(found: Chunks, parameter: Parameter, chunk: Chunk) -> bool:
    """Whether a number counts what stands behind it, and money is asked for: "2 nights" are no two euros."""
    behind = found.reading.units[chunk.last].lower if chunk.last < len(found.reading.units) else ""
    return behind in _THINGS and parameter.unit is not None and parameter.unit[0] in MONEY


def _begins_range(found: Chunks, chunk: Chunk) -> bool:
    """Whether a number is an hour from which a range begins: the 10 of "10-11am" and of "from 10 to 11"."""
    units, at = found.reading.units, chunk.last + 1
    is_led = chunk.first > 0 and units[chunk.first - 1].lower in ("from", "between")
    if at >= len(units) or not (is_led or units[chunk.last].text in ("-", "–")):
        return False
    times = [time for time in found.reading.matches.get("time", ()) if time.first == at]
    if is_led and any(time.last == at + 1 and "." in units[at].text for time in times):
        return False  # "between 6.0 and 6.15 mm"
    return bool(times)


def _is_interval(found: Chunks, chunk: Chunk) -> bool:
    """Whether a bare number is of what passes between: "every 8 hours" is not eight times."""
    said = found.reading.units[chunk.first - 1].lower if chunk.first else ""
    return said == "every" and any(one.cuts(chunk) for one in found.reading.matches.get("duration", ()))


def _is_often(found: Chunks, chunk: Chunk) -> bool:
    """Whether a bare number says how often: "3 times", "2x daily", "once a day"."""
    units = found.reading.units
    behind = [unit.lower for unit in units[chunk.last : chunk.last + 2]]
    return (
        behind[:1] in (["times"], ["daily"])
        or units[chunk.first].lower in ("once", "twice")
        or (len(behind) > 1 and behind[0] == "x" and behind[1] in ("a", "daily", "per", "each", "every"))
    )


def _is_others(found: Chunks, parameter: Parameter, wanted: Sequence[Parameter], chunk: Chunk) -> bool:
    """Whether a bare number stands right behind the name of another one of the parameters that are `wanted`, which may
    take it."""
    units, at = found.reading.units, chunk.first - 1
    while at >= 0 and units[at].lower in _NUMBERING and found.stems[at] not in parameter.stems:
        at -= 1
    name = found.stems[at] if at >= 0 else ""
    if any(one.first <= at < one.last for one in found.reading.matches.get("measure", ())):
        return False  # the cm of "140 cm 12 deg"
    if not name or name in parameter.stems or name in parameter.told:
        return False
    return any(
        name in one.stems if one.kind in _NUMBERED else not one.kind and one.stems == {name}
        for one in wanted
        if one.name != parameter.name
    )


def _counts_otherwise(found: Chunks, parameter: Parameter) -> bool:
    """Whether what a parameter counts is said in another unit of the same quantity, so that a bare number is something
    else."""
    reading, unit = found.reading, parameter.unit
    same = next((one for one in _SAME if unit is not None and unit[0] in one), None)
    if unit is None or same is None:
        return False
    for kind in ("measure", "money"):
        for match in reading.matches.get(kind, ()):
            told = amount_of(reading.glossed(match.first, match.last))
            if told is not None and told[1] != unit[0] and told[1] in same:
                return True
    return False


def _is_warmth(found: Chunks, parameter: Parameter, chunk: Chunk) -> bool:
    """Whether a bare number is in degrees, for what counts in another unit."""
    if parameter.unit is None or parameter.unit[0] in ("C", "F"):
        return False
    units = found.reading.units
    return chunk.last < len(units) and units[chunk.last].lower in _DEGREES


def lacks_number(found: Chunks, parameter: Parameter, wanted: Sequence[Parameter], chunk: Chunk) -> bool:
    """Whether words are a street without the number that is said with it, or a place beside a street for the one
    address that is asked for; or a run of capitals has such a number in
    front where no address is asked for."""
    if _takes_streets(parameter):
        others = [one for one in _numbered(found) if one[1:] != chunk[1:3]]
        if any(one.holds(chunk) for one in others):
            return True
        units, alone = found.reading.units, sum(_takes_streets(one) for one in wanted) == 1
        alone = alone and not _STREETS.isdisjoint(parameter.stems)
        return alone and any(
            (chunk.last <= one.first or one.last <= chunk.first) and is_street(units[one.first : one.last])
            for one in others
        )
    return chunk.kind == "name" and found.reading.units[chunk.first].text[0].isdecimal()


def _takes_streets(parameter: Parameter) -> bool:
    return not _STREETS.isdisjoint(parameter.stems | parameter.told)


def _numbered(found: Chunks) -> list[Match]:
    """Runs of capitals with numbers."""
    units = found.reading.units
    return [
        Match(one.kind, one.first, one.last)
        for one in found.chunks
        if one.kind == "name" and any(unit.text[0].isdecimal() for unit in units[one.first : one.last])
    ]


def _is_of_house(found: Chunks, wanted: Sequence[Parameter], chunk: Chunk) -> bool:
    """Whether a number is one of a street that somebody goes to: "to 12 Baker Street"."""
    if not any(_takes_streets(one) for one in wanted):
        return False
    units = found.reading.units
    return any(
        one.holds(chunk)
        and (units[max(one.first, 1) - 1].lower in _BEFORE_STREETS or is_street(units[one.first : one.last]))
        for one in _numbered(found)
    )
