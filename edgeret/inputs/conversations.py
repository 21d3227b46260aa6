"""Recorded conversations (turns with the calls that each led to): reads and checks. Knows nothing of who holds them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import parse_plan
from edgeret.inputs.jsonl import json_type, list_field, read_objects, refuse_misspelling
from edgeret.quoting import quoted, suggestion
from edgeret.records import dataclass
from edgeret.types import Turn


@dataclass(frozen=True, slots=True)
class RecordedConversation:
    """What a user said, turn by turn, and the calls that were right."""

    id: str
    turns: tuple[Turn, ...]


def read_conversations(path: str | Path, tools: Collection[str]) -> list[RecordedConversation]:
    """Conversations of a JSONL file, {"id", "turns": [{"query", "calls"}, …]} a line, in file order. `tools` are the
    known names. Raises InputError at the first line that does not parse or calls an unknown tool."""
    known = frozenset(tools)
    found: list[RecordedConversation] = []
    for where, value in read_objects(Path(path), "conversations as JSONL"):
        refuse_misspelling(where, value, "turns", list, ("messages",))
        turns = list_field(where, value, "turns")
        if not turns:
            raise InputError(f'{where}: "turns" is empty; give what the user said')
        parsed = (_turn(turn, f"{where}, turn {number}", known) for number, turn in enumerate(turns, 1))
        found.append(RecordedConversation(str(value.get("id", len(found))), tuple(parsed)))
    if not found:
        raise InputError(f"{path}: no conversations in it")
    return found


def _turn(value: object, where: str, known: Collection[str]) -> Turn:
    """Raises InputError."""
    if not isinstance(value, dict):
        raise InputError(f'{where}: expected {{"query", "calls"}}, found {json_type(value)}')
    query, calls = parse_plan(value, where)
    for call in calls:
        if call.tool not in known:
            raise InputError(
                f"{where}: unknown tool {quoted(call.tool)} in a call; it is not among the tools given"
                + suggestion(call.tool, known)
            )
    return Turn(query, calls)
