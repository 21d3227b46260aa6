"""What a client has of servers besides tools, through the proxy and without it: every server of other people that is
installed is asked both ways, in both protocol eras, and the answers compared."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from conftest import full
from mcp_client import call, proxied, write_config

mcp = pytest.importorskip("mcp", reason="needs the extra mcp")

import mcp_types as types  # noqa: E402
from mcp.client.stdio import stdio_client  # noqa: E402
from test_mcp_counterparts import entry  # noqa: E402

SERVERS = ("time", "git", "fetch", "everything", "filesystem", "memory", "fastmcp")
ERAS = ("auto", "legacy")


def server_entry(name: str, folder: Path) -> dict[str, Any]:
    """The entry of a server, or a skip."""
    if name == "fastmcp":
        pytest.importorskip("fastmcp", reason="needs fastmcp")
        return {"command": sys.executable, "args": [str(Path(__file__).with_name("fastmcp_server.py"))]}
    if name == "git":
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return entry(name, folder)


class Person:
    """Who sits before a client: answers what servers ask, and keeps what he was asked and told."""

    def __init__(self, roots: tuple[str, ...] = ()) -> None:
        self.asked: list[Any] = []
        self.told: list[Any] = []
        self.logged: list[Any] = []
        self.roots = roots

    async def sample(self, _: Any, params: Any) -> Any:
        self.asked.append(params)
        text = types.TextContent(type="text", text="it is going to rain")
        return types.CreateMessageResult(role="assistant", content=text, model="crystal ball", stop_reason="endTurn")

    async def elicit(self, _: Any, params: Any) -> Any:
        self.asked.append(params)
        properties = getattr(params, "requested_schema", {}).get("properties", {})
        content = {"name": "Ada", "check": True} if "name" in properties else {"value": "Ada"}
        return types.ElicitResult(action="accept", content=content)

    async def list_roots(self, _: Any) -> Any:
        return types.ListRootsResult(roots=[types.Root(uri=root, name="here") for root in self.roots])

    async def hear(self, message: Any) -> None:
        self.told.append(message)

    async def log(self, params: Any) -> None:
        self.logged.append(params)

    @property
    def callbacks(self) -> dict[str, Any]:
        known = {
            "sampling_callback": self.sample,
            "elicitation_callback": self.elicit,
            "message_handler": self.hear,
            "logging_callback": self.log,
        }
        return known | ({"list_roots_callback": self.list_roots} if self.roots else {})


@asynccontextmanager
async def direct(server: Mapping[str, Any], folder: Path, mode: str, **more: Any) -> AsyncIterator[Any]:
    """A client of the server itself."""
    parameters = mcp.StdioServerParameters(
        command=server["command"], args=server.get("args", []), env=server.get("env")
    )
    with (folder / "direct").open("a") as errors:
        async with mcp.Client(stdio_client(parameters, errlog=errors), mode=mode, **more) as client:
            yield client


def dumped(result: Any) -> Any:
    """A result as it was sent, without what belongs to a connection alone."""
    plain = result.model_dump(mode="json", by_alias=True)
    left_out = ("ttlMs", "cacheScope", "resultType")
    plain = {key: value for key, value in plain.items() if key not in left_out}
    meta = {key: value for key, value in (plain.get("_meta") or {}).items() if not key.startswith("io.model")}
    for part in plain.get("contents", ()):  # some say when they were made
        if "blob" in part and "dynamic" in part["uri"]:
            part["blob"] = base64.b64decode(part["blob"]).decode()
        part |= {key: re.sub(r"\d+:\d\d:\d\d [AP]M", "now", part[key]) for key in ("text", "blob") if key in part}
    return {**plain, "_meta": meta}


async def answered(request: Any) -> Any:
    """A result, or the error in its place."""
    try:
        return dumped(await request)
    except mcp.MCPError as error:
        return error.code, error.message


async def everything_of(client: Any, has: Any, prefix: str = "") -> dict[str, Any]:
    """Lists, contents and completions that a client gets of what a server has, under names without the prefix."""
    found: dict[str, Any] = {}
    if has.prompts is not None:
        listed = dumped(await client.list_prompts())["prompts"]
        for prompt in listed:
            assert prompt["name"].startswith(prefix)
            shown, prompt["name"] = prompt["name"], prompt["name"].removeprefix(prefix)
            arguments = {argument["name"]: "1" for argument in prompt["arguments"] or ()}
            found[f"prompt {prompt['name']}"] = await answered(client.get_prompt(shown, arguments))
            found[f"prompt {prompt['name']} without"] = await answered(client.get_prompt(shown))
            for argument in arguments:
                reference = types.PromptReference(type="ref/prompt", name=shown)
                asked = client.complete(reference, {"name": argument, "value": ""})
                found[f"completion {prompt['name']} {argument}"] = await answered(asked)
        found["prompts"] = listed
    if has.resources is not None:
        found["resources"] = dumped(await client.list_resources())["resources"]
        found["templates"] = dumped(await client.list_resource_templates())["resourceTemplates"]
        made = [one["uriTemplate"].split("{")[0] + "1" for one in found["templates"]]
        for uri in [one["uri"] for one in found["resources"]] + made:
            found[f"resource {uri}"] = await answered(client.read_resource(uri))
        for template in found["templates"]:
            reference = types.ResourceTemplateReference(type="ref/resource", uri=template["uriTemplate"])
            asked = client.complete(reference, {"name": "resourceId", "value": "1"})
            found[f"completion {template['uriTemplate']}"] = await answered(asked)
    return found


@pytest.mark.diagonal
@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("name", SERVERS)
def test_prompts_resources_templates_and_completions_are_those_without_it(
    name: str, mode: str, tiny: Path, tmp_path: Path
) -> None:
    server = server_entry(name, tmp_path)
    config = write_config(tmp_path, **{name: server})

    async def talk() -> None:
        async with direct(server, tmp_path, mode) as client:
            offered = client.server_capabilities
            expected = await everything_of(client, offered)
        async with proxied(config, tiny, mode=mode) as client:
            assert await everything_of(client, offered, f"{name}__") == expected
            for part in ("prompts", "resources", "logging", "completions"):
                assert getattr(offered, part) is None or getattr(client.server_capabilities, part) is not None, part

    anyio.run(talk)


@pytest.mark.parametrize("mode", [ERAS[0], *full(ERAS[1])])
def test_sampling_and_elicitation_of_a_server_of_everything(mode: str, tiny: Path, tmp_path: Path) -> None:
    server = server_entry("everything", tmp_path)
    config = write_config(tmp_path, everything=server)
    calls = {
        "trigger-sampling-request": {"prompt": "the weather", "maxTokens": 7},
        "trigger-elicitation-request": {},
        "get-roots-list": {},
    }

    async def ask(client: Any, through: bool) -> dict[str, Any]:
        return {
            name: dumped(
                await (call(client, f"everything__{name}", given) if through else client.call_tool(name, given))
            )
            for name, given in calls.items()
        }

    async def talk() -> None:
        person, same = Person((tmp_path.as_uri(),)), Person((tmp_path.as_uri(),))
        async with direct(server, tmp_path, mode, **person.callbacks) as client:
            expected = await ask(client, through=False)
        async with proxied(config, tiny, mode=mode, **same.callbacks) as client:
            assert await ask(client, through=True) == expected
        assert same.asked == person.asked and len(same.asked) == 2
        assert "crystal ball" in str(expected) and "Ada" in str(expected) and tmp_path.name in str(expected)

    anyio.run(talk)


@pytest.mark.parametrize("mode", [ERAS[1], *full(ERAS[0])])
def test_sampling_and_elicitation_of_fastmcp(mode: str, tiny: Path, tmp_path: Path) -> None:
    server = server_entry("fastmcp", tmp_path)
    config = write_config(tmp_path, fast=server)

    async def talk() -> None:
        person, same = Person(), Person()
        async with direct(server, tmp_path, mode, **person.callbacks) as client:
            expected = [
                dumped(await client.call_tool("ask_model", {"question": "rain?"})),
                dumped(await client.call_tool("ask_user")),
            ]
        async with proxied(config, tiny, mode=mode, **same.callbacks) as client:
            assert [
                dumped(await call(client, "fast__ask_model", {"question": "rain?"})),
                dumped(await call(client, "fast__ask_user")),
            ] == expected
        assert same.asked == person.asked and len(same.asked) == (2 if mode == "legacy" else 0)

    anyio.run(talk)
