"""Ways to talk to a server: a child process's pipes, or streamable HTTP. Bounded, since the other end is a stranger;
and a child never outlives what started it. Knows nothing of what is said."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp_types
from anyio.abc import Process
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from edgeret.adapters.mcp.config import Say, Server
from edgeret.adapters.mcp.sessions import Session

Streams = tuple[Any, Any]
"""Where messages come from and where they go, as `mcp`'s dispatcher takes them."""
MOST_MESSAGE_BYTES = 32 << 20
"""Of one message of a server. Images and files in results take a few; a server that sends more is cut off."""
_CHUNK = 1 << 16
_GRACE_S = 1.0
"""What a server has to end after its input was closed, and again after it was told to."""
_HTTP_TIMEOUT_S = 30.0


class TooMuchError(Exception):
    """A server sent a message longer than MOST_MESSAGE_BYTES."""


@asynccontextmanager
async def opened(server: Server, say: Say, session: Session) -> AsyncIterator[Streams]:
    """The streams of messages from and to a server, as long as the context lasts; `session` gets to hear whether the
    server still knows it. Raises OSError where its program
    cannot be started, and lets TooMuchError through."""
    if server.url:
        timeout = httpx2.Timeout(_HTTP_TIMEOUT_S, read=None)  # calls have a time limit of their own
        async with (
            httpx2.AsyncClient(
                headers=dict(server.headers), timeout=timeout, event_hooks={"response": [session.heard]}
            ) as client,
            streamable_http_client(server.url, http_client=client, max_sse_event_size=MOST_MESSAGE_BYTES) as streams,
        ):
            yield streams
    else:
        async with _child(server, say) as streams:
            yield streams


@asynccontextmanager
async def _child(server: Server, say: Say) -> AsyncIterator[Streams]:
    process = await anyio.open_process(
        [server.command, *server.args],
        env=get_default_environment() | dict(server.env),
        cwd=server.cwd,
        stderr=None,  # what it tells people goes where ours goes
        start_new_session=sys.platform != "win32",
    )
    into, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process, into, server.name, say)
            tasks.start_soon(_write, process, outgoing)
            yield read, write
            tasks.cancel_scope.cancel()
    finally:
        for stream in (into, read, write, outgoing):
            stream.close()
        with anyio.CancelScope(shield=True):
            await _ended(process)


async def _read(process: Process, into: Any, name: str, say: Say) -> None:
    assert process.stdout is not None
    buffer, told = bytearray(), False
    async with into:
        while True:
            try:
                chunk = await process.stdout.receive(_CHUNK)
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                return
            begin, searched = 0, len(buffer)
            buffer += chunk
            while (end := buffer.find(b"\n", searched)) >= 0:
                line = bytes(buffer[begin:end])
                begin = searched = end + 1
                if not line.strip():
                    continue
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    if not told:
                        say(f"server {name}: passed over what is no message on its standard output")
                    told = True
                    continue
                try:
                    await into.send(SessionMessage(message))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return
            del buffer[:begin]
            if len(buffer) > MOST_MESSAGE_BYTES:
                raise TooMuchError(f"sent a message of more than {MOST_MESSAGE_BYTES >> 20} MiB")


async def _write(process: Process, outgoing: Any) -> None:
    assert process.stdin is not None
    async with outgoing:
        async for message in outgoing:
            data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            try:
                await process.stdin.send(data)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                return  # its reader finds the end of the other pipe


async def _ended(process: Process) -> None:
    """Ends a process and all that it started: first its input, then a request, then by force."""
    if process.stdin is not None:
        with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.aclose()
    steps: list[Callable[[], None]] = [lambda: None, process.terminate, process.kill]
    if sys.platform != "win32":
        steps = [lambda: None, lambda: _to_group(process, signal.SIGTERM), lambda: _to_group(process, signal.SIGKILL)]
    for step in steps:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            step()
        with anyio.move_on_after(_GRACE_S):
            # Not `process.wait`: that also waits for pipes, which a grandchild may hold.
            while process.returncode is None:
                await anyio.sleep(0.01)
            break
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            _to_group(process, signal.SIGKILL)  # what it started and left behind
    if process.stdout is not None:
        with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdout.aclose()


def _to_group(process: Process, number: int) -> None:
    os.killpg(process.pid, number)
