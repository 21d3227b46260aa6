"""Every door tells by one rule whether a call worked; what failed, and what does not tell, teaches nothing anywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from hostile_server import completion, serving
from samples import calls, functions, gave, many_tools, user

import edgeret
from edgeret.adapters import anthropic, openai
from edgeret.adapters.gate.lessons import lesson
from edgeret.outcomes import outcome

TABLE = Path(__file__).parents[1] / "data" / "outcomes" / "tuned.jsonl"
ROWS = [json.loads(line) for line in TABLE.read_text("utf-8").splitlines()]
TEXTS = [(row["result"], row["outcome"]) for row in ROWS if isinstance(row["result"], str)]
BAD = [text for text, right in TEXTS if right != "worked"]
GOOD = "12 °C in Ulm"
SAID = "pack my song of the day"


@pytest.mark.parametrize(("text", "right"), TEXTS, ids=lambda text: ascii(text[:30]))
def test_the_gate_takes_what_the_rule_says(text: str, right: str, tiny_tools: Path) -> None:
    runtime = edgeret.load(tiny_tools)
    used = {"type": "tool_use", "id": "1", "name": "phone_call", "input": {}}
    gave_back = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": text}]}
    heard: list[Any] = [
        openai.conversation([user(SAID), calls("phone_call"), gave("phone_call", text)]),
        openai.conversation([user(SAID), {"type": "function_call", "call_id": "1", "name": "phone_call"},
                             {"type": "function_call_output", "call_id": "1", "output": text}]),
        anthropic.conversation([user(SAID), {"role": "assistant", "content": [used]}, user([gave_back])]),
    ]  # fmt: skip
    for said in heard:
        assert [call.worked for call in said.calls] == [{"worked": True, "failed": False}.get(right)]
        assert (lesson(runtime, said) is None) is (right != "worked")


def test_a_gate_learns_nothing_from_calls_that_failed(tiny_tools: Path, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra 'gate' is not installed")
    from gates import gating

    kept, tools = tmp_path / "learned", functions([*many_tools(5), *edgeret.load(tiny_tools).tools.values()])
    with (
        serving(lambda visit: visit.reply(completion("fine"))) as server,
        gating(server.url, tiny_tools, "--learned", str(kept)) as gate,
    ):
        for number, text in enumerate([*BAD, GOOD]):
            said = [user(f"{SAID} {number}"), calls("phone_call"), gave("phone_call", text)]
            assert gate.post({"model": "m", "messages": said, "tools": tools}).status_code == 200
        gate.stop()
    plans = edgeret.load(tiny_tools, overlay=kept).learned.plans
    assert [(plan.query, plan.calls) for plan in plans] == [(f"{SAID} {len(BAD)}", ("phone_call",))]


def test_a_proxy_learns_nothing_from_calls_that_failed(tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="needs the extra mcp")
    from mcp_client import call, hostile, names, proxied, write_config

    config, kept = write_config(tmp_path, one=hostile("says")), tmp_path / "kept"

    async def talk() -> None:
        async with proxied(config, tiny, "--learn", "--overlay", str(kept)) as client:
            for number, text in enumerate([*BAD, GOOD]):
                await names(client, f"write a note on {number}")
                await call(client, "one__write_note", {"text": text})

    anyio.run(talk)
    plans = edgeret.load(tiny, overlay=kept).learned.plans
    assert [(plan.query, plan.calls) for plan in plans] == [(f"write a note on {len(BAD)}", ("one__write_note",))]


def test_a_flag_of_anthropic_counts_beside_the_words() -> None:
    def worked(**block: Any) -> bool | None:
        used = {"type": "tool_use", "id": "1", "name": "a", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "1", **block}
        messages = [user(SAID), {"role": "assistant", "content": [used]}, {"role": "user", "content": [result]}]
        return anthropic.conversation(messages).calls[0].worked

    assert worked(content="Sunny", is_error=True) is False
    assert worked(content="Sunny", is_error=False) is True
    assert worked(content="<tool_use_error>no</tool_use_error>", is_error=False) is False
    assert worked() is True
    assert outcome("Errors: 3") == "unknown" and worked(content="Errors: 3") is None
