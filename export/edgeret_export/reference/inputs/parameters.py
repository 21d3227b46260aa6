"""What one parameter of a tool takes: its kind, the words by which users lead to it, its unit. By its name, type,
format and description alone. Knows nothing of requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from edgeret.inputs.needs import FINDERS
from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import words
from edgeret.types import Tool
from edgeret_export.reference.inputs.measures import UNITS

_APART_WORDS = (
    "$schema $id $defs definitions $comment type title description properties required additionalProperties examples "
    "default deprecated minProperties maxProperties"
)
APART = frozenset(_APART_WORDS.split(" "))
"""Keywords of a tool's schema under which each parameter stands for itself, or that only count them."""
MOST_PARAMETERS = 400
"""Of a tool, the first ones."""
MOST_CHOICES = 400
_BY_FORMAT = {
    **{"email": "email", "idn-email": "email", "uri": "url", "iri": "url", "url": "url", "uri-reference": "url"},
    **{"date": "when", "time": "when", "date-time": "when", "duration": "duration"},
}
_BY_NAME = (
    ("email", "email mail e-mail"),
    ("url", "url uri link website webpage href"),
    ("phone", "phone mobile telephone tel"),
    ("id", "id ids identifier uuid guid iban bic isbn imei sku barcode"),
    ("command", "command cmd"),
    ("path", "path paths file files filename folder directory"),
    ("duration", "duration"),
    ("when", "time date day when start end due deadline until since after before from_date datetime birthday expires"),
    ("text", "text message body content comment note notes reply answer caption sentence"),
    (
        "place",
        "place location city town country countries destination origin address street near region area airport station",
    ),
    ("person", "person guest recipient attendee attendees sender author payee owner member user customer artist"),
)
_BY_TOLD = (
    ("email", r"e-?mail address"),
    ("phone", r"phone number"),
    ("id", r"\b(?:ids?|identifiers?) (?:of|from)\b|_id\b|\bfrom [\w.]+[_.-]\w+"),
    ("when", r"\b(?:day|date|time|when|clock time|first day|last day)\b(?! of the month)"),
    ("place", r"\b(?:town|city|place|where|country|region|address)\b"),
    ("person", r"\b(?:name of the (?:person|guest|payer|recipient)|who|person|first name|full name)\b"),
)
_CALENDAR = frozenset(("second", "minute", "hour", "day", "week", "month", "year", "min", "sec"))
_PREPOSITIONS = {
    **dict.fromkeys(
        ("from", "origin", "source", "sender", "since", "start", "after", "begin", "check_in"), "from since after"
    ),
    **dict.fromkeys(("to", "destination", "target", "recipient", "folder", "receiver"), "to into onto for"),
    **dict.fromkeys(("until", "end", "till", "check_out", "expires", "valid_until"), "until till to through"),
    **dict.fromkeys(("due", "by", "before", "deadline"), "by before until for due"),
    **dict.fromkeys(
        ("near", "place", "location", "town", "city", "where", "area", "region"), "in at near around to for of"
    ),
    **dict.fromkeys(("room", "rooms"), "in of"),
    **dict.fromkeys(("title", "name", "new_name", "called"), "called named as"),
    **dict.fromkeys(("topic", "subject", "about", "keywords", "reason", "what"), "about on regarding for of"),
    **dict.fromkeys(("artist", "author"), "by from of"),
    **dict.fromkeys(("language",), "into in to"),
    **dict.fromkeys(("time", "day", "date", "when"), "on at for from of"),
    **dict.fromkeys(("period", "week"), "for this"),
    **dict.fromkeys(("with", "attendee", "attendees", "guest"), "with for to"),
}


class Parameter(NamedTuple):
    """`kind` is one of email, url, phone, id, path, duration, when, text, place, person, number, boolean, choice, list
    of objects and objects being "nested", and "" for any words. `stems` are those of the name, `told` those of the
    description. `led` are words in front of a value; `unit` is as in UNITS. `schema` is that of one value, so that of
    the items where `many`. `part` is "day" or "time" where the other one is not wanted with it. `shapes` are
    those of the examples that description and schema give. `inside` is the one property that an object of a list must
    have, where that is a text: then `schema` is its own, and a value stands for such an object. `parted`: whether all
    examples that a description quotes have parts with commas between them."""

    name: str
    schema: Mapping[str, Any]
    whole: Mapping[str, Any]
    required: bool
    many: bool
    kind: str
    stems: frozenset[str]
    told: frozenset[str]
    led: frozenset[str]
    unit: tuple[str, float] | None
    described: str
    part: str = ""
    shapes: frozenset[str] = frozenset()
    inside: str = ""
    parted: bool = False


def counted(tool: Tool, given: int) -> bool:
    """Whether a tool takes so many arguments."""
    least, most = (tool.parameters.get(name) for name in ("minProperties", "maxProperties"))
    is_enough = not isinstance(least, int | float) or given >= least
    return is_enough and (not isinstance(most, int | float) or given <= most)


def parameters(tool: Tool) -> tuple[Parameter, ...]:
    """A tool's parameters, in order. Worked out once for each tool that is asked about."""
    return _parameters(Same(tool))


class Same:
    """A tool as a key: itself, and no other that looks like it."""

    __slots__ = ("tool",)

    def __init__(self, tool: Tool) -> None:
        self.tool = tool

    def __hash__(self) -> int:
        return id(self.tool)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.tool is other.tool


@lru_cache(512)
def _parameters(key: Same) -> tuple[Parameter, ...]:
    properties, required = key.tool.parameters.get("properties"), key.tool.parameters.get("required")
    if not isinstance(properties, Mapping):
        return ()
    needed = {name for name in required if isinstance(name, str)} if isinstance(required, list | tuple) else set()
    given = list(properties.items())
    given.sort(key=lambda pair: pair[0] not in needed)  # the order of equals stays
    finds = not FINDERS.isdisjoint(words(name_in_words(key.tool.name)))
    found = tuple(
        _parameter(str(name), schema, name in needed, finds)
        for name, schema in given[:MOST_PARAMETERS]
        if isinstance(schema, Mapping)
    )
    parts = {_part(one) for one in found}
    return tuple(
        one._replace(part=part) if (part := _part(one)) and (_is_formed(one) or len(parts - {""}) > 1) else one
        for one in found
    )


def _part(one: Parameter) -> str:
    """Whether a parameter's format, the form that its description names, or its name tells a day or a time."""
    if one.kind != "when" or one.schema.get("format") == "date-time":
        return ""
    match = _FORMED.search(one.described)
    form = one.schema.get("format") or (match[0].upper() if match else "")
    if form:
        has_day, has_time = form == "date" or "DD" in form, form == "time" or "HH" in form
        return "" if has_day and has_time else "day" if has_day else "time"
    spelt = set(name_in_words(one.name).lower().split())
    return "day" if spelt & {"day", "date", "birthday"} else "time" if spelt & {"time", "hour", "clock"} else ""


def _is_formed(one: Parameter) -> bool:
    return isinstance(one.schema.get("format"), str) or _FORMED.search(one.described) is not None


_FORMED = re.compile(r"[YMD]{2,4}[-/.][MD]{2}[-/.][YD]{2,4}(?:[T ]HH:MM)?|HH:MM", re.IGNORECASE)


def _parameter(name: str, whole: Mapping[str, Any], required: bool, finds: bool) -> Parameter:
    schema = plain(whole)
    many = schema.get("type") == "array"
    inner = schema.get("items") if many else schema
    item = plain(inner) if isinstance(inner, Mapping) else {}
    inside = _needed_text(item) if many else ""
    if inside:
        item = {"description": item.get("description"), **plain(item["properties"][inside])}
    told = " ".join(text for one in (whole, item if many else {}) if isinstance(text := one.get("description"), str))
    spelt = name_in_words(name).lower().split()
    stems = frozenset(words(" ".join(spelt)))
    led = " ".join(_PREPOSITIONS.get(word, "") for word in (*spelt, name.lower()))
    kind = _kind(spelt, item, told)
    # Who looks something up by words may do so by any of several kinds: "name, e-mail or number".
    if finds and (
        kind == "text" or (kind in ("email", "phone") and not item.get("format") and _has_others(spelt, told))
    ):
        kind = ""
    return Parameter(
        *(name, item, whole, required, many, kind, stems, frozenset(words(told)), frozenset(led.split())),
        *(_unit(spelt, told) if kind == "number" else None, told, "", _shapes(item, told)),
        *(inside, _is_parted(told)),
    )


_OF_OBJECTS = frozenset(("type", "properties", "required", "additionalProperties", "title", "description"))
"""Keywords of an object that needs no more than its properties."""


def _needed_text(schema: Mapping[str, Any]) -> str:
    """The one property that an object must have, if it is any text; "" otherwise."""
    needed, properties = schema.get("required"), schema.get("properties")
    if not isinstance(needed, list) or len(needed) != 1 or not isinstance(properties, Mapping):
        return ""
    if not _OF_OBJECTS.issuperset(schema):
        return ""
    inner = properties.get(needed[0])
    is_text = isinstance(inner, Mapping) and plain(inner).get("type") == "string" and "enum" not in plain(inner)
    return str(needed[0]) if is_text else ""


def _shapes(schema: Mapping[str, Any], told: str) -> frozenset[str]:
    """The shapes of examples that have more than letters, "a/a" of "group/name"."""
    listed = schema.get("examples")
    found = [one for one in listed[:_MOST_EXAMPLES] if isinstance(one, str)] if isinstance(listed, list) else []
    found += [match[1] for match in _QUOTED.finditer(told)] + _MARKED.findall(told)
    return frozenset(shape for one in found if not (shape := shape_of(one)).isalpha() and " " not in shape)


def _is_parted(told: str) -> bool:
    shown = [match[1] for match in _QUOTED.finditer(told)]
    return bool(shown) and all(", " in one for one in shown)


def shape_of(said: str) -> str:
    """Words with one letter for all their letters, and numbers with one digit."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", said))


_MOST_EXAMPLES = 8
_QUOTED = re.compile(r"[\"“'`]([^\"”'`]{2,40})[\"”'`]")
_MARKED = re.compile(r"(?:such as|example|e\.g\.|like) ([\w./#:@-]*\d[\w./#:@-]*\w)")


def _has_others(spelt: list[str], told: str) -> bool:
    """Whether a value may be of other kinds than the one that a description names first."""
    return not {"email", "mail", "phone", "mobile"} & set(spelt) and re.search(r",|\bor\b", told) is not None


def _unit(spelt: list[str], told: str) -> tuple[str, float] | None:
    """What a number counts. A `day` or a `year` is one of a calendar, `days` and `years` are many."""
    said: list[str] = []
    for listed in (spelt, re.findall(r"[^\W\d_]+", told.lower())):
        # "Price a night, in euros" counts no nights.
        said += [word for before, word in zip(["", *listed], listed, strict=False) if before not in _EACH]
    if _SHARE.search(told):
        return "%", 100.0
    return next((UNITS[word] for word in said if word in UNITS and len(word) > 1 and word not in _CALENDAR), None)


_EACH = frozenset(("a", "an", "per", "each", "every"))
_SHARE = re.compile(r"\b0?\.\d+ (?:for|means|is|=) \d+(?:\.\d+)? ?(?:%|percent|per cent)", re.IGNORECASE)
"""What tells that 5 % is .05: "e.g. 0.05 for 5%"."""


def plain(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The one of some alternatives that is not null, where there is one such; the schema itself otherwise."""
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list) and "type" not in schema and "enum" not in schema:
            kept = [one for one in options if isinstance(one, Mapping) and one.get("type") != "null"]
            if len(kept) == 1:
                return {**{k: v for k, v in schema.items() if k != key}, **kept[0]}
    kinds = schema.get("type")
    if isinstance(kinds, list):
        named = [kind for kind in kinds if kind != "null"]
        return {**schema, "type": named[0]} if len(named) == 1 else schema
    return schema


def _kind(spelt: list[str], schema: Mapping[str, Any], told: str) -> str:
    kind = schema.get("type")
    if isinstance(schema.get("enum"), list):
        return "choice"
    if kind == "boolean":
        return "boolean"
    if kind in ("number", "integer"):
        return "number"
    if kind in ("object", "array") or "properties" in schema:
        return "nested"
    if isinstance(told_format := schema.get("format"), str) and told_format in _BY_FORMAT:
        return _BY_FORMAT[told_format]
    said = {word.rstrip("0123456789") for word in spelt}
    by_name = next((found for found, names in _BY_NAME if not said.isdisjoint(names.split())), "")
    if by_name in ("email", "url", "id", "phone"):
        return by_name
    by_told = next((found for found, pattern in _BY_TOLD if re.search(pattern, told, re.IGNORECASE)), "")
    if by_told in ("email", "phone", "id"):
        return by_told
    return by_name or by_told
