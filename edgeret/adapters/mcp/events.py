"""The older way to a server: it sends events over one answer that stays open, and takes messages at the address that
the first of them names. Knows nothing of what is said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp_types
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest

from edgeret.adapters.mcp.bounds import MOST_MESSAGE_BYTES
from edgeret.adapters.mcp.causes import WebError, as_error, refused
from edgeret.adapters.mcp.valve import Streams

_EVENTS = "text/event-stream"
_MOST_REDIRECTS = 3


@asynccontextmanager
async def event_streams(url: str, client: httpx2.AsyncClient) -> AsyncIterator[Streams]:
    """The streams of messages from and to a server. Raises WebError and httpx2's errors, in groups."""
    into, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    with into, read, write, outgoing:
        async with anyio.create_task_group() as tasks:
            address = await tasks.start(_listen, url, client, into)
            tasks.start_soon(_write, address, client, outgoing, into)
            yield read, write
            tasks.cancel_scope.cancel()


async def _listen(url: str, client: httpx2.AsyncClient, into: Any, *, task_status: Any) -> None:
    has_key = "authorization" in client.headers
    request = client.build_request("GET", url, headers={"Accept": _EVENTS, "Cache-Control": "no-store"})
    for _ in range(_MOST_REDIRECTS):
        response = await client.send(request, stream=True)
        following = response.next_request
        if following is None or _origin(following.url) != _origin(request.url):
            break
        await response.aclose()
        request = following
    try:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code != 200 or kind != _EVENTS:
            raise WebError(refused(response.status_code, response.headers, has_key))
        address = None
        async with into:
            async for event in httpx2.EventSource(response, max_event_size=MOST_MESSAGE_BYTES):
                if event.event == "endpoint" and address is None:
                    address = request.url.join(event.data)
                    if _origin(address) != _origin(request.url):
                        raise WebError("wants messages to be sent to another host, which is not done")
                    task_status.started(address)
                elif event.event == "message" and event.data:
                    try:
                        message = mcp_types.jsonrpc_message_adapter.validate_json(event.data, by_name=False)
                    except ValueError:
                        continue
                    await into.send(SessionMessage(message))
        if address is None:
            raise WebError("ended before it had said where it takes messages")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # nobody reads any more
    finally:
        with anyio.CancelScope(shield=True):
            await response.aclose()


async def _write(address: httpx2.URL, client: httpx2.AsyncClient, outgoing: Any, into: Any) -> None:
    async with anyio.create_task_group() as tasks:
        async for item in outgoing:
            if isinstance(item.message, JSONRPCRequest):
                tasks.start_soon(_post, address, client, item, into)
            else:
                await _post(address, client, item, into)  # so that a server has to take one before the next


async def _post(address: httpx2.URL, client: httpx2.AsyncClient, item: SessionMessage, into: Any) -> None:
    message = item.message
    body = message.model_dump_json(by_alias=True, exclude_unset=True)
    response = await client.post(address, content=body, headers={"Content-Type": "application/json"})
    if response.status_code >= 300 and isinstance(message, JSONRPCRequest):
        words = refused(response.status_code, response.headers, "authorization" in client.headers)
        error = mcp_types.ErrorData(**as_error(words))
        try:
            await into.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=message.id, error=error)))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
