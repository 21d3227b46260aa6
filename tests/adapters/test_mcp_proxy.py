"""The proxy with servers that behave: what it lists, finds, passes on and learns. Every proxy is a real process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest
from mcp_client import HOSTILE, call, command, found, hostile, introduce, names, proxied, running, write_config
from patience import PATIENCE_S

from edgeret.cli.commands import main

mcp = pytest.importorskip("mcp", reason="needs the extra mcp")
sys.path.insert(0, str(HOSTILE.parent))
from hostile_mcp import RICH  # noqa: E402


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_two_tools_find_and_call_the_others(tiny: Path, tmp_path: Path, mode: str) -> None:
    config = write_config(tmp_path, one=hostile("plain"), two=hostile("plain"))

    async def talk() -> None:
        async with proxied(config, tiny, mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["find_tools", "call_tool"]
            first = (await found(client, "write a note"))["tools"][0]
            assert first["name"] in ("one__write_note", "two__write_note")
            assert first["description"] == "write a note" and first["inputSchema"]["type"] == "object"
            result = await call(client, "two__send_mail", {"text": None})
            assert json.loads(result.content[0].text) == {"name": "send_mail", "arguments": {"text": None}}

    anyio.run(talk)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_list_follows_the_request_where_it_is_trimmed(tiny: Path, tmp_path: Path, mode: str) -> None:
    config = write_config(tmp_path, one=hostile("plain"))
    heard: list[object] = []

    async def hear(message: object) -> None:
        heard.append(message)

    async def listed(client: object) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]  # type: ignore[attr-defined]

    async def talk() -> None:
        options = ("--mode", "trim", "-k", "1")
        async with proxied(config, tiny, *options, mode=mode, message_handler=hear) as client:
            before = await listed(client)
            assert before[0] == "find_tools" and len(before) == 2
            wish = "send a mail" if before[1] == "one__write_note" else "write a note"
            assert await names(client, wish) == (await listed(client))[1:]
            assert await listed(client) != before
            if mode == "legacy":
                with anyio.fail_after(PATIENCE_S):
                    while not any("ToolListChanged" in type(message).__name__ for message in heard):
                        await anyio.sleep(0.02)
            result = await client.call_tool(before[1], {})  # not listed any more, and known all the same
            assert not result.is_error

    anyio.run(talk)


def test_what_a_call_gives_passes_through_byte_for_byte(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, one=hostile("rich"))
    told = [
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "one__write_note", "arguments": {}}},
    ]
    with subprocess.Popen(
        command(config, "--base", str(tiny)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as proxy:
        assert proxy.stdin is not None and proxy.stdout is not None
        proxy.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in told))
        proxy.stdin.flush()
        answers = [json.loads(proxy.stdout.readline()) for _ in range(2)]
        assert answers[1] == {"jsonrpc": "2.0", "id": 2, "result": RICH}
        proxy.stdin.close()
        assert proxy.stdout.read() == ""
        assert proxy.wait(PATIENCE_S) == 0


def test_a_call_waits_for_its_server_while_others_come_and_go(tiny: Path, tmp_path: Path) -> None:
    servers = {f"s{i}": hostile(f"late{i / 4}") for i in range(4)}
    config = write_config(tmp_path, **servers, gone={"command": "/nowhere/at/all"})

    async def talk() -> None:
        async with proxied(config, tiny) as client, anyio.create_task_group() as tasks:
            for name in servers:
                tasks.start_soon(call, client, f"{name}__write_note")
            with pytest.raises(mcp.MCPError, match="Unknown tool: gone__write_note"):
                await call(client, "gone__write_note")

    async def bounded() -> None:
        with anyio.fail_after(PATIENCE_S):
            await talk()

    anyio.run(bounded)


def test_errors_progress_and_protocol_errors_are_the_servers_own(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, fails=hostile("fails"), errs=hostile("errs"))

    async def talk() -> None:
        seen: list[float] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            seen.append(done)

        async with proxied(config, tiny) as client:
            result = await call(client, "fails__write_note", progress_callback=progress)
            assert result.is_error and result.content[0].text == "no ink"
            assert seen == [1, 2]
            with pytest.raises(mcp.MCPError) as caught:
                await call(client, "errs__write_note")
            error = caught.value.error
            assert (error.code, error.message, error.data) == (-32099, "teapot", {"short": True})

    anyio.run(talk)


def test_several_texts_are_searched_for_at_once(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, one=hostile("plain"))

    async def talk() -> None:
        async with proxied(config, tiny, "-k", "2") as client:
            (find, _) = (await client.list_tools()).tools
            assert "is mum's train late again" in find.description and "look up the delays" in find.description
            assert set(find.input_schema["properties"]) == {"query", "queries"}
            assert "required" not in find.input_schema

            async def ask(**given: object) -> dict[str, float]:
                result = await client.call_tool("find_tools", given)
                assert not result.is_error, result
                return {tool["name"]: tool["score"] for tool in json.loads(result.content[0].text)["tools"]}

            one, other = await ask(query="write a note"), await ask(query="send a mail")
            both = await ask(queries=["write a note", "send a mail"])
            assert both == pytest.approx({name: (one[name] + other[name]) / 2 for name in both}, abs=0.002)
            assert await ask(query="write a note", queries=["send a mail"]) == both
            assert await ask(queries='["write a note", "send a mail", "Send a mail"]') == both
            assert await ask(query="write a note", queries=["write a note"]) == one
            for given, told in (
                ({"queries": []}, "no words to search for; give"),
                ({"queries": ["write a note", ""]}, "an empty text among the queries; give"),
                ({"queries": ["write a note", 7]}, "no text among the queries; give"),
                ({"queries": ["a", "b", "c", "d", "e"]}, "more than 4 different texts to search for; search for the"),
                ({"query": "a", "queries": ["b", "c", "d", "e"]}, "more than 4 different texts"),
                ({"queries": ["a", "x" * 20_001]}, "text 2 of 2: 20001 characters, at most 20000"),
            ):
                result = await client.call_tool("find_tools", given)
                assert result.is_error and told in result.content[0].text, given

    anyio.run(talk)


def test_a_call_after_several_texts_teaches_the_users_words(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, kept = write_config(tmp_path, one=hostile("plain")), tmp_path / "kept.overlay"

    async def talk() -> None:
        async with proxied(config, tiny, "--learn", "--overlay", str(kept)) as client:
            await client.call_tool("find_tools", {"queries": ["the usual for mum", "send a mail"]})
            await call(client, "one__send_mail", {})

    anyio.run(talk)
    assert main(["learn", str(tiny), "--overlay", str(kept), "--list", "--json"]) == 0
    assert [plan["query"] for plan in json.loads(capsys.readouterr().out)["plans"]] == ["the usual for mum"]


def test_an_unknown_tool_is_refused_with_the_way_on(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, one=hostile("plain"))

    async def talk() -> None:
        async with proxied(config, tiny) as client:
            with pytest.raises(mcp.MCPError, match="Unknown tool: one__nothing; find tools with find_tools"):
                await call(client, "one__nothing")
            with pytest.raises(mcp.MCPError, match="Unknown tool: write_note"):
                await call(client, "write_note")
            assert (await client.call_tool("call_tool", {"name": 3})).is_error
            assert (await client.call_tool("find_tools", {})).is_error
            assert (await client.call_tool("find_tools", {"query": " "})).is_error

    anyio.run(talk)


def test_pages_are_followed_and_a_list_that_changed_is_read_again(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, pages=hostile("pages"), grows=hostile("grows"))

    async def talk() -> None:
        async with proxied(config, tiny, "-k", "9") as client:
            expected = ["grows__write_note", *(f"pages__write_note_{i}" for i in range(3))]
            for _ in range(int(20 * PATIENCE_S)):  # servers come when they come
                if (before := sorted(await names(client, "write a note"))) == expected:
                    break
                await anyio.sleep(0.05)
            assert before == expected
            await call(client, "grows__write_note")
            for _ in range(int(20 * PATIENCE_S)):
                if "grows__send_mail" in await names(client, "write a note"):
                    return
                await anyio.sleep(0.05)
            raise AssertionError("the new tool was not found")

    anyio.run(talk)


def test_the_same_cursor_again_ends_a_list_with_what_was_read(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, loops=hostile("loops"))

    async def talk() -> None:
        async with proxied(config, tiny, "-k", "9") as client:
            assert await names(client, "write a note") == ["loops__write_note", "loops__send_mail"]
            assert "server loops" not in client.told()

    anyio.run(talk)


def test_what_worked_is_learned_kept_listed_and_forgotten(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, kept = write_config(tmp_path, one=hostile("plain"), fails=hostile("fails")), tmp_path / "kept.overlay"
    wish = "write it down or send it"

    async def talk(*options: str) -> str:
        async with proxied(config, tiny, "-k", "4", *options) as client:
            first = await names(client, wish)
            taught = "one__write_note" if first[0].endswith("send_mail") else "one__send_mail"
            await call(client, "fails__send_mail")  # did not work, and teaches nothing
            await call(client, taught)
            await call(client, "one__write_note")  # not the first answer any more
            return taught

    anyio.run(talk)
    assert not kept.exists()
    taught = anyio.run(talk, "--learn", "--overlay", str(kept))
    learn = ["learn", str(tiny), "--overlay", str(kept), "--json"]
    assert main([*learn, "--list"]) == 0
    plans = json.loads(capsys.readouterr().out)["plans"]
    assert [(plan["query"], plan["calls"]) for plan in plans] == [(wish, [taught])]
    size = kept.stat().st_size
    anyio.run(talk, "--overlay", str(kept))
    assert kept.stat().st_size == size
    assert main([*learn, "--forget", wish]) == 0
    assert json.loads(capsys.readouterr().out)["forgotten"] == 1


def test_the_check_counts_tools_and_fails_where_a_server_does(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path, one=hostile("plain"))
    assert main(["mcp", "--config", str(config), "--check", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["servers"][0] == {
        "server": "one",
        "reached": f"{sys.executable} {HOSTILE} plain",
        "tools": 2,
        "examples": {"server": 0, "file": 0, "edgeret": 0, "none": 2},
        "withheld": [],
        "problem": None,
    }
    config = write_config(tmp_path, one=hostile("plain"), gone={"command": "/nowhere/at/all"})
    assert main(["mcp", "--config", str(config), "--check"]) == 1
    told = capfd.readouterr().out
    assert "cannot be started (No such file or directory; tried: /nowhere/at/all)" in told


def test_the_check_tells_whose_examples_tools_show_and_what_is_odd_about_them(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config, examples = write_config(tmp_path, one=hostile("shows")), tmp_path / "examples.jsonl"
    examples.write_text('{"name": "one__other", "examples": ["say it otherwise"]}\n', encoding="utf-8")
    check = ["mcp", "--config", str(config), "--check", "--examples", str(examples)]
    assert main([*check, "--json"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["servers"][0]["examples"] == {"server": 2, "file": 1, "edgeret": 0, "none": 0}
    assert '"jot it down" is shown by 2 (one__write_note, one__send_mail)' in err
    assert "2 of 3 tools mended, each shows examples that are no sentence" in err
    assert main(check) == 0
    assert "with examples" in capfd.readouterr().out


def test_examples_of_a_file_find_tools(tiny: Path, tmp_path: Path) -> None:
    config, examples = write_config(tmp_path, one=hostile("plain")), tmp_path / "examples.jsonl"
    examples.write_text('{"name": "send_mail", "examples": ["the day is free"]}\n', encoding="utf-8")

    async def talk(*options: str) -> dict[str, float]:
        async with proxied(config, tiny, *options) as client:
            return {tool["name"]: tool["score"] for tool in (await found(client, "is the day free"))["tools"]}

    without, with_them = (anyio.run(talk, *options) for options in ((), ("--examples", str(examples))))
    assert with_them["one__send_mail"] > without.get("one__send_mail", 0.0)


def test_a_base_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(write_config(tmp_path, one=hostile("plain")))
    assert main(["mcp", "--config", config, "--base", str(tmp_path / "none")]) == 2
    assert "no such bundle; without --base the one that comes with edgeret is used" in capsys.readouterr().err


def test_without_a_base_the_one_that_comes_with_edgeret_reads(tmp_path: Path) -> None:
    config = write_config(tmp_path, one=hostile("plain"))
    with subprocess.Popen(
        command(config), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as proxy:
        introduce(proxy)
        assert proxy.stdin is not None
        proxy.stdin.close()
        assert proxy.wait(PATIENCE_S) == 0


def test_a_client_that_goes_takes_all_servers_with_it(tiny: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, one=hostile("stays", str(log)), two=hostile("never"))
    with subprocess.Popen(
        command(config, "--base", str(tiny)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as proxy:
        introduce(proxy)
        assert proxy.stdin is not None
        deadline = time.monotonic() + PATIENCE_S
        while not log.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        proxy.stdin.close()
        assert proxy.wait(PATIENCE_S) == 0
    assert running(str(log)) == []


def test_a_signal_ends_the_proxy_and_all_servers(tiny: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, one=hostile("stays", str(log)))
    with subprocess.Popen(
        command(config, "--base", str(tiny)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as proxy:
        introduce(proxy)
        deadline = time.monotonic() + PATIENCE_S
        while not log.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        proxy.terminate()
        assert proxy.wait(PATIENCE_S) == 143
    assert running(str(log)) == []
