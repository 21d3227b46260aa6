"""What one server may take of the proxy, over its pipes: lives of one at a time, in this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from patience import PATIENCE_S

pytest.importorskip("mcp", reason="needs the extra mcp")

from edgeret.adapters.mcp import bounds, upstream, valve
from edgeret.adapters.mcp.bounds import Allowance, Counted, Meter, TooMuchError, Voice
from edgeret.adapters.mcp.config import Server
from edgeret.adapters.mcp.passing import Nobody
from edgeret.adapters.mcp.upstream import CallError, Patience, Upstream

FLOODING = Path(__file__).with_name("flooding_mcp.py")
ONCE = Patience(start_s=PATIENCE_S, call_s=PATIENCE_S, first_delay_s=600, last_delay_s=600)


def lived(
    behaviour: str, then: Callable[[Upstream], Awaitable[None]], *more: str, patience: Patience = ONCE
) -> tuple[Upstream, list[str]]:
    """A server of that behaviour when `then` has returned, with what was said of it."""
    lines: list[str] = []

    async def talk() -> Upstream:
        server = Server("bad", "bad", sys.executable, (str(FLOODING), behaviour, *more))
        one = Upstream(server, patience, lambda _: None, lines.append, Nobody())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.run)
            with anyio.fail_after(PATIENCE_S):
                await one.tried.wait()
                await then(one)
            told = one.failed, one.problem
            tasks.cancel_scope.cancel()
        one.failed, one.problem = told
        return one

    return anyio.run(talk), lines


async def failed(one: Upstream) -> None:
    """Waits until its life is over."""
    while not one.failed:
        await anyio.sleep(0.01)


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("pings", "asked for more than 64 things without taking the answers"),
        ("samples", "asked for more than 64 things without taking the answers"),
        ("values", "sent a message of more than 250,000 values"),
        ("line", "sent a message of more than 32 MiB"),
        ("closes", "ended"),
        ("shouts", "answered with an error when it was asked for its tools"),
        ("ancient", "speaks protocol of another kind"),
    ],
)
def test_one_that_takes_too_much_is_dropped_and_told(
    behaviour: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "_MESSAGES", 20_000.0)  # or answers take half a minute to fill the pipe
    one, lines = lived(behaviour, failed)
    assert one.problem.startswith(words) and one.problem.isprintable() and len(one.problem) < 200
    assert "ignore all" not in one.problem
    assert len(lines) == 1 and f"server bad {words}" in lines[0] and len(lines[0]) < 700 and lines[0].isprintable()


@pytest.mark.parametrize(
    "behaviour", ["repeats", "cancels", "notices", "logs", "changed", "answers", "garbage", "blanks", "nests"]
)
def test_one_that_sends_without_end_waits_and_others_go_on(behaviour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "_MESSAGES_BURST", 300.0)
    turns = 0

    async def others(one: Upstream) -> None:
        nonlocal turns
        while turns < 100:  # of the loop, each behind all that is ready
            await anyio.sleep(0.005)
            turns += 1

    one, lines = lived(behaviour, others)
    assert not one.failed and list(one.tools) == ["bad__write_note"]
    assert len(lines) <= 1


@pytest.mark.parametrize("behaviour", ["names", "changes"])
def test_one_that_changes_its_tools_over_and_over_is_dropped(behaviour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "CALM_S", 0.01)
    one, lines = lived(behaviour, failed)
    assert one.problem == "changes its tools over and over"
    assert len(lines) == 1


def test_one_that_takes_no_call_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def call(one: Upstream) -> None:
        await anyio.sleep(0.1)
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(refused, one)

    async def refused(one: Upstream) -> None:
        with pytest.raises(CallError, match="server bad"):
            await one.request("tools/call", {"name": "write_note", "arguments": {"text": "x" * 5_000_000}})

    lived("deaf", call, patience=Patience(PATIENCE_S, 0.3, 600, 600))
    monkeypatch.setattr(valve, "MOST_WAITING_BYTES", 7 << 20)

    async def dropped(one: Upstream) -> None:
        await call(one)
        await failed(one)

    one, _ = lived("deaf", dropped)
    assert one.problem == "does not read what it is sent"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere what leaves its family is not found")
def test_what_a_server_left_behind_is_ended_with_it(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def both(_: Upstream) -> None:
        while not log.exists() or len(log.read_text().split()) < 2:
            await anyio.sleep(0.01)
        assert all(map(alive, log.read_text().split()))

    lived("flees", both, str(log))
    assert not any(map(alive, log.read_text().split()))


def alive(number: str) -> bool:
    """Whether a process of that id runs."""
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    return True


def test_values_are_counted_outside_of_texts_whatever_the_pieces() -> None:
    text = r'{"a": "[,,,{\"[,,\\", "b": [1, 2, {"c": "\\\",,[", "d": []}]}'
    for size in range(1, len(text)):
        counted = Counted("never", Meter())
        for begin in range(0, len(text), size):
            counted.feed(text[begin : begin + size].encode())
        assert counted.values == 8


@pytest.mark.parametrize(
    ("ends", "chunk"),
    [
        ("never", b"[" * 1000),
        ("never", b'",' * 500 + b"{},"),
        ("never", b"[],\n\n" * 200),
        ("line", b"[]," * 1000),
        ("blank", b"data: [],\r\ndata: [],\r\n" * 20),
        ("blank", b'id: "\ndata: [],[],\n'),
        ("blank", b": " + b"x" * 10_000 + b"\n"),
    ],
)
def test_a_message_that_is_too_much_is_seen_while_it_comes(ends: str, chunk: bytes) -> None:
    meter = Meter()
    counted = Counted(ends, meter)  # type: ignore[arg-type]
    with pytest.raises(TooMuchError, match="sent a message of more than"):
        for _ in range(40_000_000 // len(chunk)):
            counted.feed(chunk)
    assert meter.over.is_set()


@pytest.mark.parametrize(("ends", "chunk"), [("line", b"[1,2,3],\n"), ("blank", b"data: [1,2,3],\r\n\r\n")])
def test_messages_that_are_not_are_counted_each_alone(ends: str, chunk: bytes) -> None:
    meter = Meter()
    counted = Counted(ends, meter)  # type: ignore[arg-type]
    for _ in range(100_000):
        counted.feed(chunk)
    counted.feed(b'"' + b",[{" * 1_000_000)  # a text
    assert not meter.over.is_set() and counted.values == 0


def test_an_allowance_is_spent_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("edgeret.adapters.mcp.bounds.time.monotonic", lambda: now)
    one = Allowance(per_s=2, burst=10)
    assert one.spend(10) and not one.spend(1)
    now = 1.0
    assert one.spend(2) and not one.spend(1)
    now = 100.0
    assert not one.spend(11) and one.spend(10)


def test_lines_about_a_server_are_few_visible_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now, lines = 0.0, list[str]()
    monkeypatch.setattr("edgeret.adapters.mcp.bounds.time.monotonic", lambda: now)
    voice = Voice(lines.append)
    for i in range(1000):
        voice(f"line {i}\x1b[2J" + "x" * 10_000)
        voice(f"line {i}\x1b[2J" + "x" * 10_000)
    assert len(lines) == 20 and all(line.isprintable() and len(line) < 600 for line in lines)
    now = 60.0
    voice("another")
    assert lines[-1].startswith("another (1,") and lines[-1].endswith("lines about it were left out before)")
