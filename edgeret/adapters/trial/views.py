"""What is shown of a session, as plain data. Knows nothing of terminals, and decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgeret import END, Candidate
from edgeret.records import dataclass

DONE, NOTHING = "done", "nothing fits"


@dataclass(frozen=True, slots=True)
class Step:
    """A call that was made; `corrected` says that the user chose it in another's place."""

    tool: str
    arguments: Mapping[str, Any]
    corrected: bool


@dataclass(frozen=True, slots=True)
class View:
    """A moment of a session. `query` are the user's words, `rows` what may come next, the most probable first, and
    `proposed` the row that edgeret would take, None for none. `ms` is the time of the decision, `p50` the median of the
    session's first decisions, None before there is one. `tried` requests were finished, and `unwritten` of them stand
    in no file. `message` is what came of the last key, and `failed` says that it did not work."""

    query: str
    rows: tuple[Candidate, ...] = ()
    proposed: int | None = None
    reason: str = ""
    ms: float | None = None
    p50: float | None = None
    steps: tuple[Step, ...] = ()
    finished: bool = False
    tools: int = 0
    tried: int = 0
    unwritten: int = 0
    learned: int = 0
    message: str = ""
    failed: bool = False

    @property
    def stands(self) -> bool:
        """Whether the request's words stand, since a plan for them has begun."""
        return bool(self.steps) or self.finished

    def label(self, tool: str) -> str:
        """What a candidate is called: `<end>` says something else before and behind the first call."""
        return tool if tool != END else DONE if self.steps else NOTHING


@dataclass(frozen=True, slots=True)
class Details:
    """What is told of one row: lines that say why, the call's arguments as (name, value, how sure, from where), and a
    question for each that is missing."""

    tool: str
    why: tuple[str, ...]
    arguments: tuple[tuple[str, str, float, str], ...] = ()
    missing: tuple[str, ...] = ()
