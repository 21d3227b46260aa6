"""Whether an answer ends a request: the model called nothing more and was not cut off. Reads answers whole and
streamed, beside the client that gets them; knows nothing of tools."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from edgeret.adapters.conversation import objects

MOST_BYTES = 4 << 20
"""Of an answer, packed or not; of a longer one nobody knows how it ended."""
_CALLS = ("function_call", "custom_tool_call")


class Ending:
    """Takes in an answer's bytes as they pass."""

    def __init__(self, encoding: bytes | None) -> None:
        """`encoding` is the answer's `content-encoding`."""
        self._encoding = (encoding or b"identity").strip().lower()
        self._parts: list[bytes] = []
        self._room = MOST_BYTES

    def feed(self, part: bytes) -> None:
        """Some more of the answer."""
        self._room -= len(part)
        if self._room >= 0:
            self._parts.append(part)

    def is_final(self) -> bool:
        """Whether the answer ends the request; False where that cannot be read."""
        if self._room < 0:
            return False
        try:
            whole = _unpacked(b"".join(self._parts), self._encoding)
            return _final(list(_values(whole)))
        except (ValueError, RecursionError, zlib.error):
            return False


def _unpacked(data: bytes, encoding: bytes) -> bytes:
    """Raises ValueError for what is packed in another way, or too large."""
    if encoding == b"identity":
        return data
    if encoding not in (b"gzip", b"deflate"):
        raise ValueError("packed in a way that is not read")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    found = unpacker.decompress(data, MOST_BYTES)
    if unpacker.unconsumed_tail:
        raise ValueError("too large")
    return found


def _values(whole: bytes) -> Iterator[Mapping[str, Any]]:
    """The objects of an answer: one, or those of a stream's events. Raises ValueError."""
    if whole.lstrip().startswith(b"{"):
        yield from objects([json.loads(whole)])
        return
    for line in whole.splitlines():
        data = line.removeprefix(b"data:").strip()
        if line.startswith(b"data:") and data != b"[DONE]":
            yield from objects([json.loads(data)])


def _final(values: Iterable[Mapping[str, Any]]) -> bool:
    stopped = False
    for value in values:
        for choice in objects(value.get("choices")):
            said = choice.get("message") or choice.get("delta")
            if isinstance(said, Mapping) and (said.get("tool_calls") or said.get("function_call")):
                return False
            stopped = stopped or choice.get("finish_reason") == "stop"
        answer = value.get("response") if value.get("type") == "response.completed" else value
        if isinstance(answer, Mapping) and answer.get("status") == "completed" and "output" in answer:
            if any(item.get("type") in _CALLS for item in objects(answer.get("output"))):
                return False
            stopped = True
    return stopped
