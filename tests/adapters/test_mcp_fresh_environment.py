"""`edgeret mcp` of a wheel with its extra, in an environment of its own: seven servers, and no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from fresh_environment import installed, make_environment
from patience import PATIENCE_S

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_client import call, eventually, write_config

OFFICE = Path(__file__).parents[2] / "examples" / "mcp" / "office.py"
SERVERS = ("calendar", "mail", "chat", "invoice", "travel", "stock", "room")
"""The office's tools begin with these words, and are seven servers here."""
ALONE = ("unshare", "--user", "--map-root-user", "--net")
"""In front of a command, takes its network away: not even the loopback is up."""


def without_network() -> tuple[str, ...]:
    """What stands in front of a command; nothing where this system cannot take the network away."""
    there = shutil.which(ALONE[0]) is not None
    return ALONE if there and subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0 else ()


@pytest.mark.full
@pytest.mark.install
def test_seven_servers_stand_behind_the_wheels_proxy_without_a_base_of_ones_own_and_without_network(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    scripts = make_environment(tmp_path_factory, "edgeret[mcp]")
    assert "onnxruntime" not in installed(scripts)  # the base needs none
    listed = [line.split("|")[0].strip() for line in tools()]
    servers = {
        server: {
            "command": sys.executable,  # servers are other people's programs, and have environments of their own
            "args": [str(OFFICE)],
            "includeTools": [name for name in listed if name.startswith(f"{server}_")],
        }
        for server in SERVERS
    }
    config = write_config(tmp_path, **servers)
    first, *rest = [*without_network(), str(scripts / "edgeret"), "mcp", "--config", str(config)]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    parameters = StdioServerParameters(command=first, args=rest, env={**kept, "HOME": str(tmp_path)}, cwd=tmp_path)

    async def ask() -> None:
        with anyio.fail_after(PATIENCE_S), (tmp_path / "stderr").open("a") as errors:
            async with Client(stdio_client(parameters, errlog=errors)) as client:
                assert {tool.name for tool in (await client.list_tools()).tools} == {"find_tools", "call_tool"}
                for server, name in zip(SERVERS, expected(), strict=True):
                    await eventually(client, f"{server}__{name}", name.replace("_", " "))
                done = await call(client, "room__room_book", {"room": "blue", "start": "10", "end": "11"})
                assert not done.is_error and "blue" in json.dumps(done.model_dump(mode="json"))

    anyio.run(ask)


def tools() -> list[str]:
    """A line for each tool of the office."""
    return OFFICE.with_name("tools.txt").read_text("utf-8").splitlines()


def expected() -> list[str]:
    """The first tool of each server."""
    named = [line.split("|")[0].strip() for line in tools()]
    return [next(name for name in named if name.startswith(f"{server}_")) for server in SERVERS]
