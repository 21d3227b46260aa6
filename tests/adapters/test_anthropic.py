"""Tools and messages as Anthropic writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import TOOLS
from samples import many_tools, names, user

from edgeret.adapters.anthropic import conversation, select_tools
from edgeret.adapters.tool_sets import ToolSets

MANY: list[dict[str, Any]] = [
    {"name": tool.name, "description": tool.description, "input_schema": tool.parameters or {"type": "object"}}
    for tool in (*many_tools(30), *TOOLS)
]
USED = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "phone_call", "input": {}}]}


@pytest.fixture(scope="module")
def base(tiny_tools: Path) -> ToolSets:
    return ToolSets(tiny_tools)


def result(**more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "x", **more}]}


def test_needed_called_and_forced_tools_are_kept_and_those_of_anthropic(base: ToolSets) -> None:
    built_in = {"type": "bash_20250124", "name": "bash"}
    messages = [user([{"type": "text", "text": "find my file and send a mail"}]), USED, result()]
    kept = select_tools(messages, [built_in, *MANY], base=base, k=4, tool_choice={"type": "tool", "name": "play_music"})
    assert {"bash", "find_file", "send_mail", "phone_call", "play_music"} <= set(names(kept))
    assert len(kept) <= 7
    assert all(any(tool is given for given in (built_in, *MANY)) for tool in kept)


def test_results_are_no_turn_of_the_user_and_say_whether_they_are_errors() -> None:
    question = user("find my file and send a mail please")
    reminder = {"type": "text", "text": "a reminder that some program added here"}
    said = conversation([question, USED, {"role": "user", "content": [*result()["content"], reminder]}])
    assert said.wanted == question["content"]
    assert [(call.tool, call.worked) for call in said.calls] == [("phone_call", True)]
    assert conversation([question, USED, result(is_error=True)]).calls[0].worked is False
    assert conversation([question, USED]).calls[0].worked is None
    assert conversation([{}, {"role": "user"}, {"role": "assistant", "content": None}]).wanted is None
