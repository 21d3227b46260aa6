"""What a conversation says, whatever API it was written for: what the user wants now, and what was called for it. Knows
no message formats."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgeret.outcomes import Outcome

MOST_CHARS = 4_000
"""Of what the user wants; of more, the beginning and the end are read, where people say what is to be done with what
they pasted. The encoder reads this much in some 15 windows."""
MOST_TURNS = 3
"""That are joined at most."""
FEW_WORDS = 3
_WORKED: Mapping[Outcome, bool] = {"worked": True, "failed": False}

_REFERS = re.compile(
    r"^(?:and|also|then|now|no|yes|yep|ok|okay|but|instead|same|what about|how about)\b"
    r"|\b(?:it|its|that|them|these|those|this one|the same|again|too|him|her|there)\b",
    re.IGNORECASE,
)
_LONGEST_REFERENCE = 12
"""Words of a turn that may be about an earlier one; a longer turn says itself what it is about."""


@dataclass(frozen=True, slots=True)
class Called:
    """A call that a model made; `worked` is None where nobody said what became of it, or a result does not tell."""

    tool: str
    worked: bool | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """`wanted` are the user's words, None where there are none; `calls` were made since the user spoke last, in order;
    `called` are all tools that were ever called."""

    wanted: str | None
    calls: tuple[Called, ...]
    called: frozenset[str]


@dataclass(slots=True)
class Reader:
    """Takes a conversation in, turn by turn, and then says what it comes to."""

    turns: list[str] = field(default_factory=list)
    called: set[str] = field(default_factory=set)
    calls: list[tuple[object, str]] = field(default_factory=list)
    results: dict[object, Outcome] = field(default_factory=dict)

    def said(self, text: str) -> None:
        """The user said this; a new request begins."""
        self.turns.append(text)
        self.calls.clear()
        self.results.clear()

    def call(self, identity: object, tool: object) -> None:
        """A model called a tool; `identity` is what its result will name."""
        if isinstance(tool, str) and tool:
            self.called.add(tool)
            self.calls.append((identity, tool))

    def result(self, identity: object, outcome: Outcome) -> None:
        """A call gave a result."""
        if isinstance(identity, str):
            self.results[identity] = outcome

    def read(self) -> Conversation:
        """What all of it comes to."""
        calls = tuple(
            Called(tool, _WORKED.get(self.results.get(identity, "unknown") if isinstance(identity, str) else "unknown"))
            for identity, tool in self.calls
        )
        return Conversation(wanted(self.turns), calls, frozenset(self.called))


def wanted(turns: Sequence[str]) -> str | None:
    """What the user wants now, from all that they said: the last turn, behind those that it goes on from. None for
    nothing."""
    said: list[str] = []
    for turn in reversed(turns):
        said.insert(0, turn.strip())
        if len(said) == MOST_TURNS or not follows(turn):
            break
    text = "\n".join(part for part in said if part)
    if len(text) > MOST_CHARS:
        text = f"{text[: MOST_CHARS // 2]}\n{text[-MOST_CHARS // 2 :]}"
    return text or None


def follows(turn: str) -> bool:
    """Whether a turn goes on from the one before it: it is very short, or it is short and refers to something."""
    words = len(turn.split())
    return words <= FEW_WORDS or (words <= _LONGEST_REFERENCE and _REFERS.search(turn.strip()) is not None)


def texts(content: object, kinds: Sequence[str]) -> str:
    """The text of a message's content: a string, or parts of these kinds, joined."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [
        part["text"]
        for part in content
        if isinstance(part, Mapping) and part.get("type") in kinds and isinstance(part.get("text"), str)
    ]
    return "\n".join(parts)


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Those elements of a list that are objects; none of what is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []


def name_in(value: object, *path: str) -> str | None:
    """The name that stands at a path of keys, None where there is no text."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value if isinstance(value, str) and value else None
