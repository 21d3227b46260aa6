"""What every format is read into: who said what, which calls were made, what they gave. Plain data, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeret.outcomes import Outcome


@dataclass(frozen=True, slots=True)
class Place:
    """A record of a file: its line, or its number in a file that is one JSON document; counted from 1. `entry` is its
    number in a line that holds several."""

    file: str
    number: int
    entry: int = 0

    @property
    def position(self) -> str:
        """Where in the file."""
        return f"{self.number}.{self.entry}" if self.entry else str(self.number)

    def __str__(self) -> str:
        return f"{self.file}:{self.position}"


@dataclass(frozen=True, slots=True)
class Said:
    """The user's words. `without` names what stood beside them and is no text, such as an image."""

    text: str
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call as it was made. `id` is what its result refers to, empty where the format has none; `arguments` None: they
    could not be read."""

    id: str
    tool: str
    arguments: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Called:
    """Calls that were made at once, so that none of them can have used another one's result."""

    calls: tuple[MadeCall, ...]


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call gave; `text` None where it was no text."""

    id: str
    outcome: Outcome
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The assistant's words to the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A call that no demonstration can hold, by what it is: a tool that the model's host runs, a broken call."""

    what: str


Event = Said | Called | Returned | Answered | Unread


@dataclass(frozen=True, slots=True)
class Conversation:
    """Events in order. `group` names what belongs together beyond one record, such as a session, if
    anything does. `later`: the user had said something before it, which is another conversation of the group."""

    place: Place
    events: Sequence[Event]
    group: str = ""
    later: bool = False
