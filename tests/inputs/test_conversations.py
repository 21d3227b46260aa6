"""Files of conversations: what is read, and what is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeret.errors import InputError
from edgeret.inputs.conversations import RecordedConversation, read_conversations
from edgeret.types import Call, Turn


def test_conversations_are_read_in_order(tmp_path: Path) -> None:
    file = tmp_path / "c.jsonl"
    file.write_text(
        '{"id": "a", "turns": [{"query": "find it", "calls": [{"tool": "find", "arguments": {"x": 1}}]}]}\n'
        '{"turns": [{"query": "hi", "calls": []}, {"query": "find", "calls": [{"tool": "find"}]}]}\n'
    )
    assert read_conversations(file, ["find"]) == [
        RecordedConversation("a", (Turn("find it", (Call("find", {"x": 1}),)),)),
        RecordedConversation("1", (Turn("hi", ()), Turn("find", (Call("find"),)))),
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "no conversations in it"),
        ('{"turns": []}', '"turns" is empty'),
        ('{"messages": []}', 'unknown key "messages"; did you mean "turns"'),
        ('{"turns": ["hi"]}', 'turn 1: expected {"query", "calls"}, found text'),
        ('{"turns": [{"query": "hi", "calls": []}, {"query": " ", "calls": []}]}', 'turn 2: "query" is empty'),
        ('{"turns": [{"query": "hi", "calls": [{"tool": "fnd"}]}]}', 'turn 1: unknown tool "fnd"'),
    ],
)
def test_what_is_no_conversation_is_refused(tmp_path: Path, line: str, told: str) -> None:
    file = tmp_path / "c.jsonl"
    file.write_text(line + "\n")
    with pytest.raises(InputError) as refused:
        read_conversations(file, ["find"])
    assert told in str(refused.value).replace("'", '"')
