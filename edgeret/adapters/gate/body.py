"""A request's body: read, and written again with fewer tools and every other byte as it was. Knows no tools."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, islice
from json import JSONDecoder
from typing import Any

from edgeret import without_hidden
from edgeret.records import dataclass

MOST_MARKS = 600_000
_TURN = 5000
_MARKS = (b",", b":", b"[", b"{", b'"')
_MARK_OR_TEXT = re.compile(rb'[,:\[{]|"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_TEXT = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SPACE = " \t\r\n"
_decode = JSONDecoder().raw_decode


class NoBodyError(ValueError):
    """A body that is not what it should be; the message says what it is."""


@dataclass(frozen=True, slots=True)
class Body:
    """Where in `raw` the array `tools` and each of its elements begin and end; without tools `spans` are empty."""

    raw: bytes
    array: tuple[int, int]
    spans: tuple[tuple[int, int], ...]

    @property
    def tools_text(self) -> bytes:
        """The array `tools` as it came."""
        return self.raw[slice(*self.array)]

    def with_tools(self, kept: Collection[int], hiding: Collection[int] = ()) -> bytes:
        """The body with these of the tools alone, each as it came; but for those that are `hiding` something, whose
        texts are written again without it."""
        begin, end = self.array
        found = ((i, self.raw[slice(*self.spans[i])]) for i in sorted(kept))
        shown = b",".join(_without_hidden(text) if i in hiding else text for i, text in found)
        return b"".join((self.raw[:begin], b"[", shown, b"]", self.raw[end:]))


def read_body(raw: bytes) -> tuple[Body, Mapping[str, Any]]:
    """The body of a request, and the fields of its object. Raises NoBodyError for what is no JSON object, nests too
    deeply, holds too many values, or names its tools twice: another reader could then take the other ones."""
    if _has_too_many(raw):
        raise NoBodyError(f"more than {MOST_MARKS} values and marks of JSON")
    try:
        text = raw.decode()
        fields, array, spans = _read(text)
    except UnicodeDecodeError:
        raise NoBodyError("not UTF-8") from None
    except RecursionError:
        raise NoBodyError("nested too deeply") from None
    except NoBodyError:
        raise
    except (ValueError, IndexError):
        raise NoBodyError("not JSON") from None
    if not text.isascii():
        begin, *inner, end = _in_bytes(text, [array[0], *chain.from_iterable(spans), array[1]])
        array, spans = (begin, end), tuple(zip(inner[::2], inner[1::2], strict=True))
    return Body(raw, array, spans), fields


def _without_hidden(written: bytes) -> bytes:
    """A value's JSON with every text in it that hides something written again; all else stays as it is."""

    def shown(match: re.Match[str]) -> str:
        text: str = json.loads(match[0], strict=False)
        clean = without_hidden(text)
        return match[0] if clean == text else json.dumps(clean, ensure_ascii=False)

    return _TEXT.sub(shown, written.decode()).encode()


def _has_too_many(raw: bytes) -> bool:
    """Whether there are so many values that decoding them would cost many times the body. Marks in texts do not count,
    but are looked for only where all marks together are too many."""
    if sum(raw.count(mark) for mark in _MARKS) <= MOST_MARKS:
        return False
    found, turns = _MARK_OR_TEXT.finditer(raw), range(0, MOST_MARKS, _TURN)  # between two turns other threads go on
    return all(next(islice(found, _TURN - 1, None), None) is not None for _ in turns)


def _in_bytes(text: str, places: Sequence[int]) -> list[int]:
    """Rising places in the text, as places in its UTF-8."""
    found, at, place = [], 0, 0
    for next_place in places:
        at += len(text[place:next_place].encode())
        place = next_place
        found.append(at)
    return found


def _read(text: str) -> tuple[dict[str, Any], tuple[int, int], tuple[tuple[int, int], ...]]:
    at = _skip(text, 0)
    if text[at] != "{":
        raise NoBodyError("not a JSON object")
    fields: dict[str, Any] = {}
    array: tuple[int, int] = (0, 0)
    spans: tuple[tuple[int, int], ...] = ()
    at = _skip(text, at + 1)
    while text[at] != "}":
        if fields:
            at = _skip(text, _after(text, at, ","))
        _after(text, at, '"')
        key, end = _decode(text, at)
        at = _skip(text, _after(text, _skip(text, end), ":"))
        if key == "tools":
            if key in fields:
                raise NoBodyError("it has tools twice")
            value, end, spans = _array(text, at)
            array = (at, end)
        else:
            value, end = _decode(text, at)
        fields[key] = value
        at = _skip(text, end)
    if text[at + 1 :].strip(_SPACE):
        raise NoBodyError("not JSON")
    return fields, array, spans


def _array(text: str, at: int) -> tuple[Any, int, tuple[tuple[int, int], ...]]:
    """An array, where it ends, and the places of its elements; of any other value, none."""
    if text[at] != "[":
        return (*_decode(text, at), ())
    values: list[Any] = []
    spans: list[tuple[int, int]] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        if values:
            at = _skip(text, _after(text, at, ","))
        value, end = _decode(text, at)
        values.append(value)
        spans.append((at, end))
        at = _skip(text, end)
    return values, at + 1, tuple(spans)


def _skip(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at


def _after(text: str, at: int, mark: str) -> int:
    if text[at] != mark:
        raise ValueError(mark)
    return at + 1
