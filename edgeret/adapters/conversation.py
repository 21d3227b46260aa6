"""What a conversation says, whatever API it was written for: what the user wants now, what they said before, and what
was called for it. Knows no message formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgeret.outcomes import Outcome
from edgeret.user_words import user_words

MOST_CHARS = 4_000
"""Of a turn; of more, the beginning and the end are read, where people say what is to be done with what they pasted.
The encoder reads this much in some 15 windows."""
MOST_TURNS = 8
"""That are looked back at."""
MOST_READ = 1_000_000
"""Characters of a conversation in which the user's words are told from programs', the last ones first; of more, texts
are taken as they are."""
_WORKED: Mapping[Outcome, bool] = {"worked": True, "failed": False}


@dataclass(frozen=True, slots=True)
class Called:
    """A call that a model made; `worked` is None where nobody said what became of it, or a result does not tell."""

    tool: str
    worked: bool | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """`wanted` are the words of the user's last turn, None where there are none; `calls` were made since then, in
    order; `called` are all tools that were ever called; `before` are the turns before that one, the latest first."""

    wanted: str | None
    calls: tuple[Called, ...]
    called: frozenset[str]
    before: tuple[str, ...] = ()


@dataclass(slots=True)
class Reader:
    """Takes a conversation in, turn by turn, and then says what it comes to."""

    events: list[tuple[str, Any, Any]] = field(default_factory=list)
    called: set[str] = field(default_factory=set)

    def said(self, texts: Sequence[str]) -> None:
        """The user said this, in these parts; a new request begins, unless all of it is programs' words."""
        self.events.append(("said", texts, None))

    def call(self, identity: object, tool: object) -> None:
        """A model called a tool; `identity` is what its result will name."""
        if isinstance(tool, str) and tool:
            self.called.add(tool)
            self.events.append(("call", identity, tool))

    def result(self, identity: object, outcome: Outcome) -> None:
        """A call gave a result."""
        if isinstance(identity, str):
            self.events.append(("result", identity, outcome))

    def read(self) -> Conversation:
        """What all of it comes to. Reads from the end and no further than it has to."""
        turns: list[str] = []
        calls: list[tuple[object, str]] = []
        results: dict[object, Outcome] = {}
        left = MOST_READ
        for what, first, second in reversed(self.events):
            if what == "said":
                words = _words(first, left)
                left -= sum(map(len, first))
                if words is not None:
                    turns.append(words)
                if len(turns) > MOST_TURNS:
                    break
            elif not turns and what == "call":
                calls.append((first, second))
            elif not turns:
                results.setdefault(first, second)
        made = tuple(
            Called(tool, _WORKED.get(results.get(identity, "unknown") if isinstance(identity, str) else "unknown"))
            for identity, tool in reversed(calls)
        )
        spoken = [turn for turn in turns if turn]
        return Conversation(spoken[0] if spoken else None, made, frozenset(self.called), tuple(spoken[1:]))


def _words(texts: Sequence[str], left: int) -> str | None:
    """The user's words of a turn's parts; None where all of it is programs'."""
    told = texts if sum(map(len, texts)) > left else [user_words(text) for text in texts]
    if any(texts) and not any(told):
        return None
    return bounded("\n".join(part.strip() for part in told if part.strip()))


def bounded(text: str) -> str:
    """The text, or its two ends where it has more characters than are read."""
    return text if len(text) <= MOST_CHARS else f"{text[: MOST_CHARS // 2]}\n{text[-MOST_CHARS // 2 :]}"


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Those elements of a list that are objects; none of what is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []
