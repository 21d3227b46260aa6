"""What a client sends, read as HTTP/1.1 by h11, and held to bounds that h11 does not know. Knows no sockets."""

from __future__ import annotations

import re

import h11

from edgeret.adapters.web.limits import Limits

_BLANK_LINE = re.compile(rb"\n\r?\n")
_CHUNKS_FREE, _CHUNK_BYTES = 64, 64
"""Chunks that a body may have whatever their size, and what all others must have on average: reading one costs as much
as reading some thousand bytes."""


class Framing(h11.Connection):
    """Raises h11.RemoteProtocolError for what h11 lets through: a header that is too large, a body whose end two
    readers would see in two places, and one in crumbs."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=limits.head_bytes)
        self._limits = limits
        self._chunks = self._bytes = 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """As h11's."""
        if self.their_state is h11.IDLE:
            self._check_head(self.trailing_data[0])
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = self._bytes = 0
            _check_framing(event)
        elif isinstance(event, h11.Data):
            self._chunks += event.chunk_start
            self._bytes += len(event.data)
            if self._chunks > _CHUNKS_FREE + self._bytes // _CHUNK_BYTES:
                raise h11.RemoteProtocolError(f"chunks of less than {_CHUNK_BYTES} bytes; send larger ones")
        return event

    @property
    def has_begun(self) -> bool:
        """Whether part of a next request is here."""
        return self.their_state is h11.IDLE and bool(self.trailing_data[0])

    def _check_head(self, data: bytes) -> None:
        end = _BLANK_LINE.search(data)
        head = data if end is None else data[: end.start()]
        if len(head) > self._limits.head_bytes or head.count(b"\n") > self._limits.head_lines:
            raise h11.RemoteProtocolError(
                f"more than {self._limits.head_bytes >> 10} kB or {self._limits.head_lines} lines of header", 431
            )


def _check_framing(request: h11.Request) -> None:
    if request.http_version[:1] != b"1":
        raise h11.RemoteProtocolError("speak HTTP/1.1", 505)
    named = {name for name, _ in request.headers}
    if b"transfer-encoding" in named and b"content-length" in named:
        raise h11.RemoteProtocolError("both Content-Length and Transfer-Encoding; send one of them")
    if b"transfer-encoding" in named and request.http_version < b"1.1":
        raise h11.RemoteProtocolError("Transfer-Encoding in HTTP/1.0; send a Content-Length")
