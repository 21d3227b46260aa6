"""A server as a child process, over its pipes. It never outlives the proxy, and neither does what it started: between
both stands a process that sees to that (keeper.py; Windows has none, so there the child alone is ended, and not where
the proxy is ended by force). Knows nothing of what is said."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types
from anyio.abc import Process
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from edgeret.adapters.mcp.bounds import Counted, Meter
from edgeret.adapters.mcp.config import Say, Server
from edgeret.adapters.mcp.keeper import GRACE_S
from edgeret.adapters.mcp.valve import Streams

_KEEPER = Path(__file__).with_name("keeper.py")
_KEPT = sys.platform != "win32" and bool(sys.executable) and not getattr(sys, "frozen", False)
_CHUNK = 1 << 16
_ENDS_S = 6.0
"""More than a keeper takes to end everything."""


@asynccontextmanager
async def child_streams(server: Server, meter: Meter, say: Say) -> AsyncIterator[Streams]:
    """The streams of messages from and to a server, as long as the context lasts. Raises OSError where its program
    cannot be started."""
    process, life = await _started(server)
    into, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process, into, meter, server.name, say)
            tasks.start_soon(_write, process, outgoing)
            yield read, write
            tasks.cancel_scope.cancel()
    finally:
        for stream in (into, read, write, outgoing):
            stream.close()
        with anyio.CancelScope(shield=True):
            await _ended(process, life)


async def _started(server: Server) -> tuple[Process, int]:
    """The process whose pipes are the server's, and the pipe that keeps it alive. Raises OSError."""
    arguments, environment = [server.command, *server.args], get_default_environment() | server.child_env
    if not _KEPT:
        return await anyio.open_process(arguments, env=environment, cwd=server.cwd, stderr=None), -1
    asked, life = os.pipe()
    told, tells = os.pipe()
    try:
        process = await anyio.open_process(
            [sys.executable, "-I", "-S", str(_KEEPER), str(asked), str(tells)],
            stderr=None,  # what a server tells people goes where ours goes
            start_new_session=True,
            pass_fds=(asked, tells),
        )
    except BaseException:
        os.close(life)
        os.close(told)
        raise
    finally:
        os.close(asked)
        os.close(tells)
    fields = [server.cwd or "", str(len(arguments)), *arguments, *(f"{k}={v}" for k, v in environment.items())]
    try:
        # Both may wait for the other process.
        failed = await anyio.to_thread.run_sync(_agree, life, told, fields, abandon_on_cancel=True)
        if failed:
            number, _, folder = failed.partition(" ")
            raise OSError(int(number), os.strerror(int(number)), server.cwd if folder else server.command)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await _ended(process, life)
        raise
    return process, life


def _agree(life: int, told: int, fields: list[str]) -> str:
    """Says what to start, and returns why that failed; nothing where it did not."""
    body = b"".join(os.fsencode(field) + b"\0" for field in fields)
    with open(told, "rb") as answer:
        left = memoryview(b"%d\n" % len(body) + body)
        try:
            while left:
                left = left[os.write(life, left) :]
        except OSError:
            pass  # the answer ends, too
        return answer.read().decode()


async def _read(process: Process, into: Any, meter: Meter, name: str, say: Say) -> None:
    assert process.stdout is not None
    buffer, counted, told = bytearray(), Counted("line", meter), False
    async with into:
        while True:
            try:
                chunk = await process.stdout.receive(_CHUNK)
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                return
            await meter.bytes(chunk)
            counted.feed(chunk)
            begin, searched = 0, len(buffer)
            buffer += chunk
            while (end := buffer.find(b"\n", searched)) >= 0:
                line = bytes(memoryview(buffer)[begin:end])
                begin = searched = end + 1
                if not line.strip():
                    continue
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    if not told:
                        say(f"server {name}: passed over what is no message on its standard output")
                    told = True
                    await meter.message()
                    continue
                try:
                    await into.send(SessionMessage(message))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return
            del buffer[:begin]


async def _write(process: Process, outgoing: Any) -> None:
    assert process.stdin is not None
    async with outgoing:
        async for message in outgoing:
            data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            try:
                await process.stdin.send(data)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                return  # its reader finds the end of the other pipe


async def _ended(process: Process, life: int) -> None:
    """Ends a process and all that came of it: first its input, then a request, then by force."""
    if process.stdin is not None:
        with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.aclose()
    await _gone(process, GRACE_S)
    if life >= 0:
        os.close(life)
        await _gone(process, _ENDS_S)
    for force in (process.terminate, process.kill):
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                force()
            await _gone(process, GRACE_S)
    if process.stdout is not None:
        with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdout.aclose()
    # A pipe that somebody else holds stays open below, and complains when the loop is gone. Nothing public closes it.
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        transport.close()


async def _gone(process: Process, within_s: float) -> None:
    # Not `process.wait`: that also waits for pipes, which a grandchild may hold.
    with anyio.move_on_after(within_s):
        while process.returncode is None:
            await anyio.sleep(0.01)
