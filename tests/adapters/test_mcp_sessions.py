"""Servers over HTTP that forget their sessions, since they were started again or waited too long."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from conftest import full
from mcp_client import call, names, proxied, write_config
from patience import PATIENCE_S

pytest.importorskip("mcp", reason="needs the extra mcp")

import httpx2
from test_mcp_counterparts import node_server
from test_mcp_http import free_port

from edgeret.adapters.mcp.sessions import Session

LOST = "does not know its session any more"


@contextmanager
def running(command: list[str], environment: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A server, until the context ends."""
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def counting(port: int, log: Path, *more: str) -> list[str]:
    """The command of a server that counts its calls."""
    return [sys.executable, str(Path(__file__).with_name("session_mcp.py")), str(port), str(log), *more]


async def until(client: Any, tool: str) -> None:
    """Returns when a server's tool is found."""
    with anyio.fail_after(PATIENCE_S):
        while tool not in await names(client, "count a call"):
            await anyio.sleep(0.1)


async def listening(port: int) -> None:
    """Returns when somebody listens there."""
    with anyio.fail_after(PATIENCE_S):
        while True:
            try:
                async with await anyio.connect_tcp("127.0.0.1", port):
                    return
            except OSError:
                await anyio.sleep(0.05)


def http_entry(port: int) -> dict[str, Any]:
    return {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}


async def counted(client: Any) -> int:
    """A call, and how many that makes."""
    result = await call(client, "far__count_call")
    assert not result.is_error, result
    return int(result.content[0].text)


async def counted_together(client: Any, number: int) -> list[int]:
    """As many calls at once."""
    found: list[int] = []

    async def one() -> None:
        found.append(await counted(client))

    async with anyio.create_task_group() as tasks:
        for _ in range(number):
            tasks.start_soon(one)
    return sorted(found)


@pytest.mark.parametrize("mode", ["auto", *full("legacy")])
def test_calls_to_a_server_that_was_started_again_are_carried_out_once(mode: str, tiny: Path, tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "calls"
    config = write_config(tmp_path, far=http_entry(port))

    async def talk() -> None:
        with running(counting(port, log)) as first:
            await listening(port)
            async with proxied(config, tiny, mode=mode) as client:
                await until(client, "far__count_call")
                assert await counted(client) == 1
                first.kill()
                first.wait()
                with running(counting(port, log)):
                    await listening(port)
                    assert await counted_together(client, 4) == [2, 3, 4, 5]
                assert "server far " in client.told()

    anyio.run(talk)
    assert log.read_text() == "x" * 5


@pytest.mark.parametrize("status", ["404", *full("400")])
def test_where_the_session_was_forgotten_calls_are_carried_out_in_a_new_one(
    status: str, tiny: Path, tmp_path: Path
) -> None:
    port, log = free_port(), tmp_path / "calls"
    config = write_config(tmp_path, far=http_entry(port))

    async def talk() -> None:
        with running(counting(port, log, status)):
            await listening(port)
            async with proxied(config, tiny, mode="legacy") as client:
                await until(client, "far__count_call")
                await counted(client)
                await anyio.sleep(1.1)  # sessions that do not live a second are not begun anew at once
                log.with_name("calls.forget").touch()
                assert await counted_together(client, 4) == [2, 3, 4, 5]
                assert client.told() == f"warning: server far {LOST}; a new one is begun\n"
                assert await names(client, "count a call") == ["far__count_call"]

    anyio.run(talk)
    assert log.read_text() == "x" * 5


def test_one_that_is_started_again_while_nothing_is_called_is_found(tiny: Path, tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "calls"
    config = write_config(tmp_path, far=http_entry(port))

    async def talk() -> None:
        with running(counting(port, log)) as first:
            await listening(port)
            async with proxied(config, tiny, mode="legacy") as client:
                await until(client, "far__count_call")
                first.kill()
                first.wait()
                with anyio.fail_after(PATIENCE_S):
                    while "server far c" not in client.told():  # cannot be reached
                        await anyio.sleep(0.05)
                with running(counting(port, log)):
                    await until(client, "far__count_call")

    anyio.run(talk)


def test_a_server_of_everything_is_found_again(tiny: Path, tmp_path: Path) -> None:
    port = free_port()
    server = node_server("everything", "streamableHttp")
    config = write_config(tmp_path, far=http_entry(port))
    command, environment = [server["command"], *server["args"]], {"PORT": str(port), "PATH": "/usr/bin:/bin"}

    async def talk() -> None:
        with running(command, environment) as first:
            await listening(port)
            async with proxied(config, tiny, mode="legacy") as client:
                with anyio.fail_after(PATIENCE_S):
                    while (await call(client, "far__echo", {"message": "1"})).is_error:
                        await anyio.sleep(0.1)
                first.kill()
                first.wait()
                with running(command, environment):
                    await listening(port)
                    result = await call(client, "far__echo", {"message": "again"})
                    assert "again" in result.content[0].text, client.told()
                    assert "Echo" in result.content[0].text

    anyio.run(talk)


@pytest.mark.parametrize(
    ("status", "body", "lost"),
    [
        (404, "", True),
        (404, "<h1>Not found</h1>", True),
        (404, '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}', True),
        (404, '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}', True),
        (404, '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}', False),
        (404, '{"error":"unknown session"}', True),
        (400, '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Bad Request: No valid session ID"}}', True),
        (400, "Invalid session id", True),
        (400, "", False),
        (400, '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such browser session"}}', False),
        (500, "Session not found", False),
        (200, "Session not found", False),
    ],
)
def test_an_answer_s_status_says_whether_the_session_is_known(status: int, body: str, lost: bool) -> None:
    async def look() -> None:
        for kept in (True, False):
            session = Session()
            headers = {"mcp-session-id": "a"} if kept else {}
            request = httpx2.Request("POST", "http://localhost/mcp", json={"id": 7}, headers=headers)
            await session.heard(httpx2.Response(status, text=body, request=request))
            assert session.lost.is_set() == (lost and kept)
            assert session.refused == ({7} if lost and kept else set())

    anyio.run(look)
