"""Ways to talk to a server: a child process's pipes, streamable HTTP, or HTTP with server-sent events. Bounded, since
the other end is a stranger. Knows nothing of what is said."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.client.streamable_http import streamable_http_client

from edgeret.adapters.mcp.bounds import MOST_MESSAGE_BYTES, Meter, TooMuchError
from edgeret.adapters.mcp.child import child_streams
from edgeret.adapters.mcp.config import Say, Server
from edgeret.adapters.mcp.events import event_streams
from edgeret.adapters.mcp.valve import Streams, held
from edgeret.adapters.mcp.web import Access, Heard, web_client

__all__ = ["MOST_MESSAGE_BYTES", "Streams", "TooMuchError", "opened"]

for _library in ("mcp", "client", "httpx2", "httpcore2"):
    logging.getLogger(_library).addHandler(logging.NullHandler())
"""Or what they log, a stranger's words among it, is printed where nobody listens to them."""


@asynccontextmanager
async def opened(
    server: Server, access: Access, call_s: float, say: Say, heard: Heard | None = None
) -> AsyncIterator[Streams]:
    """The streams of messages from and to a server, as long as the context lasts. `call_s` is what it has to take a
    message; `heard` takes the head of each of its answers over HTTP. Raises OSError where its program cannot be
    started, and in groups TooMuchError, WebError and httpx2's errors."""
    meter = Meter()
    async with _way(server, access, call_s, say, heard, meter) as way, held(way, meter, call_s) as streams:
        yield streams


@asynccontextmanager
async def _way(
    server: Server, access: Access, call_s: float, say: Say, heard: Heard | None, meter: Meter
) -> AsyncIterator[Streams]:
    if not server.url:
        async with child_streams(server, meter, say) as streams:
            yield streams
        return
    async with web_client(server, access, meter, call_s, heard) as client:
        if server.transport == "sse":
            async with event_streams(server.url, client) as streams:
                yield streams
        else:
            async with streamable_http_client(
                server.url, http_client=client, max_sse_event_size=MOST_MESSAGE_BYTES
            ) as streams:
                yield streams
