"""A request's body: read, and written again with fewer tools and every other byte as it was. Knows no tools."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from json import JSONDecoder
from typing import Any

from edgeret.records import dataclass

_SPACE = " \t\r\n"
_decode = JSONDecoder().raw_decode


class NoBodyError(ValueError):
    """A body that is not what it should be; the message says what it is."""


@dataclass(frozen=True, slots=True)
class Body:
    """`fields` of the object, and where the array `tools` and each of its elements begin and end in `text`; `spans` are
    empty where there are no tools."""

    text: str
    fields: Mapping[str, Any]
    array: tuple[int, int]
    spans: tuple[tuple[int, int], ...]

    @property
    def tools_text(self) -> bytes:
        """The array `tools` as it came."""
        return self.text[slice(*self.array)].encode()

    def with_tools(self, kept: Collection[int]) -> bytes:
        """The body with these of the tools alone, each as it came."""
        begin, end = self.array
        shown = ",".join(self.text[slice(*self.spans[i])] for i in sorted(kept))
        return f"{self.text[:begin]}[{shown}]{self.text[end:]}".encode()


def read_body(raw: bytes) -> Body:
    """The body of a request. Raises NoBodyError for what is no JSON object, nests too deeply, or names its tools twice:
    another reader could then take the other ones."""
    try:
        text = raw.decode()
        return _read(text)
    except UnicodeDecodeError:
        raise NoBodyError("not UTF-8") from None
    except RecursionError:
        raise NoBodyError("nested too deeply") from None
    except NoBodyError:
        raise
    except (ValueError, IndexError):
        raise NoBodyError("not JSON") from None


def _read(text: str) -> Body:
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
    return Body(text, fields, array, spans)


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
