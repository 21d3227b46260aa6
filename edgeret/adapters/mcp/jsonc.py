"""JSON as editors let people write it: with comments, trailing commas and a byte order mark. Read, and changed as text,
so that all else stays to the byte. Knows nothing of what stands in it."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from edgeret.records import dataclass

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_SPACE = re.compile(r"\s*")
_INDENT = re.compile(r"[{\[,]\s*?\n([ \t]+)")
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Object(dict[str, Any]):
    """A JSON object that remembers which of its keys stood there more than once; the last one counts."""

    twice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """A key of an object in a text, where its text begins, and where its value begins and ends."""

    key: str
    begin: int
    value: int
    end: int


def decoded(data: bytes) -> tuple[str, str]:
    """The text, and the codec that writes it back with its byte order mark. Raises UnicodeError, a ValueError."""
    codec = next((codec for mark, codec in _MARKS if data.startswith(mark)), "utf-8")
    return data.decode(codec), codec


def parse(text: str) -> Any:
    """The value. Raises ValueError as `json.loads` does, with the line in `text`, and RecursionError."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except ValueError:
        return json.loads(plain(text), object_pairs_hook=_object)


def plain(text: str) -> str:
    """Strict JSON of the same length, with blanks where comments and trailing commas stood."""
    return _COMMA.sub(_blank, _COMMENT.sub(_blank, text))


def members(text: str, start: int) -> list[Member]:
    """The members of the object that begins at `start`. `text` must have been parsed before."""
    strict, found, decoder = plain(text), list[Member](), json.JSONDecoder()
    at = _after_space(strict, start + 1)
    while strict[at] == '"':
        begin = at
        key, at = decoder.raw_decode(strict, at)
        value = _after_space(strict, _after_space(strict, at) + 1)
        _, end = decoder.raw_decode(strict, value)
        found.append(Member(key, begin, value, end))
        at = _after_space(strict, end)
        if strict[at] == ",":
            at = _after_space(strict, at + 1)
    return found


def spot(text: str, path: Sequence[str]) -> Member | None:
    """The member that a path of keys leads to, through objects; None where there is none."""
    at, found = _after_space(plain(text), 0), None
    for key in path:
        if text[at] != "{":
            return None
        found = next((member for member in reversed(members(text, at)) if member.key == key), None)
        if found is None:
            return None
        at = found.value
    return found


def added(text: str, start: int, key: str, value: str) -> str:
    """The text with one more member, the last one, in the object that begins at `start`; `value` is JSON, its lines
    without indent."""
    there = members(text, start)
    unit, depth = indent(text), _depth(text, start)
    newline = "\r\n" if "\r\n" in text else "\n"
    inner, outer = newline + unit * (depth + 1), newline + unit * depth
    member = f"{json.dumps(key, ensure_ascii=False)}: {value}".replace("\n", inner)
    if there:
        return f"{text[: there[-1].end]},{inner}{member}{text[there[-1].end :]}"
    rest = text[start + 1 :]
    return f"{text[: start + 1]}{inner}{member}{outer if rest.lstrip(' ').startswith('}') else ''}{rest}"


def removed(text: str, start: int, key: str) -> str:
    """The text without a member of the object that begins at `start`, nor the comma that parted it from others."""
    there = members(text, start)
    place = next(i for i in reversed(range(len(there))) if there[i].key == key)
    begin, end = there[place].begin, there[place].end
    commas = _COMMENT.sub(_blank, text)
    after = _after_space(commas, end)
    if commas[after] == ",":
        end = after + 1
    while text[begin - 1].isspace():
        begin -= 1
    if commas[after] != "," and place:
        comma = commas.index(",", there[place - 1].end)
        return text[:comma] + text[comma + 1 : begin] + text[end:]
    return text[:begin] + text[end:]


def indent(text: str) -> str:
    """What the text's author indents with; two blanks where nothing is."""
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _depth(text: str, start: int) -> int:
    before = _COMMENT.sub(lambda match: "" if match[0][0] in '"/' else match[0], text[:start])
    return before.count("{") + before.count("[") - before.count("}") - before.count("]")


def _object(pairs: list[tuple[str, Any]]) -> Object:
    found = Object(pairs)
    if len(found) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        found.twice = tuple(key for key, count in counts.items() if count > 1)
    return found


def _blank(match: re.Match[str]) -> str:
    return match[0] if match[0][0] == '"' else re.sub(r"[^\r\n]", " ", match[0])


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
