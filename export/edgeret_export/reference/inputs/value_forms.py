"""Words as a parameter's schema wants them: numbers in its unit, days by a clock, texts. What the schema refuses, or
may refuse by a rule that is not known here, is no value. Knows nothing of requests and of which words are meant."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from edgeret.types import REFERENCE
from edgeret_export.reference.inputs.amounts import amount_of
from edgeret_export.reference.inputs.date_forms import DATE_TIME, TIME, as_named, moment, named_form, shown_form
from edgeret_export.reference.inputs.dates import ALONE, Around, day_of
from edgeret_export.reference.inputs.measures import MADE, MONEY
from edgeret_export.reference.inputs.parameters import Parameter, plain


class _Missing:
    """No value's class."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()
"""No value: None may be one."""
MOST_CHARS = 2000
"""Of a value's text."""
_KNOWN = (
    "$comment title description default examples deprecated readOnly writeOnly nullable example type enum const "
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format items minItems "
    "maxItems uniqueItems contentEncoding contentMediaType"
)
_SAYS_NOTHING = frozenset(_KNOWN.split(" "))
"""Keywords that are checked, or that refuse nothing. Whoever has others may refuse anything."""
_TYPES: Mapping[str, type | tuple[type, ...]] = {"string": str, "boolean": bool, "array": list, "object": dict}
_EMAIL = re.compile(r"[^\s@<>()\",:;\\\[\]]+@[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)+")
_URI = re.compile(r"[a-z][a-z0-9+.-]*:[^\s<>\"{}|\\^`]+", re.IGNORECASE)
_URI_REFERENCE = re.compile(r"[^\s<>\"{}|\\^`]+")
_FORMATS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("email", "idn-email"), _EMAIL),
    **dict.fromkeys(("uri", "iri", "url"), _URI),
    **dict.fromkeys(("uri-reference", "iri-reference"), _URI_REFERENCE),
    "uuid": re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "time": TIME,
    "date-time": DATE_TIME,
    "duration": re.compile(r"P(?=.)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=.)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)"),
    "ipv4": re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}"),
    "hostname": re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})(?:\.[A-Za-z0-9][A-Za-z0-9-]{0,62}){0,8}"),
}
_SPACED = ("code", "phone")


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a schema surely takes a value. A reference to an output fits everywhere, since nobody knows it yet."""
    if isinstance(value, str) and REFERENCE.fullmatch(value):
        return True
    if not _is_known(schema):
        return False
    if value is None:
        return schema.get("nullable") is True or schema.get("type") == "null"
    if not _of_type(value, schema.get("type")):
        return False
    if "enum" in schema and not any(_same(value, one) for one in _listed(schema["enum"])):
        return False
    if "const" in schema and not _same(value, schema["const"]):
        return False
    if isinstance(value, str):
        return _text_fits(value, schema)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number_fits(value, schema)
    if isinstance(value, list):
        return _list_fits(value, schema)
    return not isinstance(value, dict)


def _is_known(schema: Mapping[str, Any]) -> bool:
    return _SAYS_NOTHING.issuperset(schema) and isinstance(schema.get("items", True), Mapping | bool)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _same(value: Any, other: Any) -> bool:
    """Equal as JSON, where true is not 1."""
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


def _of_type(value: Any, kinds: Any) -> bool:
    if kinds is None:
        return True
    for kind in [kinds] if isinstance(kinds, str) else _listed(kinds):
        if kind in ("number", "integer"):
            if (
                isinstance(value, int | float)
                and not isinstance(value, bool)
                and (kind == "number" or value == int(value))
            ):
                return True
        elif isinstance(kind, str) and kind in _TYPES and isinstance(value, _TYPES[kind]):
            return True
    return False


_BOUNDS: Mapping[str, Callable[[float, float], bool]] = {
    **{"minimum": operator.ge, "maximum": operator.le, "exclusiveMinimum": operator.gt, "exclusiveMaximum": operator.lt}
}


def _number_fits(value: float, schema: Mapping[str, Any]) -> bool:
    for key, holds in _BOUNDS.items():
        bound = schema.get(key)
        if bound is None:
            continue
        if isinstance(bound, bool):  # draft 4: exclusive of the other bound
            other = schema.get("minimum" if key == "exclusiveMinimum" else "maximum")
            if bound and value == other:
                return False
        elif not isinstance(bound, int | float) or not holds(value, bound):
            return False
    step = schema.get("multipleOf")
    if step is None:
        return True
    if not isinstance(step, int | float) or isinstance(step, bool) or not step > 0:
        return False
    return Decimal(str(value)) % Decimal(str(step)) == 0


def _text_fits(value: str, schema: Mapping[str, Any]) -> bool:
    if not value.strip() or len(value) > MOST_CHARS:
        return False
    least, most = schema.get("minLength", 0), schema.get("maxLength", MOST_CHARS)
    if not isinstance(least, int) or not isinstance(most, int) or not least <= len(value) <= most:
        return False
    told = schema.get("format")
    if isinstance(told, str) and told in _FORMATS and not _FORMATS[told].fullmatch(value):
        return False
    if told == "date" and day_of(value, None) is None:
        return False
    if told == "date-time" and day_of(value[:10], None) is None:
        return False
    if "pattern" not in schema:
        return True
    pattern = safe_pattern(schema["pattern"]) if isinstance(schema["pattern"], str) else None
    return pattern is not None and len(value) <= _MATCHED and pattern.search(value) is not None


_MATCHED, _LONGEST, _MOST_UNBOUNDED = 200, 300, 2


@lru_cache(512)
def safe_pattern(pattern: str) -> re.Pattern[str] | None:
    """A schema's pattern, where it says the same here as in JavaScript and no text can make it take long; else None."""
    # A repeat within a repeat, a look around or a way back is what makes a pattern slow, and a group may be repeated.
    if len(pattern) > _LONGEST or re.search(r"\\[1-9kpPAZG]|\(\?(?!:)|\)[*+{]|[*+}][+]|\[\[|&&|--", pattern):
        return None
    plain_text = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "x", pattern)
    if len(re.findall(r"[*+]|\{\d*,\}", plain_text)) > _MOST_UNBOUNDED:
        return None
    if any(int(number) > _MATCHED for number in re.findall(r"[{,](\d+)(?=[,}])", plain_text)):
        return None
    try:
        # `$` is the very end, and `\d` a digit of ASCII, as in other languages.
        return re.compile(re.sub(r"(?<!\\)\$(?![\]])", r"\\Z", pattern), re.ASCII)
    except (re.error, RecursionError, OverflowError):
        return None


def _list_fits(value: list[Any], schema: Mapping[str, Any]) -> bool:
    least, most = schema.get("minItems", 0), schema.get("maxItems", len(value))
    if not isinstance(least, int) or not isinstance(most, int) or not least <= len(value) <= most:
        return False
    if schema.get("uniqueItems") and len({json.dumps(one, sort_keys=True) for one in value}) < len(value):
        return False
    items = schema.get("items", True)
    if isinstance(items, bool):
        return items or not value
    return all(fits(one, items) for one in value)


def form(
    said: str,
    kind: str,
    parameter: Parameter,
    now: datetime | None,
    past: bool = False,
    glossed: str | None = None,
    on: Around = ALONE,
) -> Any:
    """What some words, which match a pattern of `kind`, are as one value of a parameter; MISSING for what they are
    not. `glossed` are these words in English, where they are in another language, and `on` is what stands around
    a time."""
    schema = parameter.schema
    glossed = said if glossed is None else glossed
    if REFERENCE.fullmatch(said):
        return MISSING  # who says "$out_1" gets no output by that
    if parameter.kind == "number":
        value: Any = _number(glossed, kind, parameter)
    else:
        value = _text(said, kind, schema, parameter, now, past, glossed, on)
        if value is said and kind in _SPACED and not fits(value, schema):
            value = re.sub(r"[ ()/-]", "", said)  # the spaces of an IBAN and of a phone number say nothing
    return value if value is not MISSING and fits(value, schema) else MISSING


def _text(
    said: str,
    kind: str,
    schema: Mapping[str, Any],
    parameter: Parameter,
    now: datetime | None,
    past: bool,
    glossed: str,
    on: Around,
) -> Any:
    told = schema.get("format")
    named, shown = (named_form(parameter.described), shown_form(parameter)) if told is None else (None, None)
    if told in ("date", "time", "date-time") or named is not None:
        given = (
            moment(glossed, str(told or "date"), now, past, on)
            if named is None
            else as_named(glossed, named, now, past, on)
        )
        if given is not None:
            return given
        return MISSING if named is None or parameter.kind == "when" else said
    if told == "duration":
        return _iso_duration(glossed)
    if shown is not None:
        given = as_named(glossed, shown, now, past, on)
        no_day = given is None and _FORMATS["date"].fullmatch(glossed)  # 2022-13-45
        return MISSING if no_day else said if given is None else given
    return said


def _iso_duration(said: str) -> Any:
    """A length of time as ISO 8601 writes it."""
    amount = amount_of(said)
    if amount is None or amount[1] not in ("s", "mo") or amount[0] != int(amount[0]):
        return MISSING
    number = int(amount[0])
    if amount[1] == "mo":
        return f"P{number}M"
    days, seconds = divmod(number, 86400)
    hours, minutes, seconds = seconds // 3600, seconds % 3600 // 60, seconds % 60
    clock = "".join(f"{count}{letter}" for count, letter in ((hours, "H"), (minutes, "M"), (seconds, "S")) if count)
    return f"P{f'{days}D' if days else ''}{f'T{clock}' if clock else ''}" if number else "PT0S"


def _number(said: str, kind: str, parameter: Parameter) -> Any:
    amount = amount_of(said)
    if amount is None:
        return _extreme(said, parameter)
    number, dimension = amount
    unit = parameter.unit
    if dimension is not None and unit is not None:
        if dimension == "m" and unit[0] in MONEY and said[-1] in "kKmM" and not said[-2:].isalpha():
            number *= 1 if said[-1] in "kK" else 1_000_000  # "350k" is 350,000 metres, too
        elif dimension != unit[0]:
            return _made(number, dimension, unit, parameter)
        number /= Decimal(str(unit[1]))
    elif dimension in ("s", "mo") and kind in ("duration", "measure"):
        return MISSING  # a length of time for what counts something else
    whole = number == int(number)
    if parameter.schema.get("type") == "integer" and not whole:
        return MISSING
    return int(number) if whole else float(number)


def _made(number: Decimal, dimension: str, unit: tuple[str, float], parameter: Parameter) -> Any:
    """A measure in another unit, to a thousandth; MISSING where none makes the other. What a year has in days, and a
    euro in dollars, nobody says here; and per cent of a euro is no euro."""
    times, over = MADE.get((dimension, unit[0])), MADE.get((unit[0], dimension))
    if times is None and over is None:
        return MISSING
    told = float(number) * times if times is not None else float(number) / (over or 1.0)
    thousandths = round(told / unit[1] * 1000.0)
    if (parameter.schema.get("type") == "integer" and thousandths % 1000) or not 0 < abs(thousandths) < 10**12:
        return MISSING
    return thousandths // 1000 if thousandths % 1000 == 0 else thousandths / 1000.0


EXTREMES: Mapping[str, str] = {
    **dict.fromkeys(("max", "maximum", "full", "highest", "loudest", "brightest"), "maximum"),
    **dict.fromkeys(("minimum", "lowest", "quietest", "mute", "muted", "muting", "silent", "silence"), "minimum"),
}
"""Words for an end of a scale, and the schema's keyword for that end."""


def _extreme(said: str, parameter: Parameter) -> Any:
    """An end of a scale from 0 on, such as a loudness in per cent; of what counts in a unit nobody says it so."""
    end, schema = EXTREMES.get(said.lower()), parameter.schema
    if end is None or schema.get("minimum") != 0 or (parameter.unit is not None and parameter.unit[0] != "%"):
        return MISSING
    return schema.get(end, MISSING)


def listed(values: Sequence[Any], parameter: Parameter) -> Any:
    """Several values as a parameter takes them; MISSING for what its schema refuses."""
    found = [value for i, value in enumerate(values) if value not in values[:i]]
    whole = plain(parameter.whole)
    items = parameter.schema if parameter.inside else whole.get("items", {})
    if not found or not fits(found, {**whole, "items": items}):
        return MISSING
    return [{parameter.inside: value} for value in found] if parameter.inside else found
