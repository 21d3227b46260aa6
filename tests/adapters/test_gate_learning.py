"""What the gate learns from conversations that pass, and what is left of it after a kill."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import pytest
from conftest import TOOLS, WORDS, full
from gates import RunningGate, gating
from hostile_server import Script, Visit, completion, serving
from patience import PATIENCE_S
from samples import calls, functions, gave, many_tools, user

import edgeret

pytest.importorskip("uvicorn", reason="the extra 'gate' is not installed")

MANY = functions([*many_tools(30), *TOOLS])
SAID = "pack my song of the day"
DONE = [user(SAID), calls("phone_call"), gave("phone_call")]


def request(messages: Sequence[Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), "tools": MANY, **more}


def answers(visit: Visit) -> None:
    """Ends every request, streamed, packed or plain as it was asked for; but calls something if told to."""
    question = visit.question
    if question.get("calls"):
        visit.reply(json.dumps({"choices": [{"message": calls("find_file"), "finish_reason": "tool_calls"}]}).encode())
    elif question.get("stream"):
        events = [{"choices": [{"delta": {"content": "fine"}}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        visit.reply(text.encode(), headers="Content-Type: text/event-stream\r\n")
    elif question.get("packed"):
        visit.reply(gzip.compress(completion("fine")), headers="Content-Encoding: gzip\r\n")
    else:
        visit.reply(completion("fine"))


def learned(base: Path, overlay: Path) -> list[tuple[str | None, tuple[str, ...]]]:
    """What stands in the file: any process may read it at any time."""
    if not overlay.exists():
        return []
    return [(plan.query, plan.calls) for plan in edgeret.load(base, overlay=overlay).learned.plans]


def wait_for(base: Path, overlay: Path, count: int) -> list[tuple[str | None, tuple[str, ...]]]:
    end = perf_counter() + PATIENCE_S
    while len(found := learned(base, overlay)) < count and perf_counter() < end:
        sleep(0.05)
    return found


@pytest.mark.parametrize("way", [{"packed": True}, *full({}, {"stream": True})])
def test_calls_that_worked_are_learned_when_the_model_says_that_it_is_done(
    tiny_tools: Path, tmp_path: Path, way: dict[str, bool]
) -> None:
    overlay = tmp_path / "learned"
    with serving(answers) as server, gating(server.url, tiny_tools, "-k", "1", "--learned", str(overlay)) as gate:
        end = perf_counter() + PATIENCE_S  # a busy machine may take longer than a request waits for a new list of tools
        while perf_counter() < end:
            gate.post(request([user(SAID)]))
            if "phone_call" not in server.visits[-1].body.decode():
                break
        assert "phone_call" not in server.visits[-1].body.decode()
        gate.post(request(DONE, **way))
        assert wait_for(tiny_tools, overlay, 1) == [(SAID, ("phone_call",))]
        gate.post(request([user(SAID)]))
        assert "phone_call" in server.visits[-1].body.decode()
        gate.stop()
        assert json.loads(gate.out[0])["learned"] == 1
    listed = subprocess.run(
        [sys.executable, "-m", "edgeret", "learn", str(tiny_tools), "--overlay", str(overlay), "--list", "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [plan["calls"] for plan in json.loads(listed.stdout)["plans"]] == [["phone_call"]]
    assert overlay.stat().st_mode & 0o077 == 0


def test_nothing_else_is_learned(tiny_tools: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "learned"
    failed = [user(SAID), calls("phone_call"), gave("phone_call", "Error: busy")]
    open_still = [user(SAID), calls("phone_call")]
    scripts: list[Script] = [answers]
    with (
        serving(lambda visit: scripts[0](visit)) as server,
        gating(server.url, tiny_tools, "--learned", str(overlay)) as gate,
    ):
        for messages in (
            [user(SAID)],
            failed,
            open_still,
            [*DONE, user("thank you so much, that was very kind of you")],
        ):
            gate.post(request(messages))
        gate.post(request(DONE, calls=True))
        scripts[0] = lambda visit: visit.reply(completion("fine"), "500 No")
        gate.post(request(DONE))
        scripts[0] = answers
        gate.post(request([user("write a note"), calls("write_note", "find_file"), gave("write_note"), *failed[2:]]))
        assert wait_for(tiny_tools, overlay, 1) == [("write a note", ("write_note",))]


def test_without_learn_nothing_is_written(tiny_tools: Path) -> None:
    with serving(answers) as server, gating(server.url, tiny_tools) as gate:
        gate.post(request(DONE))
        gate.stop()
        assert json.loads(gate.out[0])["learned"] == 0
    assert not tiny_tools.with_name(f"{tiny_tools.name}.gate.overlay").exists()


def test_a_file_that_another_process_learns_into_is_learned_into_as_well(tiny_tools: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "learned"
    holder = edgeret.load(tiny_tools, overlay=overlay)
    holder.learn([edgeret.Demonstration("x", "write a note", ())])
    with serving(answers) as server, gating(server.url, tiny_tools, "--learned", str(overlay)) as gate:
        assert gate.post(request(DONE)).status_code == 200
        assert "cannot learn" not in gate.stop()
    holder.close()
    assert len(learned(tiny_tools, overlay)) == 2


def test_a_file_that_cannot_be_written_stops_learning_and_nothing_else(tiny_tools: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "learned"
    with serving(answers) as server, gating(server.url, tiny_tools, "--learned", str(overlay)) as gate:
        overlay.write_bytes(b"no overlay")
        assert [gate.post(request(DONE)).status_code for _ in range(2)] == [200, 200]
        assert gate.stop().count("cannot learn") == 1


def test_what_was_learned_survives_a_kill_at_any_moment(tiny_tools: Path, tmp_path: Path) -> None:
    overlay, sent = tmp_path / "learned", 0
    with serving(answers) as server:
        for delay in (0.0, 0.002, 0.01, 0.05):
            with gating(server.url, tiny_tools, "--learned", str(overlay)) as gate:
                before = len(learned(tiny_tools, overlay))
                for _ in range(4):
                    _teach(gate, sent)
                    sent += 1
                sleep(delay)
                gate.process.kill()
                gate.process.wait(PATIENCE_S)
            found = learned(tiny_tools, overlay)
            assert before <= len(found) <= sent
            assert all(calls == ("phone_call",) and query in map(_words, range(sent)) for query, calls in found)
        with gating(server.url, tiny_tools, "--learned", str(overlay)) as gate:
            _teach(gate, sent)
            assert len(wait_for(tiny_tools, overlay, len(found) + 1)) == len(found) + 1


def _words(number: int) -> str:
    return " ".join(WORDS[(number * 7 + i * i) % len(WORDS)] for i in range(5))


def _teach(gate: RunningGate, number: int) -> None:
    messages = [user(_words(number)), calls("phone_call"), gave("phone_call")]
    assert gate.post(request(messages)).headers["x-edgeret"].startswith("kept ")
