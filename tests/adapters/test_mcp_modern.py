"""Servers that speak protocol 2026-07-28 and nothing older, over both transports, for clients of both times."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_client import call, proxied, write_config
from patience import PATIENCE_S

mcp = pytest.importorskip("mcp", reason="needs the extra mcp")

import mcp_types as types  # noqa: E402
import warm  # noqa: E402
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated  # noqa: E402
from test_mcp_http import free_port  # noqa: E402
from test_mcp_passing import eventually  # noqa: E402
from test_mcp_sessions import http_entry, listening, running  # noqa: E402
from test_mcp_whole_protocol import ERAS, Person  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
MODERN = str(Path(__file__).with_name("modern_mcp.py"))


def stdio_entry() -> dict[str, Any]:
    """The entry of the server over pipes."""
    first, *rest = warm.python(MODERN)
    return {"command": first, "args": rest}


@asynccontextmanager
async def modern(transport: str) -> AsyncIterator[dict[str, Any]]:
    """The entry of the server, which runs where it is connected to."""
    if transport == "stdio":
        yield stdio_entry()
        return
    port = free_port()
    with running(warm.python(MODERN, str(port))):
        await listening(port)
        yield http_entry(port)


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("mode", ERAS)
def test_it_is_called_read_and_answered(mode: str, transport: str, tiny: Path, tmp_path: Path) -> None:
    person = Person(("file:///tmp",))
    seen: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append(done)

    async def talk() -> None:
        async with modern(transport) as entry:
            config = write_config(tmp_path, far=entry)
            async with proxied(config, tiny, mode=mode, **person.callbacks) as client:
                result = await call(client, "far__version", {"city": "Köln"})
                version, header = json.loads(result.content[0].text)
                assert version == "2026-07-28"
                assert header is None if transport == "stdio" else "?base64?" in header
                answered = await call(client, "far__ask", progress_callback=progress)
                found = json.loads(answered.content[0].text)
                assert found["rain"]["content"]["text"] == "it is going to rain"
                assert found["mood"]["content"] == {"value": "Ada"}
                assert found["roots"]["roots"][0]["uri"] == "file:///tmp"
                assert len(person.asked) == 3 and seen == [1]
                assert [one.uri for one in (await client.list_resources()).resources] == ["memo://modern"]
                assert (await client.read_resource("memo://modern")).contents[0].text == "höre"
                assert client.server_capabilities.resources.subscribe
                assert client.told() == ""

    anyio.run(talk)


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("mode", ERAS)
def test_its_changes_are_heard(mode: str, transport: str, tiny: Path, tmp_path: Path) -> None:
    person = Person()

    async def touched(client: Any, enough: Any) -> None:
        with anyio.fail_after(PATIENCE_S):  # the stream on which it tells them takes a moment to be opened
            while not enough():
                await call(client, "far__touch")
                await anyio.sleep(0.1)

    async def talk() -> None:
        async with modern(transport) as entry:
            config = write_config(tmp_path, far=entry)
            async with proxied(config, tiny, mode=mode, **person.callbacks) as client:
                await client.list_resources()
                if mode == "legacy":
                    await client.set_logging_level("error")
                    await client.subscribe_resource("memo://modern")
                    kinds = (types.ResourceUpdatedNotification, types.ResourceListChangedNotification)
                    await touched(client, lambda: all(any(isinstance(m, k) for m in person.told) for k in kinds))
                    return
                found = set[Any]()
                async with (
                    client.listen(resources_list_changed=True, resource_subscriptions=["memo://modern"]) as changes,
                    anyio.create_task_group() as tasks,
                ):
                    tasks.start_soon(touched, client, lambda: len(found) == 2)
                    async for change in changes:
                        found.add(change)
                        if len(found) == 2:
                            break
                assert found == {ResourcesListChanged(), ResourceUpdated("memo://modern")}

    anyio.run(talk)


def test_a_client_s_wish_to_read_logs_goes_with_each_call(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, far=stdio_entry())

    async def talk() -> None:
        person = Person()
        async with proxied(config, tiny, log_level="info", **person.callbacks) as client:
            await call(client, "far__touch")
            await eventually(lambda: bool(person.logged))
            assert [(one.logger, one.data) for one in person.logged] == [("far__core", "touched")]

    anyio.run(talk)
