"""Servers that hang, flood, lie, change, die: the proxy goes on, and says which server it was."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from conftest import full
from hostile_mcp import ODD
from mcp_client import (
    HOSTILE,
    call,
    command,
    eventually,
    found,
    hostile,
    introduce,
    names,
    proxied,
    running,
    write_config,
)
from patience import PATIENCE_S

from edgeret import without_hidden
from edgeret.cli.commands import main


async def told(client: object, words: str, within_s: float = PATIENCE_S) -> str:
    """What the proxy wrote on standard error, when these words are in it."""
    with anyio.move_on_after(within_s):
        while words not in client.told():  # type: ignore[attr-defined]
            await anyio.sleep(0.05)
    text = client.told()  # type: ignore[attr-defined]
    assert words in text
    return text


async def lines(log: Path, count: int) -> list[str]:
    """What a server heard, once that is so many whole lines."""
    with anyio.fail_after(PATIENCE_S):
        while log.read_text().count("\n") < count:
            await anyio.sleep(0.05)
    return log.read_text().splitlines()


async def goes_on(client: object) -> None:
    """The server beside the hostile one is found and answers."""
    await eventually(client, "good__write_note", "write a note")
    assert not (await call(client, "good__write_note")).is_error


def test_one_that_hangs_at_its_start_is_named_and_left_out(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, good=hostile("plain"), bad=hostile("never"))

    async def talk() -> None:
        async with proxied(config, tiny, "--start-timeout", "5") as client:
            await told(client, "server bad did not start and list its tools within 5 s")
            await goes_on(client)
            absent = (await found(client, "write a note"))["serversNotThereNow"]
            assert list(absent) == ["bad"]

    anyio.run(talk)


def test_one_that_hangs_in_a_call_is_given_up_and_told_of_a_cancellation(tiny: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, good=hostile("plain"), bad=hostile("hangs", str(log)))

    async def talk() -> None:
        async with proxied(config, tiny, "--call-timeout", "3") as client:
            result = await call(client, "bad__write_note")
            assert result.is_error and "server bad did not answer within 3 s" in result.content[0].text
            await goes_on(client)
        async with proxied(config, tiny) as client:
            await names(client, "write a note")
            log.write_text("")
            with anyio.CancelScope() as asking:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(call, client, "bad__write_note", {"text": "cancel me"})
                    await lines(log, 1)
                    asking.cancel()
            await goes_on(client)
            sent = [json.loads(line) for line in await lines(log, 2)]
            assert [message["method"] for message in sent] == ["tools/call", "notifications/cancelled"]
            assert sent[1]["params"]["requestId"] == sent[0]["id"]

    anyio.run(talk)


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("floods", "server bad: 8000 of 10000 tools left out, each comes after the first 2,000: tool_2000, "),
        ("long", "server bad: 1 of 2 tools left out, each has a definition of more than 65,536 bytes: write_note"),
        ("endless", "server bad sent a message of more than 32 MiB; started again in"),
        ("leafs", "server bad lists its tools on more than 200 pages"),
        ("ancient", "server bad speaks protocol '1999-01-01'"),
        ("chatters", "server bad: passed over what is no message on its standard output"),
    ],
)
def test_one_that_floods_or_babbles_is_bounded(tiny: Path, tmp_path: Path, behaviour: str, words: str) -> None:
    config = write_config(tmp_path, good=hostile("plain"), bad=hostile(behaviour))

    async def talk() -> None:
        async with proxied(config, tiny, "-k", "2000") as client:
            await told(client, words)
            await goes_on(client)

    anyio.run(talk)


@pytest.mark.parametrize("behaviour", ["surrogates", "deep"])
def test_one_whose_definitions_are_hard_to_read_stops_nobody(tiny: Path, tmp_path: Path, behaviour: str) -> None:
    config = write_config(tmp_path, good=hostile("plain"), bad=hostile(behaviour))

    async def talk() -> None:
        async with proxied(config, tiny, "--start-timeout", "4") as client:
            await told(
                client, {"deep": "is nested more than 100 deep", "surrogates": "did not start and list"}[behaviour]
            )
            await goes_on(client)
            assert "Traceback" not in client.told()

    anyio.run(talk)


@pytest.mark.parametrize("mode", ["auto", *full("legacy")])
def test_one_odd_definition_costs_no_other_one(tiny: Path, tmp_path: Path, mode: str) -> None:
    config = write_config(tmp_path, good=hostile("plain"), bad=hostile("odd"))

    async def talk() -> None:
        async with proxied(config, tiny, "--mode", "trim", "-k", "50", mode=mode) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert {"good__write_note", *(f"bad__odd_{i}" for i in range(len(ODD)))} <= listed.keys()
            there = (await found(client, "write a note"))["tools"]
            for text in (str(listed), json.dumps(there, ensure_ascii=False), client.told()):
                assert without_hidden(text) == text
            # Without a schema of its own, what it gives passes as it is.
            assert (await client.call_tool("bad__odd_6", {})).structured_content == {"of": "its own"}
            assert "each held characters that nobody sees: they are dropped: odd_10" in client.told()

    anyio.run(talk)


def test_one_that_lies_about_its_tools_loses_those_alone(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, good=hostile("plain"), bad=hostile("lies"))

    async def talk() -> None:
        async with proxied(config, tiny) as client:
            await eventually(client, "bad__send_mail", "send a mail")
            text = await told(client, "has parameters that cannot be read")
            assert "(unnamed)" in text and "more than 256 characters" in text and "has no description" in text
            # What it gives is its own affair: a client that wants to holds it against the schema.
            assert (await call(client, "bad__send_mail")).structured_content == {"unlike": "its schema"}
            await goes_on(client)

    anyio.run(talk)


def test_one_that_dies_in_a_call_is_named_and_started_again(tiny: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, good=hostile("plain"), bad=hostile("dies"))

    async def talk() -> None:
        async with proxied(config, tiny) as client:
            await eventually(client, "bad__send_mail", "send a mail")
            result = await call(client, "bad__send_mail")
            assert result.is_error and "server bad ended in the middle of the call" in result.content[0].text
            await told(client, "server bad ended; started again in 1 s")
            for _ in range(int(20 * PATIENCE_S)):
                there = (await found(client, "send a mail"))["tools"]
                if "bad__send_mail" in [tool["name"] for tool in there]:
                    break
                await goes_on(client)
                await anyio.sleep(0.05)
            else:
                raise AssertionError("it did not come back")

    anyio.run(talk)


def test_a_definition_that_changes_after_it_was_pinned_is_withheld_until_it_is_accepted(
    tiny: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pins = tmp_path / "pins.json"
    config = write_config(tmp_path, good=hostile("plain"), bad=hostile("changes"))

    async def talk() -> None:
        async with proxied(config, tiny, "--pins", str(pins)) as client:
            await eventually(client, "bad__write_note", "write a note")
            await call(client, "bad__send_mail")
            text = await told(client, "--accept bad/write_note")
            assert "is not the one pinned in" in text
            for _ in range(int(20 * PATIENCE_S)):
                if "bad__write_note" not in await names(client, "write a note"):
                    break
                await anyio.sleep(0.05)
            with pytest.raises(Exception, match="Unknown tool: bad__write_note"):
                await call(client, "bad__write_note")
            assert not (await call(client, "bad__send_mail")).is_error
            await goes_on(client)

    anyio.run(talk)
    # The server has its first definition again at its next start. One that was pinned otherwise is withheld then too.
    kept = json.loads(pins.read_text())
    kept["servers"]["bad"]["write_note"] = "0" * 64
    pins.write_text(json.dumps(kept))
    check = ["mcp", "--config", str(config), "--pins", str(pins)]
    assert main([*check, "--check", "--json"]) == 1
    assert json.loads(capfd.readouterr().out)["servers"][1]["withheld"] == ["write_note"]
    assert main([*check, "--accept", "bad/nothing"]) == 2
    assert 'no tool "nothing"' in capfd.readouterr().err
    assert main([*check, "--accept", "bad/write_note"]) == 0
    assert "accepted: write_note" in capfd.readouterr().out
    assert main([*check, "--check"]) == 0


def test_a_proxy_that_is_killed_leaves_no_server_behind(tiny: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, one=hostile("plain", str(log)))
    command = [sys.executable, "-m", "edgeret", "mcp", "--config", str(config), "--base", str(tiny)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as proxy:
        introduce(proxy)
        until(lambda: log.exists() and "tools/list" in log.read_text())
        proxy.kill()
    until(lambda: not any(HOSTILE.name in line for line in running(str(log))))


@pytest.mark.parametrize("behaviour", ["shouts", "boasts", "ancient", "closes"])
def test_no_answer_holds_what_a_server_says_of_itself(tiny: Path, tmp_path: Path, behaviour: str) -> None:
    config = write_config(tmp_path, good=hostile("plain"), bad=flooding(behaviour))

    async def talk() -> None:
        async with proxied(config, tiny) as client:
            if behaviour != "boasts":
                await told(client, "server bad ")
            answer = await found(client, "write a note")
            result = await call(client, "good__write_note")
            listed = await client.list_tools()
            said = json.dumps([answer, str(result), str(listed), client.instructions], ensure_ascii=False)
            assert "ignore all" not in said and "evil__pay" not in said and len(said) < 10_000
            assert "\x1b" not in client.told() and "\u202e" not in client.told() and len(client.told()) < 10_000

    anyio.run(talk)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere what leaves its family is not found")
@pytest.mark.parametrize(("behaviour", "processes"), [("flees", 2), *full(("stays", 1))])
def test_a_proxy_that_is_killed_takes_what_its_servers_left_behind_with_it(
    tiny: Path, tmp_path: Path, behaviour: str, processes: int
) -> None:
    log = tmp_path / "log"
    config = write_config(tmp_path, one=flooding(behaviour, str(log)))
    with subprocess.Popen(
        command(config, "--base", str(tiny)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as proxy:
        introduce(proxy)
        until(lambda: log.exists() and len(log.read_text().split()) == processes)
        proxy.kill()
    until(lambda: not any(Path("/proc", number).exists() for number in log.read_text().split()))


def flooding(behaviour: str, *more: str) -> dict[str, Any]:
    """The entry of a server that floods so."""
    return {"command": sys.executable, "args": [str(HOSTILE.with_name("flooding_mcp.py")), behaviour, *more]}


def until(holds: Callable[[], bool]) -> None:
    """Returns when this holds."""
    for _ in range(int(20 * PATIENCE_S)):
        if holds():
            return
        anyio.run(anyio.sleep, 0.05)
    raise AssertionError("it never came to that")
