"""Servers that are connected to over streamable HTTP."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from mcp_client import call, found, hostile, names, proxied, write_config
from patience import PATIENCE_S
from together_run import NUMBER

pytest.importorskip("mcp", reason="needs the extra mcp")


def free_port() -> int:
    """A port that can be listened at, away from those that a system gives to connections: one of those would be taken
    again before its server listens. Processes that test side by side try others."""
    worker = int(os.environ.get(NUMBER, "0"))
    for port in random.sample(range(12_000 + 1_000 * (worker % 16), 13_000 + 1_000 * (worker % 16)), 1_000):
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def test_one_that_is_connected_to_gets_its_headers_and_comes_back_when_it_was_away(tiny: Path, tmp_path: Path) -> None:
    port = free_port()
    entry = {"type": "http", "url": f"http://127.0.0.1:{port}/mcp", "headers": {"X-Key": "open sesame"}}
    config = write_config(tmp_path, far=entry, good=hostile("plain"))
    seen: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append(done)

    async def until_there(client: object) -> None:
        with anyio.fail_after(PATIENCE_S):
            while "far__show_headers" not in await names(client, "show the headers"):
                await anyio.sleep(0.1)

    async def talk() -> None:
        async with proxied(config, tiny) as client:
            answer = await found(client, "write a note")
            assert "cannot be" in answer["serversNotThereNow"]["far"]
            assert not (await call(client, "good__write_note")).is_error
            command = [sys.executable, str(Path(__file__).with_name("http_mcp.py")), str(port)]
            with subprocess.Popen(command) as server:
                try:
                    await until_there(client)
                    result = await call(client, "far__show_headers", progress_callback=progress)
                    headers = json.loads(result.content[0].text)
                    assert headers["x-key"] == "open sesame" and headers["mcp-protocol-version"]
                    assert seen == [1]
                finally:
                    server.kill()
            gone = await call(client, "far__show_headers")
            assert gone.is_error and "server far" in gone.content[0].text
            assert not (await call(client, "good__write_note")).is_error

    anyio.run(talk)


@pytest.mark.parametrize("kind", ["sse", "http"])
def test_the_older_transport_is_spoken_where_it_is_named_and_where_it_is_all_there_is(
    tiny: Path, tmp_path: Path, kind: str
) -> None:
    port = free_port()
    entry = {"type": kind, "url": f"http://127.0.0.1:{port}/sse", "headers": {"X-Key": "open sesame"}}
    config = write_config(tmp_path, far=entry)
    seen: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append(done)

    async def talk() -> None:
        async with proxied(config, tiny) as client:
            with anyio.fail_after(PATIENCE_S):
                while "far__show_headers" not in await names(client, "show the headers"):
                    await anyio.sleep(0.1)
            result = await call(client, "far__show_headers", {"long": 3_000_000}, progress_callback=progress)
            headers = json.loads(result.content[0].text)
            assert headers["x-key"] == "open sesame" and len(headers["long"]) == 3_000_000 and seen == [1]
            assert ('put "type": "sse" to its entry' in client.told()) is (kind == "http")

    with subprocess.Popen([sys.executable, str(Path(__file__).with_name("http_mcp.py")), str(port), "sse"]) as server:
        try:
            anyio.run(talk)
        finally:
            server.kill()
