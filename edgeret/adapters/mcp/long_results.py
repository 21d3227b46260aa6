"""Results that are longer than a client wants to read at once: the beginning is passed on, the rest is kept and given
when it is asked for. Knows nothing of servers and tools."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from edgeret.adapters.mcp.answers import failed, text
from edgeret.quoting import quoted

READ_MORE = "read_more"
MOST_KEPT = 32
"""Results of which a rest is kept; the oldest one goes first."""
MOST_KEPT_BYTES = 64 << 20
"""Of all rests together."""


class LongResults:
    """Texts of results beyond `most_bytes`, by what the client was told to ask for."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    @property
    def definition(self) -> dict[str, Any]:
        """The tool that reads on."""
        return {
            "name": READ_MORE,
            "description": "Reads on where the text of a result was cut. The cut result says which id to give.",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "annotations": {"readOnlyHint": True},
        }

    def cut(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """The result with no more text than is wanted, and how to read on. Pictures, sound, resources and structured
        content stay as they are; the first text that is too long is cut, and texts behind it are kept with its rest."""
        content = result.get("content")
        if not isinstance(content, list):
            return dict(result)
        room, shown, rest = self._most, list[Any](), list[bytes]()
        for item in content:
            if not isinstance(item, Mapping) or item.get("type") != "text" or not isinstance(item.get("text"), str):
                shown.append(item)
                continue
            whole = item["text"].encode("utf-8", "surrogatepass")
            if rest:
                rest.append(whole)
            elif len(whole) <= room:
                room -= len(whole)
                shown.append(item)
            else:
                begins = _beginning(whole, room)
                shown.append({**item, "text": _decoded(begins)})
                rest.append(whole[len(begins) :])
        if not rest:
            return dict(result)
        return {**result, "content": [*shown, text(self._keep(b"\n".join(rest)))]}

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The next part of a result, as a result. The same id gives the same part again."""
        key, _, begin = str(arguments.get("id")).partition("-")
        kept = self._kept.get(key)
        if kept is None or not begin.isdecimal() or len(begin) > 9 or int(begin) >= len(kept):
            return failed(
                f"{READ_MORE} takes the id that stands behind a cut result, found {quoted(str(arguments.get('id')))}; "
                f"the last {MOST_KEPT} cut results are kept, so the tool may have to be called again"
            )
        self._kept.move_to_end(key)
        at = int(begin)
        while at < len(kept) and _inside(kept[at]):
            at += 1
        part = _beginning(kept[at:], max(self._most, 4))
        end = at + len(part)
        return {"content": [text(_decoded(part)), *([text(_told(key, end, len(kept)))] if end < len(kept) else [])]}

    def _keep(self, rest: bytes) -> str:
        """Keeps a rest; what the client is told of it."""
        if len(rest) > MOST_KEPT_BYTES:
            return f"[edgeret: cut here; {len(rest):,} more bytes are too many to be kept]"
        key = secrets.token_hex(4)
        self._kept[key] = rest
        while len(self._kept) > MOST_KEPT or sum(map(len, self._kept.values())) > MOST_KEPT_BYTES:
            self._kept.popitem(last=False)
        return _told(key, 0, len(rest))


def _told(key: str, begin: int, size: int) -> str:
    return f'[edgeret: cut here; {size - begin:,} more bytes: call {READ_MORE} with {{"id": "{key}-{begin}"}}]'


def _beginning(whole: bytes, most: int) -> bytes:
    """The first bytes, so many at most; no character is cut in two."""
    end = most
    while end < len(whole) and _inside(whole[end]):
        end -= 1
    return whole[:end]


def _inside(byte: int) -> bool:
    """Whether a character goes on with this byte."""
    return byte & 0xC0 == 0x80


def _decoded(part: bytes) -> str:
    return part.decode("utf-8", "surrogatepass")
