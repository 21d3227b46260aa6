"""Conversations of the desktop example: made ones come out the same, hand-written ones stay apart from them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from edgeret.inputs.conversations import RecordedConversation, read_conversations
from edgeret.inputs.demonstrations import read_demonstrations
from edgeret.inputs.tools import read_tools

DESKTOP = Path(__file__).resolve().parents[1] / "examples" / "desktop"
NAMES = [tool.name for tool in read_tools(DESKTOP / "tools.jsonl")]


def queries(conversations: list[RecordedConversation]) -> set[str]:
    return {turn.query.casefold() for one in conversations for turn in one.turns}


@pytest.fixture(scope="module")
def made() -> list[RecordedConversation]:
    return read_conversations(DESKTOP / "conversations_train.jsonl", NAMES)


@pytest.fixture(scope="module")
def written() -> list[RecordedConversation]:
    return read_conversations(DESKTOP / "conversations.jsonl", NAMES)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, DESKTOP / "converse.py", "-o", tmp_path / "c.jsonl"], check=True)
    assert (tmp_path / "c.jsonl").read_bytes() == (DESKTOP / "conversations_train.jsonl").read_bytes()


def test_made_conversations_go_on_in_many_ways(made: list[RecordedConversation]) -> None:
    later = [turn for one in made for turn in one.turns[1:]]
    assert len(made) == 1500
    assert {call.tool for turn in later for call in turn.calls} == set(NAMES)
    assert 0.05 < sum(not turn.calls for turn in later) / len(later) < 0.25
    assert all("\x00" not in turn.query and "{" not in turn.query for turn in later)


def test_hand_written_conversations_are_many_and_go_on(written: list[RecordedConversation]) -> None:
    assert len(written) >= 60
    assert min(len(one.turns) for one in written) >= 2
    assert any(not turn.calls for one in written for turn in one.turns)


def test_no_whole_request_of_them_is_made_or_demonstrated(
    made: list[RecordedConversation], written: list[RecordedConversation]
) -> None:
    """Turns of a word or two ("thanks!", "louder") are what everybody says."""
    known = queries(made) | {d.query.casefold() for d in read_demonstrations(DESKTOP / "demonstrations.jsonl", NAMES)}
    assert not {query for query in queries(written) & known if len(query.split()) > 3}
