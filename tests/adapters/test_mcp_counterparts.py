"""The proxy between clients and servers of other people: whatever of them is installed is tried.

Servers in Python are found beside the interpreter; those of npm, and its inspector, in build/npm (`make npm`).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_client import ROOT, call, command, found, proxied, write_config
from patience import PATIENCE_S

pytest.importorskip("mcp", reason="needs the extra mcp")

NPM = Path(os.environ.get("EDGERET_NPM", ROOT / "build" / "npm")) / "node_modules"
OFFICE = {"command": sys.executable, "args": [str(ROOT / "examples" / "mcp" / "office.py")]}
QUERIES = {
    "time": "what time is it in Tokyo",
    "git": "show the commit log",
    "fetch": "fetch a web page from the internet",
    "everything": "echo the message back",
    "filesystem": "list a directory",
    "memory": "create entities in the knowledge graph",
}


def python_server(name: str) -> dict[str, Any]:
    """The entry of a server from PyPI, or a skip."""
    path = Path(sys.executable).with_name(f"mcp-server-{name}")
    if not path.exists():
        pytest.skip(f"mcp-server-{name} is not installed")
    return {"command": str(path)}


def node_server(name: str, *more: str) -> dict[str, Any]:
    """The entry of a server from npm, or a skip."""
    path = NPM / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
    if shutil.which("node") is None or not path.exists():
        pytest.skip(f"needs node and {path}, which `make npm` installs")
    return {"command": "node", "args": [str(path), *more]}


def entry(name: str, folder: Path) -> dict[str, Any]:
    """The entry of one of QUERIES' servers, or a skip."""
    if name in ("time", "git", "fetch"):
        return python_server(name)
    if name == "memory":
        return {**node_server(name), "env": {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}}
    return node_server(name, *([str(folder)] if name == "filesystem" else []))


@pytest.mark.real
def test_each_server_is_listed_found_and_answers(real: Path, tmp_path: Path) -> None:
    there: dict[str, dict[str, Any]] = {}
    for name in QUERIES:
        with contextlib.suppress(pytest.skip.Exception):
            there[name] = entry(name, tmp_path)
    if not there:
        pytest.skip("none of these servers is installed")
    config = write_config(tmp_path, **there, office=OFFICE)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "note.txt").write_text("hello")
    calls = {
        "time": ("get_current_time", {"timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
        "git": ("git_status", {"repo_path": str(tmp_path)}, "note.txt"),
        "fetch": ("fetch", {"url": "http://127.0.0.1:9/"}, "127.0.0.1"),
        "everything": ("echo", {"message": "höre"}, "höre"),
        "filesystem": ("list_directory", {"path": str(tmp_path)}, "note.txt"),
        "memory": ("create_entities", {"entities": [{"name": "a", "entityType": "b", "observations": []}]}, '"a"'),
    }

    async def ask(client: Any, name: str) -> None:
        answer = await found(client, QUERIES[name])
        for _ in range(60):  # a server that was never started before may take longer than a search waits
            if name not in answer.get("serversNotThereNow", ()):
                break
            await anyio.sleep(1)
            answer = await found(client, QUERIES[name])
        assert any(tool["name"].startswith(f"{name}__") for tool in answer["tools"]), answer
        tool, arguments, words = calls[name]
        try:
            result = await call(client, f"{name}__{tool}", arguments)
        except Exception as error:  # what fetch says of a page that is not there, as a protocol's error
            assert words in str(error) or name == "fetch"
        else:
            assert words in result.content[0].text

    async def talk() -> None:
        async with proxied(config, real) as client:
            for name in there:
                await ask(client, name)

    anyio.run(talk)


@pytest.mark.real
def test_images_structured_content_and_progress_of_a_server_of_everything(real: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, everything=entry("everything", tmp_path))
    seen: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append(done)

    async def talk() -> None:
        async with proxied(config, real) as client:
            image = await call(client, "everything__get-tiny-image")
            assert "image" in [part.type for part in image.content]
            found = await call(client, "everything__get-structured-content", {"location": "New York"})
            assert set(found.structured_content) == {"temperature", "conditions", "humidity"}
            long = {"duration": 0.3, "steps": 3}
            await call(client, "everything__trigger-long-running-operation", long, progress_callback=progress)
            assert seen == [1, 2, 3]

    anyio.run(talk)


@pytest.mark.real
def test_fastmcp_s_client_finds_and_calls(real: Path, tmp_path: Path) -> None:
    fastmcp = pytest.importorskip("fastmcp", reason="needs fastmcp")
    config = write_config(tmp_path, office=OFFICE)
    first, *rest = command(config, "--base", str(real))
    whole = {"mcpServers": {"edgeret": {"command": first, "args": rest, "env": dict(os.environ)}}}

    async def talk() -> None:
        async with fastmcp.Client(whole) as client:
            assert [tool.name for tool in await client.list_tools()] == ["find_tools", "call_tool"]
            found: list[str] = []
            with anyio.fail_after(PATIENCE_S):  # a server may take longer to start than a search waits
                while "office__room_book" not in found:
                    result = await client.call_tool("find_tools", {"query": "book a meeting room"})
                    found = [tool["name"] for tool in json.loads(result.content[0].text)["tools"]]
            called = await client.call_tool("call_tool", {"name": "office__room_book", "arguments": {"room": "4"}})
            assert json.loads(called.content[0].text) == {"tool": "room_book", "arguments": {"room": "4"}}

    anyio.run(talk)


@pytest.mark.full
@pytest.mark.real
def test_the_inspector_lists_and_calls(real: Path, tmp_path: Path) -> None:
    inspector = NPM / ".bin" / "mcp-inspector"
    if shutil.which("node") is None or not inspector.exists():
        pytest.skip(f"needs node and {inspector}, which `make npm` installs")
    first, *rest = command(write_config(tmp_path, office=OFFICE), "--base", str(real))
    whole = tmp_path / "inspector.json"
    environment = {key: os.environ[key] for key in ("PYTHONPATH",) if key in os.environ}
    whole.write_text(json.dumps({"mcpServers": {"edgeret": {"command": first, "args": rest, "env": environment}}}))

    def asked(*more: str) -> Any:
        line = [str(inspector), "--cli", "--config", str(whole), "--server", "edgeret", *more]
        done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert [tool["name"] for tool in asked("--method", "tools/list")["tools"]] == ["find_tools", "call_tool"]
    found = asked("--method", "tools/call", "--tool-name", "find_tools", "--tool-arg", "query=print a parcel label")
    assert "office__shipping_create_label" in found["content"][0]["text"]


def test_the_requests_name_tools_that_are_there_and_none_is_a_tool_s_name_alone() -> None:
    sys.path.insert(0, str(ROOT / "examples" / "mcp"))
    from office import definitions

    office = {f"office__{tool['name']}" for tool in definitions()}
    lines = (ROOT / "examples" / "mcp" / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    wishes = [json.loads(line) for line in lines]
    assert len(office) == 150 and len(wishes) >= 140
    assert abs(sum(wish["part"] == "seen" for wish in wishes) - len(wishes) / 2) <= 1
    for wish in wishes:
        assert all(name in office for name in wish["tools"] if name.startswith("office__"))
        plain = {" ".join(name.partition("__")[2].replace("-", "_").split("_")) for name in wish["tools"]}
        assert wish["query"].strip().lower() not in plain
